//! Clients of the Agent Framework: they follow a workflow by its events and answer by its id.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{PARTY, Place, Server};

const HELP: &str =
    "I need help with order 12345. I want a replacement and need to know when it will arrive.";

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let wanted = format!("response.{kind}");
    events.iter().filter(|event| event["type"] == *wanted).collect()
}

/// What the events say about the one question they ask.
#[track_caller]
fn asked(events: &[Value]) -> Value {
    let traced = of_type(events, "trace.complete");
    assert_eq!(traced.len(), 1, "{traced:?}");
    let data = &traced[0]["data"];
    assert_eq!(data["trace_type"], "workflow_info");
    assert_eq!(data["event_type"], "RequestInfoEvent");
    data["data"]["request_info"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The states that are told, in order.
fn states(events: &[Value]) -> Vec<&str> {
    of_type(events, "trace.completed")
        .iter()
        .map(|event| text(&event["data"]["data"]["state"]).rsplit('.').next().unwrap())
        .collect()
}

async fn again(server: &Server, events: &[Value]) {
    let id = text(&events[0]["response"]["id"]);
    for after in [0, 3, events.len() - 2] {
        let path = format!("/v1/responses/{id}?stream=true&starting_after={after}");
        let response = server.request(Method::GET, &path).send().await.unwrap();
        let body = response.text().await.unwrap();
        let rest: Vec<Value> = body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        assert_eq!(rest, events[after + 1..], "after {after}");
    }
}

#[tokio::test]
async fn a_handoff_goes_on_by_its_id_to_its_end() {
    let place = Place::new();
    let server = place.serve();
    let start =
        json!({ "model": "support_handoff", "input": HELP, "stream": true, "conversation": "c1" });
    let first = server.tells("/v1/responses", &start).await;
    let request = asked(&first);
    let data = &request["data"];
    assert!(text(&data["prompt"]).contains("photo of the damage"), "{request}");
    assert_eq!(data["awaiting_agent_id"], "replacement");
    assert_eq!(request["response_type"], "builtins:str");
    let said = data["conversation"].as_array().unwrap();
    assert_eq!(said[0], json!({ "role": "user", "text": HELP }));
    assert_eq!(said.last().unwrap()["author_name"], "replacement", "{said:?}");
    let handed = of_type(&first, "workflow_event.complete");
    let handed: Vec<_> =
        handed.iter().filter(|it| it["data"]["event_type"] == "HandoffSentEvent").collect();
    assert_eq!(handed[0]["data"]["data"], json!({ "source": "triage", "target": "replacement" }));
    assert_eq!(
        states(&first),
        ["IN_PROGRESS", "IN_PROGRESS_PENDING_REQUESTS", "IDLE_WITH_PENDING_REQUESTS"]
    );

    let send = "/v1/workflows/support_handoff/send_responses";
    let id = text(&request["request_id"]);
    let answer =
        json!({ "responses": { id: "The screen is cracked." }, "conversation": { "id": "c1" } });
    let second = server.tells(send, &answer).await;
    let address = asked(&second);
    assert!(text(&address["data"]["prompt"]).contains("full address"), "{address}");
    assert_eq!(address["data"]["awaiting_agent_id"], "delivery");

    // Everything is where it was, for whoever comes next.
    assert!(server.process.kill().was_killed());
    let server = place.serve();
    again(&server, &first).await;
    again(&server, &second).await;

    let one = format!(
        "/v1/workflows/support_handoff/requests/{}/responses",
        text(&address["request_id"])
    );
    let third = server.tells(&one, &json!({ "response": "1 Main Street, Springfield" })).await;
    again(&server, &third).await;
    assert!(of_type(&third, "trace.complete").is_empty(), "nothing is asked any more");
    assert_eq!(states(&third), ["IN_PROGRESS", "IDLE"]);
    let end = third.last().unwrap();
    assert_eq!(end["type"], "response.completed");
    assert_eq!(end["response"]["metadata"]["signoff.status"], "completed");
    let run = text(&end["response"]["metadata"]["signoff.run"]);
    let run = server.read(&format!("/v1/runs/{run}")).await;
    assert_eq!(run["pending"], json!([]));
    let said = run["output"]["conversation"].to_string();
    assert!(said.contains("1 Main Street") && !said.contains("handoff_to"), "{said}");
}

#[tokio::test]
async fn executors_and_questions_are_told_with_what_a_form_needs() {
    let server = Place::new().serve();
    let start = json!({ "model": "event_planner", "input": PARTY, "stream": true });
    let events = server.tells("/v1/responses", &start).await;
    let happened: Vec<String> = of_type(&events, "workflow_event.complete")
        .iter()
        .map(|it| {
            format!("{} {}", text(&it["data"]["event_type"]), text(&it["data"]["executor_id"]))
        })
        .collect();
    assert_eq!(happened, ["ExecutorInvokedEvent coordinator", "ExecutorInvokedEvent venue"]);
    let requested = of_type(&events, "request_info.requested")[0];
    assert_eq!(requested["source_executor_id"], "venue");
    let field = &requested["request_schema"]["properties"]["response"];
    assert_eq!(field["type"], "string");
    assert_eq!(field["enum"].as_array().unwrap().len(), 3);
    assert_eq!(requested["response_schema"]["enum"], field["enum"]);
    let call = &of_type(&events, "output_item.done").last().unwrap()["item"];
    assert_eq!((&call["id"], &call["call_id"]), (&requested["item_id"], &requested["request_id"]));
    assert!(events.iter().all(|it| it["item"]["type"] != "executor_action"), "those are for pages");

    let library =
        server.request(Method::POST, "/v1/responses").header("x-stainless-lang", "js").json(&start);
    let theirs = server.told(library).await;
    let foreign = ["trace.", "workflow_event.", "request_info."];
    for event in &theirs {
        let kind = text(&event["type"]);
        assert!(
            !foreign.iter().any(|it| kind.contains(it)),
            "libraries refuse what they do not know: {kind}"
        );
    }
}

#[tokio::test]
async fn a_server_that_stops_breaks_streams_off() {
    let server = Place::new().serve();
    let start = json!({ "model": "slow", "input": "x", "stream": true });
    let mut stream =
        server.request(Method::POST, "/v1/responses").json(&start).send().await.unwrap();
    let id = stream.headers()["x-response-id"].to_str().unwrap().to_owned();
    let first = stream.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains(&id));
    let ended = server.stop();
    assert_eq!(ended.code, Some(0));
    // A clean end would be taken for the end of the response.
    let mut rest = Vec::new();
    let broken = loop {
        match stream.chunk().await {
            Ok(Some(chunk)) => rest.extend(chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(broken, "{}", String::from_utf8_lossy(&rest));
    assert!(!String::from_utf8_lossy(&rest).contains("[DONE]"));
}

fn two(place: &Place) {
    let two = "workflow: two\npattern: graph\nstart: both\nexecutors:\n  both: { transform: input }\n  \
               left: { ask: { prompt: 'Left?', kind: approval } }\n  right: { ask: { prompt: 'Right?', kind: approval } }\n  \
               end: { transform: '\"done\"' }\nedges:\n  - { from: both, to: left }\n  - { from: both, to: right }\n  \
               - { from: [left, right], to: end }\n";
    std::fs::write(place.path("flows/two.yaml"), two).unwrap();
}

async fn refused(server: &Server, path: &str, body: &Value) -> (u16, String) {
    let (status, answer) = server.post(path, body).await;
    (status, text(&answer["error"]["code"]).to_owned())
}

#[tokio::test]
async fn answers_are_taken_all_or_none() {
    let place = Place::new();
    two(&place);
    let server = place.serve();
    let start = json!({ "model": "two", "input": "x", "stream": false });
    let (_, waiting) = server.post("/v1/responses", &start).await;
    let pending = text(&waiting["metadata"]["signoff.pending"]).to_owned();
    let (left, right) = pending.split_once(',').unwrap();
    let send = "/v1/workflows/two/send_responses";
    let say = |responses: Value| json!({ "responses": responses, "stream": false });

    let wrong = say(json!({ left: "yes", right: "perhaps" }));
    assert_eq!(refused(&server, send, &wrong).await, (422, "invalid_answer".into()));
    let unknown = say(json!({ left: "yes", "req_nope_1": "yes" }));
    assert_eq!(refused(&server, send, &unknown).await, (404, "unknown_request".into()));
    let other = "/v1/workflows/event_planner/send_responses";
    let foreign = say(json!({ left: "yes" }));
    assert_eq!(refused(&server, other, &foreign).await, (404, "unknown_request".into()));
    let elsewhere = json!({ "responses": { left: "yes" }, "conversation": "elsewhere" });
    assert_eq!(refused(&server, send, &elsewhere).await, (404, "unknown_request".into()));
    let nowhere = refused(&server, "/v1/workflows/nope/send_responses", &foreign).await;
    assert_eq!(nowhere, (404, "unknown_workflow".into()));
    for bad in [
        json!({}),
        json!({ "responses": {} }),
        json!({ "responses": [left] }),
        json!({ "input": 7 }),
    ] {
        assert_eq!(refused(&server, send, &bad).await, (400, "invalid_body".into()), "{bad}");
    }
    let many: serde_json::Map<String, Value> =
        (0..257).map(|no| (format!("req_x_{no}"), json!("yes"))).collect();
    assert_eq!(refused(&server, send, &say(many.into())).await, (400, "invalid_body".into()));
    let several = json!({ "input": "yes" });
    assert_eq!(refused(&server, send, &several).await, (422, "ambiguous_answer".into()));
    let count = server.read("/v1/requests/count?status=pending").await;
    assert_eq!(count["count"], 2, "nothing was changed");

    let (status, part) = server.post(send, &say(json!({ left: { "approved": true } }))).await;
    assert_eq!(
        (status, text(&part["metadata"]["signoff.pending"])),
        (200, right),
        "one may be left open"
    );
    let changed = say(json!({ left: "no", right: "yes" }));
    assert_eq!(refused(&server, send, &changed).await, (409, "already_decided".into()));
    let one = format!("/v1/workflows/two/requests/{right}/responses");
    assert_eq!(
        refused(&server, &one, &json!({ "stream": false })).await,
        (400, "invalid_body".into())
    );
    assert_eq!(refused(&server, &one, &json!("perhaps")).await, (422, "invalid_answer".into()));
    // The only one that waits is meant.
    let (_, done) = server.post(send, &json!({ "input": "no", "stream": false })).await;
    assert_eq!(done["metadata"]["signoff.status"], "completed", "{done}");
    assert_eq!(
        refused(&server, send, &json!({ "input": "no" })).await,
        (404, "unknown_request".into())
    );
    let over = json!({ "input": "x", "conversation": done["conversation"] });
    assert_eq!(refused(&server, send, &over).await, (404, "unknown_request".into()));
}

#[tokio::test]
async fn what_is_anothers_is_not_there() {
    let place = Place::new();
    let add = |name: &str| {
        let mut command = place.command(&["user", "add", name, "--tenant", name]);
        String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let (zoe, bob) = (add("zoe"), add("bob"));
    let server = place.serve();
    let ask = |token: &str, method: Method, path: &str, body: &Value| {
        let request = server.request(method, path).bearer_auth(token).json(body);
        async {
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            (status, serde_json::from_str::<Value>(&response.text().await.unwrap()).unwrap())
        }
    };
    let start = json!({
        "metadata": { "entity_id": "ask" }, "input": r#"{"input":"x"}"#, "conversation": "theirs",
    });
    let (_, waiting) = ask(&zoe, Method::POST, "/v1/responses", &start).await;
    let request = text(&waiting["metadata"]["signoff.pending"]);
    let list = "/v1/conversations/theirs/items?limit=100";
    let (_, items) = ask(&zoe, Method::GET, list, &json!({})).await;
    let place =
        items["data"].as_array().unwrap().iter().find(|it| it["type"] == "checkpoint").unwrap();
    let send = "/v1/workflows/ask/send_responses";
    let one = format!("/v1/workflows/ask/requests/{request}/responses");
    let item = format!("/v1/conversations/theirs/items/{}", text(&place["id"]));
    let again = json!({
        "metadata": { "entity_id": "ask" }, "input": "{}",
        "extra_body": { "checkpoint_id": place["checkpoint_id"] },
    });
    for (method, path, body) in [
        (Method::POST, send, json!({ "responses": { request: "yes" } })),
        (Method::POST, send, json!({ "input": "yes" })),
        (Method::POST, send, json!({ "input": "yes", "conversation": "theirs" })),
        (Method::POST, &*one, json!("yes")),
        (Method::POST, "/v1/responses", again),
        (Method::GET, &*item, json!({})),
        (Method::DELETE, "/v1/conversations/theirs", json!({})),
    ] {
        let (status, error) = ask(&bob, method, path, &body).await;
        assert_eq!(status, 404, "{path} {body}: {error}");
    }
    let (_, listed) = ask(&bob, Method::GET, "/v1/conversations", &json!({})).await;
    assert_eq!(listed["data"], json!([]));
    let (_, listed) = ask(&zoe, Method::GET, "/v1/conversations", &json!({})).await;
    assert_eq!(listed["data"][0]["id"], "theirs");
    let (_, after) = ask(&zoe, Method::GET, &format!("/v1/requests/{request}"), &json!({})).await;
    assert_eq!(after["status"], "pending");
}

#[tokio::test]
async fn both_are_answered_at_once() {
    let place = Place::new();
    two(&place);
    let server = place.serve();
    let start = json!({ "model": "two", "input": "x", "stream": true, "conversation": "c2" });
    let first = server.tells("/v1/responses", &start).await;
    let infos = of_type(&first, "trace.complete");
    let responses: serde_json::Map<String, Value> = infos
        .iter()
        .map(|it| {
            (text(&it["data"]["data"]["request_info"]["request_id"]).to_owned(), json!("yes"))
        })
        .collect();
    assert_eq!(responses.len(), 2);
    let answers = json!({ "responses": responses, "conversation": "c2" });
    let done = server.tells("/v1/workflows/two/send_responses", &answers).await;
    assert_eq!(done.last().unwrap()["response"]["output"][0]["content"][0]["text"], "done");
    let (_, again) = server
        .post(
            "/v1/workflows/two/send_responses",
            &json!({ "responses": responses, "stream": false }),
        )
        .await;
    assert_eq!(again["id"], done[0]["response"]["id"], "the same again is the same response");
}

#[tokio::test]
async fn a_tool_call_is_approved_as_one() {
    for (approved, told) in [(true, "approved"), (false, "rejected")] {
        let place = Place::new();
        let gate = "  - { name: before_file_edit }\n";
        let server = crate::gates::clerk(&place, gate, crate::gates::WRITE);
        let start =
            json!({ "model": "clerk", "input": "go", "stream": true, "conversation": "c1" });
        let first = server.tells("/v1/responses", &start).await;
        let asked = of_type(&first, "function_approval.requested");
        let (asked, call) = (asked[0], &asked[0]["function_call"]);
        assert_eq!(call["name"], "write_file", "{asked}");
        assert_eq!(call["arguments"], json!({ "path": "a.txt", "content": "hello" }));
        let part = json!({
            "type": "function_approval_response",
            "request_id": asked["request_id"],
            "approved": approved,
        });
        let answer = json!({
            "model": "clerk",
            "input": [{ "type": "message", "role": "user", "content": [part] }],
            "stream": true,
            "conversation": "c1",
        });
        let second = server.tells("/v1/responses", &answer).await;
        let responded = of_type(&second, "function_approval.responded");
        assert_eq!(responded.len(), 1, "{told}: {second:?}");
        assert_eq!(responded[0]["request_id"], asked["request_id"]);
        assert_eq!(place.path("workspace/a.txt").exists(), approved, "{told}");
    }
}
