//! Programs of others that tests talk to, from the package registries.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where what was installed for `name` is kept between runs of the tests.
pub fn cache(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let folder = target.join("peers").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// Runs `command` in `folder` unless it has done so before. Each test may be a process of its own, so a
/// lock on a file lets one at a time install, and a mark says that it came to its end.
pub fn install(folder: &Path, result: &Path, command: &[&str]) {
    let lock = std::fs::File::create(folder.join("install.lock")).unwrap();
    lock.lock().unwrap();
    let mark = folder.join(format!("installed-{}", result.file_name().unwrap().display()));
    let wanted = command.join(" ");
    if result.exists() && std::fs::read_to_string(&mark).is_ok_and(|done| done == wanted) {
        return;
    }
    let output = Command::new(command[0])
        .args(&command[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| {
            panic!("`{}` is needed for these tests and cannot be run: {error}", command[0])
        });
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && result.exists(), "{command:?} failed:\n{words}");
    std::fs::write(mark, wanted).unwrap();
}

/// A folder of `docs/examples`.
pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name)
}

/// A copy of an example, with room for what it needs beside it.
pub fn copied(name: &str) -> PathBuf {
    let folder = cache(name);
    for file in std::fs::read_dir(example(name)).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }
    folder
}

/// A Python with what the `requirements.txt` in `folder` names; `script` is one that this installs.
pub fn python(folder: &Path, script: &str) -> PathBuf {
    let python = folder.join("venv/bin/python");
    install(folder, &python, &["python3", "-m", "venv", "venv"]);
    let pip = ["venv/bin/python", "-m", "pip", "install", "-q", "-r", "requirements.txt"];
    install(folder, &folder.join("venv/bin").join(script), &pip);
    python
}
