//! The page of `DevUI`, as it comes from its registry, in a real browser; and what it asks of the server.

use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::peers::{cache, install};
use signoff_testkit::process::Process;

use crate::support::{PARTY, Place, Server};

const PAGE: &str = "agent-framework-devui==1.0.0b261022";
const BROWSER: &str = "playwright-core@1.65.0";

/// The folder with the page.
fn page() -> PathBuf {
    let folder = cache("devui");
    let ui = folder.join("page/agent_framework_devui/ui");
    let wanted = ["python3", "-m", "pip", "install", "-q", "--no-deps", "--target", "page", PAGE];
    install(&folder, &ui, &wanted);
    ui
}

/// The folder with what drives a browser.
fn browser() -> PathBuf {
    let folder = cache("browser");
    let done = folder.join("node_modules/playwright-core");
    install(&folder, &done, &["npm", "install", "--no-audit", "--no-fund", BROWSER]);
    folder
}

fn place() -> Place {
    let place = Place::new();
    let relay = "workflow: relay\npattern: sequential\nsequential: { agents: [a, b] }\nsamples: [go]\n\
                 agents:\n  a: { instructions: Say. }\n  b: { instructions: Wait. }\n";
    std::fs::write(place.path("flows/relay.yaml"), relay).unwrap();
    let script = "rules:\n  - { agent: a, text: first word, delay: 500ms }\n  - { agent: b, text: last word, delay: 4s }\n";
    std::fs::write(place.path("flows/relay.script.yaml"), script).unwrap();
    place
}

fn serve(place: &Place) -> Server {
    place.serve_with(&["--devui", page().to_str().unwrap()])
}

fn drive(server: &Server, scene: &str) -> Process {
    drive_as(server, scene, None)
}

fn drive_as(server: &Server, scene: &str, token: Option<&str>) -> Process {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/devui/drive.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(browser()).arg(&server.url).arg(scene);
    Process::start(command.env("TOKEN", token.unwrap_or_default()))
}

/// A scene that needs nothing from outside.
#[track_caller]
fn plays(scene: &str) {
    let server = serve(&place());
    let _ = drive(&server, scene).wait().exits(0);
}

/// What it says when it has come so far.
#[track_caller]
fn comes_to(person: &mut Process, far: &str) {
    assert_eq!(person.line().as_deref(), Some(far));
}

/// Ends a server at once, and starts another in its place.
fn killed(place: &Place, server: Server) -> Server {
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    assert!(server.process.kill().was_killed());
    place.serve_at(&address, &["--devui", page().to_str().unwrap()])
}

#[test]
fn the_page_shows_workflows_and_their_graphs() {
    plays("graph");
}

#[test]
fn a_party_is_planned_by_forms() {
    plays("plan");
}

#[test]
fn agents_that_hand_over_are_answered_by_forms() {
    plays("handoff");
}

#[test]
fn a_page_that_is_loaded_again_finds_its_question() {
    plays("reload");
}

#[test]
fn a_form_comes_back_if_its_answer_is_not_taken() {
    plays("wrong");
}

#[test]
fn two_sessions_of_one_workflow_do_not_meet() {
    plays("parallel");
}

#[test]
fn a_cut_stream_goes_on_where_it_was() {
    plays("cut");
}

#[test]
fn a_killed_server_goes_on_with_the_page() {
    let place = place();
    let server = serve(&place);
    let mut person = drive(&server, "killed");
    comes_to(&mut person, "asked");
    let server = killed(&place, server);
    person.say("go on");
    comes_to(&mut person, "under way");
    let _server = killed(&place, server);
    person.say("go on");
    let _ = person.wait().exits(0);
}

#[tokio::test]
async fn checkpoints_are_shown_and_a_deleted_session_stops_its_run() {
    let server = serve(&place());
    let mut person = drive(&server, "deleted");
    comes_to(&mut person, "asked");
    let waiting = server.read("/v1/runs?status=waiting").await;
    let run = waiting["data"][0]["id"].as_str().unwrap().to_owned();
    person.say("go on");
    let _ = person.wait().exits(0);
    let found = server.at_rest(&run).await;
    assert_eq!(found["status"], "cancelled", "{found}");
    let last = server.journal(&run).await.pop().unwrap();
    assert_eq!((&last["type"], &last["by"]), (&json!("run_cancelled"), &json!("local")), "{last}");
}

#[tokio::test]
async fn with_users_it_asks_for_a_token_and_works_in_that_name() {
    let place = place();
    let mut add = place.command(&["user", "add", "ann"]);
    let token = String::from_utf8(add.output().unwrap().stdout).unwrap();
    let server = serve(&place);
    assert_eq!(server.get("/meta").await.0, 401);
    let _ = drive_as(&server, "token", Some(token.trim())).wait().exits(0);
    let audit =
        server.request(Method::GET, "/v1/audit").bearer_auth(token.trim()).send().await.unwrap();
    let audit: Value = serde_json::from_str(&audit.text().await.unwrap()).unwrap();
    let lines = audit["data"].as_array().unwrap();
    let decided = lines.iter().filter(|line| line["by"] != "system").collect::<Vec<_>>();
    assert!(!decided.is_empty() && decided.iter().all(|line| line["by"] == "ann"), "{audit}");
}

#[tokio::test]
async fn its_files_and_nothing_else_are_served() {
    let place = place();
    let server = serve(&place);
    let head = |path: &'static str| async {
        let response = server.request(Method::GET, path).send().await.unwrap();
        let header = |name: &str| {
            response.headers().get(name).map_or(String::new(), |it| it.to_str().unwrap().to_owned())
        };
        (response.status().as_u16(), header("content-type"), header("x-content-type-options"))
    };
    let nosniff = || "nosniff".to_owned();
    assert_eq!(head("/devui/").await, (200, "text/html; charset=utf-8".into(), nosniff()));
    assert_eq!(head("/devui").await.1, "text/html; charset=utf-8", "it leads there");
    let script = head("/devui/assets/index.js").await;
    assert_eq!(script, (200, "text/javascript; charset=utf-8".into(), nosniff()));
    for nothing in [
        "/devui/nope",
        "/devui/assets",
        "/devui/assets/",
        "/devui/../Cargo.toml",
        "/devui/%2e%2e/%2e%2e/etc/passwd",
        "/devui/..%2f..%2fetc/passwd",
        "/devui//etc/passwd",
    ] {
        assert_eq!(head(nothing).await.0, 404, "{nothing}");
    }
    let without = place.serve();
    assert_eq!(without.get("/devui/").await.0, 404);
    let ended = Process::start(&mut place.command(&["serve", "--devui", "flows"])).wait().exits(2);
    assert!(ended.stderr.contains("there is no index.html in flows"), "{}", ended.stderr);
}

fn id_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A response that a page asks for, as events.
async fn page_tells(server: &Server, conversation: &str, input: Value, more: Value) -> Vec<Value> {
    let mut body = json!({
        "metadata": { "entity_id": "event_planner" },
        "conversation": conversation,
        "input": input,
        "stream": true,
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.tells("/v1/responses", &body).await
}

fn answers(id: &str, answer: &Value) -> Value {
    let part = json!({ "type": "workflow_hil_response", "responses": { id: answer } });
    json!([{ "type": "message", "content": [part] }]).to_string().into()
}

/// The requests that events tell, by the names of their first fields.
fn requested(events: &[Value]) -> Vec<(String, String)> {
    let asked = events.iter().filter(|it| it["type"] == "response.request_info.requested");
    let told = asked.map(|it| {
        let fields = it["request_schema"]["properties"].as_object().unwrap();
        (id_of(&it["request_id"]), fields.keys().next().unwrap().clone())
    });
    told.collect()
}

/// The executors that events tell, with what becomes of them.
fn executors(events: &[Value]) -> Vec<String> {
    let items = events.iter().filter(|it| it["item"]["type"] == "executor_action");
    let told = items.map(|it| {
        assert!(it["created_at"].as_f64().unwrap() > 1e9, "{it}");
        format!("{} {}", id_of(&it["item"]["executor_id"]), id_of(&it["item"]["status"]))
    });
    told.collect()
}

#[tokio::test]
async fn a_page_can_go_back_to_where_it_was_asked() {
    let place = place();
    let server = serve(&place);
    let made = json!({ "metadata": { "entity_id": "event_planner", "type": "workflow_session", "name": "S" } });
    let (_, session) = server.post("/v1/conversations", &made).await;
    let session = id_of(&session["id"]);
    let input = json!({ "input": PARTY }).to_string();
    let first = page_tells(&server, &session, input.clone().into(), json!({})).await;
    assert_eq!(executors(&first), ["coordinator in_progress", "venue in_progress"]);
    let [(venue, field)] = &requested(&first)[..] else { panic!("{first:?}") };
    assert_eq!(field, "response");
    let said = first.iter().find(|it| it["type"] == "response.output_text.delta").unwrap();
    assert!(id_of(&said["item_id"]).starts_with("exec_venue_"), "words stand with their executor");

    let answer = answers(venue, &json!({ "response": "The Glasshouse" }));
    let second = page_tells(&server, &session, answer, json!({})).await;
    assert_eq!(executors(&second), ["venue completed", "budget in_progress"]);
    let [(budget, field)] = &requested(&second)[..] else { panic!("{second:?}") };
    assert_eq!(field, "approved");

    // A new input is not taken while something waits, whatever it is.
    let busy = page_tells(&server, &session, input.clone().into(), json!({})).await;
    assert_eq!(requested(&busy)[0].0, *budget);
    assert_eq!(executors(&busy), ["coordinator in_progress", "budget in_progress"]);
    let list = format!("/v1/conversations/{session}/items?limit=100");
    let items = server.read(&list).await;
    let checkpoints: Vec<&Value> =
        items["data"].as_array().unwrap().iter().filter(|it| it["type"] == "checkpoint").collect();
    let waits: Vec<_> = checkpoints
        .iter()
        .map(|it| {
            (
                it["metadata"]["iteration_count"].as_u64(),
                it["metadata"]["pending_hil_count"].as_u64(),
            )
        })
        .collect();
    assert_eq!(waits, [(Some(2), Some(1)), (Some(1), Some(1)), (Some(0), Some(0))], "newest first");
    let whole = format!("/v1/conversations/{session}/items/{}", id_of(&checkpoints[1]["id"]));
    let whole = server.read(&whole).await;
    let there = &whole["metadata"]["full_checkpoint"]["pending_request_info_events"];
    assert_eq!(there[venue]["source_executor_id"], "venue", "{whole}");

    // Where it stands now is shown; an earlier place is gone on from in a new run.
    let at = |place: &Value| json!({ "extra_body": { "checkpoint_id": place["checkpoint_id"] } });
    let shown = page_tells(&server, &session, "{}".into(), at(checkpoints[0])).await;
    assert_eq!(requested(&shown)[0].0, *budget);
    let forked = page_tells(&server, &session, "{}".into(), at(checkpoints[1])).await;
    let [(again, _)] = &requested(&forked)[..] else { panic!("{forked:?}") };
    assert_ne!(again, venue, "another run asks the same");
    let hall = answers(again, &json!({ "response": "Union Hall" }));
    let other = page_tells(&server, &session, hall, json!({})).await;
    assert_eq!(requested(&other).len(), 1);
    let direct = answers(venue, &json!({ "response": "Union Hall" }));
    let direct = page_tells(&server, &session, direct, at(checkpoints[1])).await;
    assert_eq!(executors(&direct)[0], "venue completed", "an answer can come along");
    let start = page_tells(&server, &session, "{}".into(), at(checkpoints[2])).await;
    assert_eq!(requested(&start).len(), 1, "from the very beginning");

    let unknown = json!({
        "metadata": { "entity_id": "event_planner" }, "conversation": session, "input": "{}",
        "extra_body": { "checkpoint_id": "7_nope" },
    });
    let (status, error) = server.post("/v1/responses", &unknown).await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!("unknown_item")));

    // All of it is the same later, on another process.
    let told = [&first, &second, &busy, &shown, &forked, &other, &start];
    assert!(server.process.kill().was_killed());
    let server = place.serve();
    for events in told {
        let id = id_of(&events[0]["response"]["id"]);
        let path = format!("/v1/responses/{id}?stream=true");
        assert_eq!(server.told(server.request(Method::GET, &path)).await, **events, "{id}");
    }
    let sessions = "/v1/conversations?entity_id=event_planner&type=workflow_session";
    let listed = server.read(sessions).await;
    let summary = &listed["data"][0]["metadata"]["checkpoint_summary"];
    assert_eq!(
        (&summary["has_pending_hil"], &summary["pending_hil_count"]),
        (&json!(true), &json!(4)),
        "{summary}"
    );
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_wrong_answer_is_told_with_the_question() {
    let server = serve(&place());
    let input = json!({ "input": PARTY }).to_string();
    let first = page_tells(&server, "mine", input.into(), json!({})).await;
    let venue = requested(&first).remove(0).0;
    let wrong = answers(&venue, &json!({ "response": "the moon" }));
    let again = page_tells(&server, "mine", wrong.clone(), json!({})).await;
    assert_eq!(requested(&again)[0].0, venue);
    let notice = again.iter().find_map(|it| it["request_data"]["notice"].as_str()).unwrap();
    assert!(notice.contains("your answer was not taken; accepted: 1 (Union Hall)"), "{notice}");
    let end = again.last().unwrap();
    assert_eq!(
        (&end["type"], &end["response"]["metadata"]["signoff.error"]),
        (&json!("response.failed"), &json!("invalid_answer"))
    );
    // Programs that want no stream are told plainly.
    let body = json!({ "metadata": { "entity_id": "event_planner" }, "input": wrong });
    let (status, error) = server.post("/v1/responses", &body).await;
    assert_eq!((status, &error["error"]["code"]), (422, &json!("invalid_answer")));
    let listed = server.read("/v1/conversations?entity_id=event_planner").await;
    assert_eq!(listed["data"][0]["id"], "mine", "what a page names becomes a session");
}

#[tokio::test]
async fn inputs_come_as_forms_write_them() {
    let place = place();
    let order = "workflow: order\npattern: graph\nstart: count\ninput: { type: object, properties: { size: { type: integer } }, required: [size] }\n\
                 samples: [{ size: 3 }]\nexecutors:\n  count: { transform: 'input.size + 1' }\n";
    std::fs::write(place.path("flows/order.yaml"), order).unwrap();
    let server = serve(&place);
    let info = server.read("/v1/entities/order/info?type=workflow").await;
    assert_eq!(info["input_schema"]["properties"]["size"]["default"], 3);
    let body = |input: &str| json!({ "metadata": { "entity_id": "order" }, "input": input, "stream": true });
    let events = server.tells("/v1/responses", &body(r#"{"size":6}"#)).await;
    let given = events.iter().find(|it| it["item"]["type"] == "message").unwrap();
    assert_eq!(given["type"], "response.output_item.added", "it is whole where it is added");
    assert_eq!(given["item"]["content"][0]["text"], "7");
    assert_eq!(given["item"]["metadata"]["workflow_output_kind"], "terminal");
    let (status, error) = server.post("/v1/responses", &body(r#"{"size":"six"}"#)).await;
    assert_eq!((status, &error["error"]["code"]), (422, &json!("invalid_input")));
}

#[tokio::test]
async fn whoever_comes_while_a_run_is_under_way_sees_it_to_its_end() {
    let server = serve(&place());
    let body = json!({
        "metadata": { "entity_id": "relay" }, "conversation": "r", "input": r#"{"input":"go"}"#, "stream": true,
    });
    let mut first = server.request(Method::POST, "/v1/responses").json(&body).send().await.unwrap();
    first.chunk().await.unwrap();
    drop(first);
    let events = server.tells("/v1/responses", &body).await;
    assert!(executors(&events).contains(&"b completed".to_owned()), "{:?}", executors(&events));
    let given = events.iter().find(|it| it["item"]["type"] == "message").unwrap();
    assert_eq!(given["item"]["content"][0]["text"], "last word");
    let runs = server.read("/v1/runs?conversation=r").await;
    assert_eq!(runs["data"].as_array().unwrap().len(), 1, "what was sent was not taken");
}

#[tokio::test]
async fn entities_are_what_can_be_started() {
    let server = place().serve();
    let meta = server.read("/meta").await;
    assert_eq!((&meta["runtime"], &meta["auth_required"]), (&json!("python"), &json!(false)));
    let entities = server.read("/v1/entities").await;
    let planner =
        entities["entities"].as_array().unwrap().iter().find(|it| it["id"] == "event_planner");
    let planner = planner.unwrap();
    assert_eq!(planner["input_schema"]["default"], PARTY, "the first sample is filled in");
    assert_eq!(planner["start_executor_id"], "coordinator");
    let groups = |dump: &Value| -> Vec<String> {
        let groups = dump["edge_groups"].as_array().unwrap();
        groups
            .iter()
            .map(|it| format!("{} {}", id_of(&it["type"]), it["edges"].as_array().unwrap().len()))
            .collect()
    };
    let info = server.read("/v1/entities/support_handoff/info?type=workflow").await;
    let dump = &info["workflow_dump"];
    assert_eq!(
        groups(dump),
        ["SingleEdgeGroup 1", "FanOutEdgeGroup 2", "FanOutEdgeGroup 2", "FanOutEdgeGroup 2"]
    );
    assert_eq!(dump["executors"]["triage"]["type"], "AgentExecutor");
    let ends = |it: &Value| [it["source_id"].clone(), it["target_id"].clone()];
    for edge in dump["edge_groups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["edges"].as_array().unwrap())
    {
        for end in ends(edge) {
            assert!(dump["executors"][end.as_str().unwrap()].is_object(), "{end}");
        }
    }
    let (status, error) = server.post("/v1/entities/event_planner/reload", &json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (400, &json!("cannot_reload")));
    assert_eq!(server.get("/v1/entities/nope/info").await.0, 404);
}
