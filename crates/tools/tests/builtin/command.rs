//! Commands keep to their limits.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Tools;

fn any(folder: &Path) -> Tools {
    Tools::new("[command]\nallow = ['*']\nroot = '.'\ntimeout = '20s'", folder)
}

fn sh(script: &str) -> Value {
    json!({ "argv": ["sh", "-c", script] })
}

/// Whether a process is there and running.
fn alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

async fn gone(pid: &str) -> bool {
    for _ in 0..100 {
        if !alive(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

#[tokio::test]
async fn a_command_ends_with_its_code_and_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let tools = any(folder.path());
    let done = tools.call("run_command", sh("echo out; echo err >&2; exit 3")).await.unwrap();
    assert_eq!(done, json!({ "exit_code": 3, "stdout": "out\n", "stderr": "err\n" }));
    // No shell comes between: what looks like one is an argument.
    let done = tools
        .call("run_command", json!({ "argv": ["echo", "$HOME; ls | cat > x", "*"] }))
        .await
        .unwrap();
    assert_eq!(done["stdout"], "$HOME; ls | cat > x *\n");
    let done = tools.call("run_command", json!({ "argv": ["cat"] })).await.unwrap();
    assert_eq!(done["exit_code"], 0, "there is nothing to read");
    let done = tools.call("run_command", sh("kill -9 $$")).await.unwrap();
    assert_eq!((&done["signal"], done.get("exit_code")), (&json!(9), None));
    let done = tools.call("run_command", sh("printf 'a\\377b'")).await.unwrap();
    assert_eq!(done["stdout"], "a\u{fffd}b");
    assert!(done["stdout_note"].as_str().unwrap().contains("UTF-8"));
}

#[tokio::test]
async fn only_what_is_allowed_runs() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::new("[command]\nallow = ['echo', '/bin/cat']\nroot = '.'", folder.path());
    tools.call("run_command", json!({ "argv": ["echo", "a"] })).await.unwrap();
    tools.call("run_command", json!({ "argv": ["/bin/cat"] })).await.unwrap();
    for argv in [
        json!(["sh", "-c", "true"]),
        json!(["/bin/echo"]),
        json!(["./echo"]),
        json!(["cat"]),
        json!(["*"]),
        json!([""]),
    ] {
        assert_eq!(tools.code("run_command", json!({ "argv": argv })).await, "program_denied");
    }
    assert_eq!(tools.code("run_command", json!({ "argv": [] })).await, "bad_arguments");
    assert_eq!(
        tools.code("run_command", json!({ "argv": ["echo", "a\u{0}b"] })).await,
        "bad_arguments"
    );
    // A program of that name in the workspace is another one.
    fs::write(folder.path().join("echo"), "#!/bin/sh\ntouch ran\n").unwrap();
    let tools = Tools::new(
        "[command]\nallow = ['echo']\nroot = '.'\nset = { PATH = '.::/usr/bin:/bin' }",
        folder.path(),
    );
    tools.call("run_command", json!({ "argv": ["echo"] })).await.unwrap();
    assert!(!folder.path().join("ran").exists());
    let any = any(folder.path());
    assert_eq!(
        any.code("run_command", json!({ "argv": ["no-such-program"] })).await,
        "program_missing"
    );
    assert_eq!(any.code("run_command", json!({ "argv": ["./missing"] })).await, "command_failed");
}

#[tokio::test]
async fn a_command_runs_in_the_workspace() {
    let all = tempfile::tempdir().unwrap();
    let inside = all.path().canonicalize().unwrap().join("in");
    fs::create_dir_all(inside.join("sub")).unwrap();
    fs::create_dir(all.path().join("out")).unwrap();
    symlink("../out", inside.join("link")).unwrap();
    symlink("sub", inside.join("inner")).unwrap();
    let tools = any(&inside);
    let pwd = |cwd: &str| json!({ "argv": ["pwd"], "cwd": cwd });
    let done = tools.call("run_command", pwd("sub")).await.unwrap();
    assert_eq!(done["stdout"].as_str().unwrap().trim(), inside.join("sub").display().to_string());
    for (cwd, code) in [
        ("..", "bad_path"),
        ("/", "bad_path"),
        ("link", "link"),
        ("inner", "link"),
        ("sub/../..", "bad_path"),
        ("missing", "not_found"),
        (".git", "path_denied"),
    ] {
        assert_eq!(tools.code("run_command", pwd(cwd)).await, code, "{cwd}");
    }
    fs::write(inside.join("sub/tool"), "#!/bin/sh\necho ran in $(pwd)\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(inside.join("sub/tool"), mode).unwrap();
    let done =
        tools.call("run_command", json!({ "argv": ["./tool"], "cwd": "sub" })).await.unwrap();
    assert!(done["stdout"].as_str().unwrap().trim().ends_with("/in/sub"), "{done}");
}

#[tokio::test]
async fn the_environment_is_what_was_let_through() {
    // The variables cargo sets for tests are the canaries: nobody let them through.
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some()
            && std::env::var_os("CARGO_PKG_NAME").is_some()
    );
    let folder = tempfile::tempdir().unwrap();
    let settings = "[command]\nallow = ['env']\nroot = '.'\nenv = ['CARGO_PKG_NAME', 'UNSET_ANYWHERE']\nset = { CI = '1' }";
    let done = Tools::new(settings, folder.path())
        .call("run_command", json!({ "argv": ["env"] }))
        .await
        .unwrap();
    let names: Vec<&str> = done["stdout"]
        .as_str()
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    assert!(names.contains(&"PATH") && names.contains(&"CI") && names.contains(&"CARGO_PKG_NAME"));
    let known = [
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TERM",
        "TZ",
        "TMPDIR",
        "CI",
        "CARGO_PKG_NAME",
    ];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
}

#[tokio::test]
async fn fifty_megabytes_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo begin; head -c 50000000 /dev/zero | tr '\\0' 'x'; echo; echo end; head -c 50000000 /dev/zero >&2";
    let done = any(folder.path()).call("run_command", sh(script)).await.unwrap();
    let text = done["stdout"].as_str().unwrap();
    assert!(text.starts_with("begin\nxxx") && text.ends_with("xxx\nend\n"));
    assert!(text.contains("bytes left out") && text.len() < 66 * 1024);
    assert_eq!(done["stdout_bytes"], 50_000_011);
    assert_eq!(done["exit_code"], 0, "it ran to its end: {done}");
}

#[tokio::test]
async fn time_ends_for_children_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let mut call = sh(
        "echo before; sleep 300 & echo $! > child; (sleep 300 & echo $! > grandchild; wait) & wait",
    );
    call["timeout_seconds"] = json!(1);
    let done = any(folder.path()).call("run_command", call).await.unwrap();
    assert_eq!((&done["timed_out"], &done["signal"]), (&json!(true), &json!(15)));
    assert_eq!(done["stdout"], "before\n", "what was written until then is kept");
    for name in ["child", "grandchild"] {
        assert!(gone(&fs::read_to_string(folder.path().join(name)).unwrap()).await, "{name}");
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn who_does_not_listen_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[command]\nallow = ['sh']\nroot = '.'\ntimeout = '1s'";
    let mut call = sh("trap '' TERM; echo $$ > pid; while true; do sleep 1; done");
    // The operator's limit is the longest, whatever the agent asks for.
    call["timeout_seconds"] = json!(3600);
    let done = Tools::new(settings, folder.path()).call("run_command", call).await.unwrap();
    assert_eq!((&done["timed_out"], &done["signal"]), (&json!(true), &json!(9)));
    assert!(gone(&fs::read_to_string(folder.path().join("pid")).unwrap()).await);
}

#[tokio::test]
async fn what_stays_in_the_background_is_ended_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let done = any(folder.path()).call("run_command", sh("sleep 300 & echo $!")).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(8), "the pipe it holds is not waited for");
    assert_eq!(done["exit_code"], 0);
    assert!(gone(done["stdout"].as_str().unwrap()).await);
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let tools = any(folder.path());
    let call = tools.call("run_command", sh("sleep 300 & echo $! > child; wait"));
    assert!(tokio::time::timeout(Duration::from_millis(700), call).await.is_err());
    assert!(gone(&fs::read_to_string(folder.path().join("child")).unwrap()).await);
}

#[tokio::test]
async fn a_preview_shows_the_program_and_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let tools = any(folder.path());
    let shown = tools
        .preview("run_command", json!({ "argv": ["rm", "-rf", "a b"], "timeout_seconds": 5 }))
        .await
        .unwrap();
    assert_eq!(shown["summary"], "Run rm -rf \"a b\"");
    assert_eq!(shown["argv"], json!(["rm", "-rf", "a b"]));
    let detail = shown["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("program: /") && detail.ends_with("/rm\nfolder: .\ntime: at most 5s"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_preview_of_a_deletion_lists_what_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("d/e")).unwrap();
    for name in ["d/a", "d/e/b", "-x"] {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    // What a link leads to stays.
    symlink("/etc", folder.path().join("d/link")).unwrap();
    let tools = any(folder.path());
    let files = async |argv: Value| {
        let shown = tools.preview("run_command", json!({ "argv": argv })).await.unwrap();
        shown["files"].clone()
    };
    let sample = json!(["d", "d/a", "d/e", "d/e/b", "d/link"]);
    assert_eq!(files(json!(["rm", "-r", "d/", "gone"])).await["count"], 5);
    assert_eq!(files(json!(["rm", "-r", "d"])).await, json!({ "count": 5, "sample": sample }));
    assert_eq!(files(json!(["rm", "--", "-x"])).await["sample"], json!(["-x"]));
    assert_eq!(files(json!(["ls", "d"])).await, Value::Null);
}
