//! The library of AG-UI from its registry, as it is, against the real server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::model_server::{Fault, ModelServer, Replies};
use signoff_testkit::peers::{copied, install};

use crate::access::{add, ask, asked, post};
use crate::support::{Place, Server, text};

fn place() -> Place {
    let place = Place::new();
    let two = "workflow: two\npattern: graph\nstart: both\nexecutors:\n  both: { transform: input }\n  \
               left: { ask: { prompt: 'Left?', kind: approval } }\n  right: { ask: { prompt: 'Right?', kind: approval } }\n  \
               end: { transform: '\"done\"' }\nedges:\n  - { from: both, to: left }\n  - { from: both, to: right }\n  \
               - { from: [left, right], to: end }\n";
    std::fs::write(place.path("flows/two.yaml"), two).unwrap();
    place
}

fn library() -> PathBuf {
    let folder = copied("ag-ui-javascript");
    let done = folder.join("node_modules/@ag-ui/client");
    install(&folder, &done, &["npm", "install", "--no-audit", "--no-fund"]);
    folder
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

/// One of the checks in `checks.mjs`.
#[track_caller]
fn check(server: &Server, args: &[&str]) -> String {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/ag_ui/checks.mjs");
    said(server, Command::new("node").arg(checks).arg(library()).args(args))
}

#[test]
fn the_example_plans_a_party() {
    let server = place().serve();
    let told = said(&server, Command::new("node").arg(library().join("plan.mjs")));
    assert_eq!(told.lines().filter(|line| line.starts_with("? ")).count(), 3, "{told}");
    for part in ["> \"The Glasshouse\"", "vegan", "$3,000"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_party_is_planned_in_four_of_their_runs() {
    check(&place().serve(), &["planner"]);
}

#[test]
fn support_hands_over_in_one_thread() {
    check(&place().serve(), &["handoff"]);
}

#[test]
fn a_plan_is_agreed_to_and_tools_are_approved() {
    check(&place().serve(), &["research"]);
}

#[test]
fn several_interrupts_are_answered_together_or_not_at_all() {
    check(&place().serve(), &["parallel"]);
}

#[test]
fn what_the_inbox_decides_is_followed() {
    check(&place().serve(), &["inbox"]);
}

#[test]
fn what_is_given_up_is_a_no() {
    check(&place().serve(), &["cancelling"]);
}

#[test]
fn the_same_call_again_does_nothing_twice() {
    check(&place().serve(), &["again"]);
}

#[test]
fn of_two_who_resume_at_once_one_does() {
    check(&place().serve(), &["race"]);
}

#[test]
fn what_expired_is_not_answered() {
    check(&place().serve(), &["late"]);
}

#[test]
fn a_stream_that_is_left_stops_nothing() {
    check(&place().serve(), &["leave"]);
}

#[test]
fn parts_of_a_run_are_subagents() {
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows/docs-parts");
    let parts = parts.canonicalize().unwrap();
    let server = place().serve_with(&["--workflows", parts.to_str().unwrap()]);
    check(&server, &["parts", "hire", "A gardener for the summer"]);
}

#[test]
fn a_killed_server_goes_on_with_the_thread() {
    let place = place();
    let server = place.serve();
    let left = check(&server, &["start"]);
    assert!(server.process.kill().was_killed());
    let server = place.serve();
    check(&server, &["go_on", left.trim()]);
}

/// A model that is cut off in the middle of its words, twice: each message is well formed, and one is left.
#[tokio::test(flavor = "multi_thread")]
async fn words_that_are_cut_off_begin_again() {
    let words = "The first of many words that come one by one, until the last of them is said.";
    let model = ModelServer::start(Replies::text(words)).await;
    model.faults([Fault::Break(2), Fault::Cut(2)]);
    let place = place();
    let config = format!(
        "[models.far]\nprovider = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{}\"\nretry_delay = \"1ms\"\n",
        model.base_url()
    );
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    let talk = "workflow: talk\nmodel: far\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { name: Ada, instructions: Talk. }\n";
    std::fs::write(place.path("flows/talk.yaml"), talk).unwrap();
    let server = place.serve();
    tokio::task::spawn_blocking(move || check(&server, &["cut", words])).await.unwrap();
    assert_eq!(model.requests().len(), 3);
}

fn call(thread: &str, messages: &Value, resume: &Value) -> Value {
    json!({
        "threadId": thread, "runId": "r1", "protocolVersion": "1.0",
        "messages": messages, "resume": resume,
    })
}

fn hello() -> Value {
    json!([{ "id": "u", "role": "user", "content": "go" }])
}

/// The events that a call leads to.
async fn events(server: &Server, token: &str, path: &str, body: &Value) -> Vec<Value> {
    let request = server.request(Method::POST, path).bearer_auth(token).json(body);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let body = response.text().await.unwrap();
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// A thread of one tenant is another's of the same name; who decides is the user of the token.
#[tokio::test]
async fn threads_belong_to_tenants_and_answers_to_users() {
    let place = place();
    let zoe = add(&place, &["zoe", "--tenant", "acme"]);
    let vic = add(&place, &["vic", "--tenant", "acme", "--role", "viewer"]);
    let bob = add(&place, &["bob", "--tenant", "bravo"]);
    let server = place.serve();
    let start = call("shared", &hello(), &Value::Null);
    assert_eq!(post(&server, "", "/ag-ui/ask", start.clone()).await.0, 401);
    assert_eq!(post(&server, &vic, "/ag-ui/ask", start.clone()).await.0, 403);
    assert_eq!(ask(&server, "", Method::GET, "/ag-ui/ask", None).await.0, 401);
    assert_eq!(ask(&server, &vic, Method::GET, "/ag-ui/ask", None).await.0, 200);
    let theirs = events(&server, &zoe, "/ag-ui/ask", &start).await;
    let interrupt = theirs.last().unwrap()["outcome"]["interrupts"][0].clone();
    let yes = json!([{ "interruptId": interrupt["id"], "status": "resolved", "payload": { "approved": true } }]);
    let answer = call("shared", &json!([]), &yes);
    let refused = events(&server, &bob, "/ag-ui/ask", &answer).await;
    assert_eq!(refused.last().unwrap()["code"], "unknown_request", "{refused:?}");
    // The same thread and the same call of another tenant are others.
    let own = events(&server, &bob, "/ag-ui/ask", &start).await;
    assert_ne!(own.last().unwrap()["outcome"]["interrupts"][0]["id"], interrupt["id"]);
    let done = events(&server, &zoe, "/ag-ui/ask", &answer).await;
    assert_eq!(done.last().unwrap()["outcome"]["type"], "success", "{done:?}");
    let path = format!("/v1/requests/{}", text(&interrupt["id"]));
    let (_, decided) = ask(&server, &zoe, Method::GET, &path, None).await;
    assert_eq!(decided["decision"]["by"], "zoe");
    let (_, elsewhere) = asked(&server, &bob).await;
    let foreign = json!([{ "interruptId": elsewhere, "status": "cancelled" }]);
    let refused = events(&server, &zoe, "/ag-ui/ask", &call("shared", &json!([]), &foreign)).await;
    assert_eq!(refused.last().unwrap()["code"], "unknown_request");
}

#[tokio::test]
async fn what_cannot_be_read_is_refused() {
    let server = place().serve();
    let refuse = async |body: Value| server.post("/ag-ui/ask", &body).await;
    let good = call("t", &hello(), &Value::Null);
    for (name, wrong) in [
        ("threadId", json!("")),
        ("threadId", json!("x".repeat(2000))),
        ("runId", json!(7)),
        ("runId", Value::Null),
        ("messages", Value::Null),
        ("messages", json!([{ "id": "u", "role": "king", "content": "go" }])),
        ("messages", json!([{ "role": "user", "content": "go" }])),
        ("messages", json!([{ "id": "u", "role": "user", "content": [{ "type": "image" }] }])),
        ("resume", json!([{ "interruptId": "x", "status": "perhaps" }])),
        (
            "resume",
            json!([{ "interruptId": "x", "status": "cancelled" }, { "interruptId": "x", "status": "cancelled" }]),
        ),
        ("resume", vec![json!({ "interruptId": "x", "status": "cancelled" }); 300].into()),
    ] {
        let mut body = good.clone();
        body[name] = wrong.clone();
        let (status, error) = refuse(body).await;
        assert_eq!(
            (status, &error["error"]["code"]),
            (400, &json!("invalid_body")),
            "{name}: {error}"
        );
    }
    let (status, error) = server.post("/ag-ui/asc", &good).await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!("unknown_workflow")));
    let binary = server.request(Method::POST, "/ag-ui/ask").json(&good);
    let binary = binary.header("accept", "application/vnd.ag-ui.event+proto").send().await.unwrap();
    assert_eq!(binary.status(), 406);
    assert_eq!(server.read("/v1/runs").await["data"], json!([]), "nothing was started");
    let both = "application/vnd.ag-ui.event+proto, text/event-stream;q=0.9";
    let fine = server.request(Method::POST, "/ag-ui/ask").json(&good).header("accept", both);
    assert_eq!(fine.send().await.unwrap().status(), 200);
    let empty = server.post("/ag-ui/ask", &call("other", &json!([]), &Value::Null)).await;
    assert!(empty.1.to_string().contains("invalid_input"), "{empty:?}");
    let capabilities = server.read("/ag-ui/event_planner").await;
    assert_eq!(capabilities["humanInTheLoop"]["interrupts"], true);
    assert_eq!(
        capabilities["multiAgent"]["subagents"].as_array().unwrap().len(),
        5,
        "{capabilities}"
    );
}
