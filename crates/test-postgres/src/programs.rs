//! Where PostgreSQL's programs are, and as whom they run.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Who the server runs as. It refuses to be root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Person {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Somebody without rights, if we are root.
pub(crate) fn unprivileged() -> Option<Person> {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let known = std::fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let fields: Vec<&str> = known
            .lines()
            .map(|line| line.split(':').collect())
            .find(|it: &Vec<_>| it[0] == name)?;
        Some(Person { uid: fields[2].parse().ok()?, gid: fields[3].parse().ok()? })
    };
    Some(find("postgres").or_else(|| find("nobody")).expect("there is nobody to run PostgreSQL as"))
}

/// A program of PostgreSQL.
pub(crate) fn program(name: &str) -> PathBuf {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("`{name}` of PostgreSQL is needed for these tests; install it"))
}

/// A command as somebody without rights.
pub(crate) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    if let Some(person) = unprivileged() {
        command.uid(person.uid).gid(person.gid);
    }
    command
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}
