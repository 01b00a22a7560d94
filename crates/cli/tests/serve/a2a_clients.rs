//! The protocol's own libraries from their registries, as they are, against the real server.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use signoff_testkit::peers::{cache, copied, install, python};

use crate::a2a_support::place;
use crate::support::{PARTY, Place, Server};

/// A library, and how it speaks.
#[derive(Clone, Copy, Debug)]
struct Peer {
    language: &'static str,
    binding: &'static str,
    version: &'static str,
    stream: bool,
}

/// All ways in which the libraries can speak to this server.
fn peers() -> Vec<Peer> {
    let mut all = Vec::new();
    for stream in [false, true] {
        for (language, binding, version) in [
            ("python", "JSONRPC", "1.0"),
            ("python", "HTTP+JSON", "1.0"),
            ("python", "JSONRPC", "0.3"),
            ("python", "GRPC", "1.0"),
            ("javascript", "JSONRPC", "1.0"),
            ("javascript", "HTTP+JSON", "1.0"),
        ] {
            all.push(Peer { language, binding, version, stream });
        }
    }
    all
}

#[test]
fn python_verifies_a_signed_card() {
    let place = place();
    let key = "-----BEGIN PRIVATE KEY-----\n\
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2\n\
        OF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r\n\
        1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087G\n\
        -----END PRIVATE KEY-----\n";
    std::fs::write(place.path("card.pem"), key).unwrap();
    std::fs::write(place.path("signoff.toml"), "card_key = \"card.pem\"\n").unwrap();
    let server = place.serve();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/a2a/verify.py");
    let mut command = Command::new(with_python());
    command.arg("-B").arg(script).arg(&server.url).stdin(Stdio::null());
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(told.trim(), "good: 2, changed: refused, for 0.3: none", "{words}");
}

/// A Python with the library. It has no program of its own, but one comes with what it needs.
fn with_python() -> PathBuf {
    python(&copied("a2a-client-python"), "httpx")
}

fn with_javascript() -> PathBuf {
    let folder = copied("a2a-client-javascript");
    let done = folder.join("node_modules/@a2a-js");
    install(&folder, &done, &["npm", "install", "--no-audit", "--no-fund"]);
    folder.join("plan.mjs")
}

impl Peer {
    /// What a turn prints. It must end well.
    #[track_caller]
    fn turn(self, server: &Server, agent: &str, more: &[&str]) -> Said {
        let mut command = if self.language == "python" {
            let mut command = Command::new(with_python());
            command.arg("-B").arg(copied("a2a-client-python").join("plan.py"));
            command.args(["--version", self.version]);
            command
        } else {
            let mut command = Command::new("node");
            command.arg(with_javascript());
            command
        };
        command.args(["--agent", agent, "--binding", self.binding]).args(more);
        if self.stream {
            command.arg("--stream");
        }
        let output = command.env("SIGNOFF_URL", &server.url).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{self:?} {command:?}:\n{told}\n{words}");
        Said(told)
    }
}

struct Said(String);

impl Said {
    fn field(&self, name: &str) -> &str {
        let found = self.0.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_else(|| panic!("{name}: {}", self.0)).trim()
    }
}

/// Plans a party, with a server that is killed while it waits.
fn plans(peer: Peer, place: &Place) {
    let server = place.serve();
    let first = peer.turn(&server, "event_planner", &["--id", "a", PARTY]);
    assert_eq!(first.field("state"), "TASK_STATE_INPUT_REQUIRED", "{peer:?}: {}", first.0);
    assert!(first.0.contains("? ") && first.0.contains("The Glasshouse"), "{}", first.0);
    if peer.stream {
        let told: Vec<&str> = first.0.lines().take(2).collect();
        assert_eq!(told, ["task TASK_STATE_SUBMITTED", "status TASK_STATE_WORKING"], "{}", first.0);
    }
    let task = first.field("id").to_owned();
    server.process.kill();
    let server = place.serve();
    let answers = ["--task", &task, "--id", "b", "The Glasshouse", "yes", "vegan"];
    let last = peer.turn(&server, "event_planner", &answers);
    if peer.stream {
        let tasks = last.0.lines().filter(|line| line.starts_with("task TASK_STATE_")).count();
        assert!(last.0.starts_with("task TASK_STATE_"), "a task comes first: {}", last.0);
        assert_eq!(tasks, 3, "in each stream: {}", last.0);
    }
    assert_eq!(last.field("state"), "TASK_STATE_COMPLETED", "{peer:?}: {}", last.0);
    let said: Vec<&str> = last.field("history").split(' ').collect();
    assert_eq!(said.len(), 7, "{said:?}");
    assert_eq!([said[0], said[2], said[4], said[6]], ["a1", "b1", "b2", "b3"]);
    for part in ["The Glasshouse", "vegan", "$3,000"] {
        assert!(last.0.contains(part), "{part}: {}", last.0);
    }
}

#[test]
fn python_plans_a_party() {
    let place = place();
    peers().into_iter().filter(|it| it.language == "python").for_each(|peer| plans(peer, &place));
}

#[test]
fn javascript_plans_a_party() {
    let place = place();
    peers().into_iter().filter(|it| it.language != "python").for_each(|peer| plans(peer, &place));
}

#[test]
fn they_listen_to_a_task_that_a_killed_server_was_working_on() {
    let place = place();
    for peer in peers().into_iter().filter(|peer| peer.stream) {
        let server = place.serve();
        let client = server.client.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let body = serde_json::json!({ "workflow": "kit", "input": "tck-long-running" });
        let (_, run) = runtime.block_on(client.post("/v1/runs", &body));
        let id = run["id"].as_str().unwrap().to_owned();
        server.process.kill();
        let server = place.serve();
        let heard = peer.turn(&server, "kit", &["--task", &id, "--subscribe"]);
        assert!(heard.0.starts_with("task TASK_STATE_WORKING"), "{peer:?}: {}", heard.0);
        assert_eq!(heard.field("state"), "TASK_STATE_COMPLETED", "{peer:?}: {}", heard.0);
        assert!(heard.0.contains("= long"), "{}", heard.0);
    }
}

/// The library of the time before 1.0, which knows nothing of it.
#[test]
fn the_library_of_the_old_version_plans_a_party() {
    let folder = cache("a2a-sdk-0.3.26");
    std::fs::write(folder.join("requirements.txt"), "a2a-sdk==0.3.26\n").unwrap();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/a2a/old.py");
    let server = place().serve();
    let mut command = Command::new(python(&folder, "httpx"));
    let command = command.arg("-B").arg(script).env("SIGNOFF_URL", &server.url);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (told, words) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}\n{words}");
    let last: Vec<&str> = told.lines().collect();
    assert_eq!(last, ["blocking completed 7 1", "streaming completed 7 1"], "{words}");
}
