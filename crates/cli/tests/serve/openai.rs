//! The OpenAI libraries from their registries, as they are, against the real server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use signoff_testkit::peers::{copied, install, python};

use crate::support::{Place, Server};

fn place() -> Place {
    let place = Place::new();
    let two = "workflow: two\npattern: graph\nstart: both\nexecutors:\n  both: { transform: input }\n  \
               left: { ask: { prompt: 'Left?', kind: approval } }\n  right: { ask: { prompt: 'Right?', kind: approval } }\n  \
               end: { transform: '\"done\"' }\nedges:\n  - { from: both, to: left }\n  - { from: both, to: right }\n  \
               - { from: [left, right], to: end }\n";
    std::fs::write(place.path("flows/two.yaml"), two).unwrap();
    place
}

/// A Python with the library. It has no program of its own, but one comes with what it needs.
fn with_openai() -> PathBuf {
    python(&copied("openai-python"), "httpx2")
}

/// What a program that talks to a server prints. It must end well.
#[track_caller]
fn said(server: &Server, command: &mut Command) -> String {
    let output = command.env("SIGNOFF_URL", &server.url).stdin(Stdio::null()).output().unwrap();
    let (said, words) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{said}\n{words}");
    said.into_owned()
}

/// One of the checks in `checks.py`.
#[track_caller]
fn check(server: &Server, args: &[&str]) -> String {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/openai/checks.py");
    said(server, Command::new(with_openai()).arg("-B").arg(checks).args(args))
}

fn javascript() -> PathBuf {
    let folder = copied("openai-javascript");
    let done = folder.join("node_modules/openai");
    install(&folder, &done, &["npm", "install", "--no-audit", "--no-fund"]);
    folder
}

#[test]
fn the_examples_plan_a_party() {
    let server = place().serve();
    let plan = copied("openai-python").join("plan.py");
    let by_python = said(&server, Command::new(with_openai()).arg("-B").arg(plan));
    let by_javascript = said(&server, Command::new("node").arg(javascript().join("plan.mjs")));
    for told in [by_python, by_javascript] {
        assert_eq!(told.lines().filter(|line| line.starts_with("? ")).count(), 3, "{told}");
        for part in ["> The Glasshouse", "vegan", "$3,000"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}

#[test]
fn python_plans_with_answers_by_call() {
    let server = place().serve();
    check(&server, &["plain"]);
    check(&server, &["whole_list"]);
}

#[test]
fn javascript_plans_and_finds_it_again() {
    let server = place().serve();
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/openai/checks.mjs");
    said(&server, Command::new("node").arg(checks).arg(javascript()));
}

#[test]
fn every_event_is_typed_and_any_stream_goes_on() {
    let server = place().serve();
    check(&server, &["streaming"]);
    check(&server, &["cut"]);
}

#[test]
fn responses_are_found_again() {
    let server = place().serve();
    check(&server, &["background"]);
    check(&server, &["cancelling"]);
}

#[test]
fn what_is_sent_again_counts_once() {
    check(&place().serve(), &["again"]);
}

#[test]
fn conversations_have_their_items() {
    check(&place().serve(), &["items"]);
}

#[tokio::test]
async fn what_is_put_into_a_conversation_is_known_to_its_next_run() {
    let server = place().serve();
    let runs: Vec<String> = serde_json::from_str(check(&server, &["added"]).trim()).unwrap();
    let mut known = Vec::new();
    for run in &runs {
        let journal = server.journal(run).await;
        let said = journal.iter().filter(|it| it["type"] == "said" && it["activation"].is_null());
        known.push(said.map(|it| it["message"].to_string()).collect::<String>());
    }
    assert!(known[0].contains("vegan") && known[0].contains("gardens"), "{known:?}");
    assert!(known[1].contains("old hall") && !known[1].contains("vegan"), "{known:?}");
    check(&server, &["deleted"]);
}

#[test]
fn several_questions_are_told_apart() {
    check(&place().serve(), &["several"]);
}

#[test]
fn parts_of_a_run_ask_in_the_same_conversation() {
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows/docs-parts");
    let parts = parts.canonicalize().unwrap();
    let server = place().serve_with(&["--workflows", parts.to_str().unwrap()]);
    check(&server, &["parts"]);
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    check(&place().serve(), &["faults"]);
}

#[test]
fn a_killed_server_goes_on_with_the_conversation() {
    let place = place();
    let server = place.serve();
    let left = check(&server, &["start"]);
    let heard = check(&server, &["listen"]);
    assert!(server.process.kill().was_killed());
    let server = place.serve();
    check(&server, &["go_on", left.trim()]);
    check(&server, &["listen_on", heard.trim()]);
}

/// An agent of a workflow by itself: its own instructions, tools and model, one turn after another.
#[tokio::test]
async fn an_agent_is_spoken_to_by_itself() {
    let place = Place::new();
    let server = place.serve();
    let ask = json!({ "model": "slow/a", "input": "hi", "conversation": "alone" });
    for _ in 0..2 {
        let (status, response) = server.post("/v1/responses", &ask).await;
        assert_eq!((status, &response["status"]), (200, &json!("completed")), "{response}");
        let said = response["output"].as_array().unwrap().last().unwrap();
        assert_eq!(said["content"][0]["text"], "done");
    }
    let runs = server.read("/v1/runs?workflow=slow/a").await;
    assert_eq!(runs["data"].as_array().unwrap().len(), 2);
    let listed = server.read("/v1/workflows").await;
    assert!(!listed.to_string().contains("slow/a"), "workflows are listed, not their agents");
    let (status, unknown) =
        server.post("/v1/responses", &json!({ "model": "slow/b", "input": "hi" })).await;
    assert_eq!((status, &unknown["error"]["code"]), (404, &json!("unknown_workflow")));
}
