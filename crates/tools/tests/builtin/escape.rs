//! Nothing leads out of the workspace, and nothing in it makes a tool wait.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Tools;

/// A workspace beside something that must stay as it is.
struct Place {
    #[allow(dead_code)] // it is removed when this is dropped
    all: tempfile::TempDir,
    tools: Tools,
}

impl Place {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        fs::create_dir_all(all.path().join("in/dir")).unwrap();
        fs::create_dir(all.path().join("out")).unwrap();
        fs::write(all.path().join("out/secret"), "SECRET").unwrap();
        fs::write(all.path().join("in/dir/secret"), "inside").unwrap();
        let tools = Tools::files(&all.path().join("in"));
        Self { all, tools }
    }

    fn inside(&self) -> std::path::PathBuf {
        self.all.path().join("in")
    }

    fn untouched(&self) {
        let out = self.all.path().join("out");
        assert_eq!(fs::read_to_string(out.join("secret")).unwrap(), "SECRET");
        assert_eq!(fs::read_dir(out).unwrap().count(), 1, "nothing was put outside");
        assert_eq!(fs::read_dir(self.all.path()).unwrap().count(), 2);
    }

    async fn refuses(&self, path: &str, codes: &[&str]) {
        for (tool, arguments) in calls(path) {
            let code = self.tools.code(tool, arguments).await;
            assert!(codes.contains(&code.as_str()), "{tool} {path:?}: {code}");
        }
        self.untouched();
    }
}

fn calls(path: &str) -> [(&'static str, Value); 4] {
    [
        ("read_file", json!({ "path": path })),
        ("list_files", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "OWNED" })),
        ("edit_file", json!({ "path": path, "old_text": "SECRET", "new_text": "OWNED" })),
    ]
}

#[tokio::test]
async fn paths_that_are_no_paths_here() {
    let place = Place::new();
    let outside = place.all.path().join("out/secret").display().to_string();
    let long = "x".repeat(300);
    let deep = "d/".repeat(100);
    for path in [
        "..",
        "../out/secret",
        "dir/../../out/secret",
        "dir/..",
        "./../out/secret",
        "//etc/passwd",
        "/etc/passwd",
        "/",
        "/proc/self/environ",
        outside.as_str(),
        "dir/\0secret",
        "secret\n",
        "a\u{202e}txt.exe",
        "dir\u{200b}/secret",
        "\u{feff}dir/secret",
        "dir/\u{1b}[2Jsecret",
        long.as_str(),
        deep.as_str(),
        &"y/".repeat(2000),
    ] {
        place.refuses(path, &["bad_path"]).await;
        assert_eq!(place.tools.code("delete_file", json!({ "path": path })).await, "bad_path");
        place.untouched();
    }
    // These only look as if: they are plain names, and nothing has them.
    for path in [
        "．．/out/secret",
        "‥/out/secret",
        "..%2fout",
        "%2e%2e/out/secret",
        "..\\out\\secret",
        "~/secret",
        "∕etc∕passwd",
    ] {
        for (tool, arguments) in calls(path).into_iter().filter(|(tool, _)| *tool != "write_file") {
            assert_eq!(place.tools.code(tool, arguments).await, "not_found", "{tool} {path}");
        }
        place.tools.call("write_file", json!({ "path": path, "content": "x" })).await.unwrap();
        place.untouched();
    }
}

#[tokio::test]
async fn links_are_not_followed() {
    let place = Place::new();
    let inside = place.inside();
    symlink("../out/secret", inside.join("file")).unwrap();
    symlink("../out", inside.join("folder")).unwrap();
    symlink(place.all.path().join("out"), inside.join("absolute")).unwrap();
    symlink("folder", inside.join("twice")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    symlink("dir/secret", inside.join("inner")).unwrap();
    symlink("/proc/self/root", inside.join("magic")).unwrap();
    symlink("../out/new", inside.join("dangling")).unwrap();
    for path in [
        "file",
        "folder/secret",
        "absolute/secret",
        "twice/secret",
        "loop",
        "loop/x",
        "inner",
        "magic/etc/passwd",
        "dangling",
        "dir/../file",
        "folder/new",
        "folder/a/b/c",
    ] {
        let codes = if path.contains("..") { ["bad_path"] } else { ["link"] };
        place.refuses(path, &codes).await;
    }
    let error = place.tools.call("read_file", json!({ "path": "inner" })).await.unwrap_err().0;
    assert_eq!(
        error.hint.as_deref(),
        Some("`inner` stands for `dir/secret`; name the file itself")
    );
    let listed = place.tools.call("list_files", json!({ "depth": 9 })).await.unwrap();
    assert!(!listed.to_string().contains("folder/"), "{listed}");
    // A link can be deleted; what it stands for stays.
    for link in ["file", "folder", "magic"] {
        let done = place.tools.call("delete_file", json!({ "path": link })).await.unwrap();
        assert_eq!(done["kind"], "link");
    }
    place.untouched();
}

#[tokio::test]
async fn what_the_operator_keeps_is_out_of_reach() {
    let place = Place::new();
    for name in
        [".git", ".signoff", ".ENV", "dir/.env.local", "signoff.toml", "dir/.Git/hooks/pre-commit"]
    {
        place.refuses(name, &["path_denied"]).await;
    }
    fs::create_dir(place.inside().join(".git")).unwrap();
    let listed = place.tools.call("list_files", json!({})).await.unwrap();
    assert!(!listed.to_string().contains(".git"));
}

#[tokio::test]
async fn pipes_and_devices_do_not_hold_anybody_up() {
    let place = Place::new();
    let pipe = place.inside().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.inside().join("socket")).unwrap();
    let start = Instant::now();
    for path in ["pipe", "socket"] {
        place.refuses(path, &["not_a_file", "not_a_folder"]).await;
    }
    // Devices, where there are some.
    let devices = Tools::files(Path::new("/dev"));
    for path in ["zero", "tty", "null"] {
        assert_eq!(devices.code("read_file", json!({ "path": path })).await, "not_a_file");
    }
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// Stops the other thread, also when a check fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A thread that keeps exchanging a name while tools use it.
fn racing(place: &Place, flip: impl Fn(&Path) + Send + Sync, calls: impl AsyncFn(usize)) {
    let (inside, stop) = (place.inside(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                flip(&inside);
            }
        });
        let _stop = Stop(&stop);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for n in 0..3000 {
                calls(n).await;
            }
        });
    });
    place.untouched();
}

#[test]
fn a_folder_exchanged_for_a_link_meanwhile() {
    let place = Place::new();
    fs::rename(place.inside().join("dir"), place.inside().join("real")).unwrap();
    symlink("../out", place.inside().join("fake")).unwrap();
    let flip = |inside: &Path| {
        // The name is a folder, then a link that leads out, in one step each.
        for source in ["real", "fake"] {
            fs::rename(inside.join(source), inside.join("dir")).unwrap();
            std::hint::spin_loop();
            fs::rename(inside.join("dir"), inside.join(source)).unwrap();
        }
    };
    let (read, refused) = (AtomicBool::new(false), AtomicBool::new(false));
    racing(&place, flip, async |n| {
        let tools = &place.tools;
        match tools.call("read_file", json!({ "path": "dir/secret" })).await {
            Ok(value) => {
                assert!(!value.to_string().contains("SECRET"));
                read.store(true, Ordering::Relaxed);
            }
            Err(_) => refused.store(true, Ordering::Relaxed),
        }
        // Any outcome but one is good: that something happens outside.
        if n % 4 == 0 {
            let _ = tools
                .call(
                    "edit_file",
                    json!({ "path": "dir/secret", "old_text": "SECRET", "new_text": "OWNED" }),
                )
                .await;
            let _ = tools.call("delete_file", json!({ "path": "dir/secret2" })).await;
            let listed = tools.call("list_files", json!({ "path": "dir" })).await;
            assert!(listed.is_err() || !listed.unwrap().to_string().contains("SECRET"));
        }
    });
    assert!(refused.into_inner(), "the race was never met");
}

#[test]
fn a_file_exchanged_for_a_link_meanwhile() {
    let place = Place::new();
    fs::write(place.inside().join("real"), "inside").unwrap();
    let flip = |inside: &Path| {
        let _ = fs::remove_file(inside.join("target"));
        let _ = symlink("../out/secret", inside.join("target"));
        let _ = fs::remove_file(inside.join("target"));
        let _ = fs::copy(inside.join("real"), inside.join("target"));
    };
    racing(&place, flip, async |n| {
        let tools = &place.tools;
        if let Ok(value) = tools.call("read_file", json!({ "path": "target" })).await {
            assert!(!value.to_string().contains("SECRET"));
        }
        if n % 8 == 0 {
            let _ = tools.call("write_file", json!({ "path": "target", "content": "OWNED" })).await;
            let _ = tools
                .call(
                    "edit_file",
                    json!({ "path": "target", "old_text": "SECRET", "new_text": "OWNED" }),
                )
                .await;
            let _ = tools.call("delete_file", json!({ "path": "target" })).await;
        }
    });
}
