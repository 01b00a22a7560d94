//! MCP clients that know better than to wait: they ask their own user, or hold a task.

use serde_json::{Value, json};
use signoff_testkit::process::PATIENCE;

use crate::access::add;
use crate::mcp::patient;
use crate::mcp_support::{Mcp, answer, over_http, over_stdio, run, waiting, with};
use crate::support::{Place, text};

fn can_elicit() -> Value {
    json!({ "capabilities": { "elicitation": { "form": {} } } })
}

/// The record of decisions.
fn audit(place: &Place) -> Vec<Value> {
    let said = run(place, &["audit", "export"]);
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_user_of_the_client_answers() {
    let place = Place::new();
    let server = place.serve();
    for settings in [over_http(&server), over_stdio(&place, &[])] {
        for sdk in [1, 2] {
            let settings = with(settings.clone(), with(can_elicit(), json!({ "sdk": sdk })));
            let mut client = Mcp::connect(&settings);
            let asked =
                client.call("ask_human", json!({ "question": "Which?", "options": ["a", "b"] }));
            let form = client.form();
            assert!(text(&form["message"]).contains("Which?"), "{form}");
            assert_eq!(form["requestedSchema"]["properties"]["answer"]["enum"], json!(["a", "b"]));
            let request = waiting(&place, 1).remove(0);
            client.user_says("accept", Some(json!({ "answer": "b" })));
            let said = client.result(asked);
            assert_eq!((&said["answer"], &said["by"]), (&json!("b"), &json!("local")), "sdk {sdk}");
            let line = audit(&place).pop().unwrap();
            assert_eq!(line["request"], request["id"], "{line}");
            assert_eq!(line["decision"]["channel"], "mcp", "by pipe and by network: {line}");
            assert!(
                line.to_string().contains("mcp:test-client"),
                "how it came is on record: {line}"
            );

            let approval = json!({ "action": "Pay", "arguments": { "amount": 12 } });
            let asked = client.call("request_approval", approval.clone());
            let form = client.form();
            assert!(text(&form["message"]).contains("12"), "what is approved is shown: {form}");
            client.user_says("accept", Some(json!({ "decision": "approve", "reason": "fine" })));
            let said = client.result(asked);
            assert_eq!((&said["approved"], &said["note"]), (&json!(true), &json!("fine")));

            let asked = client.call("request_approval", approval);
            client.form();
            client.user_says("decline", None);
            assert_eq!(client.result(asked)["approved"], false, "to decline is to say no");
        }
    }
}

#[test]
fn whoever_answers_first_has_decided() {
    let place = Place::new();
    let server = place.serve();
    for settings in [over_stdio(&place, &[]), over_http(&server)] {
        let mut client = Mcp::connect(&with(settings, can_elicit()));
        let asked = client.call("ask_human", json!({ "question": "Who?" }));
        client.form();
        answer(&place, &waiting(&place, 1)[0], "me");
        let said = client.result(asked);
        assert_eq!(said["answer"], "me");
        client.told(|it| it["event"] == "elicit_cancelled");
        // What the user says now comes too late, and changes nothing.
        client.user_says("accept", Some(json!({ "answer": "late" })));
        let again = client.get("get_answer", json!({ "request": said["request"] }));
        assert_eq!(again["answer"], "me");
    }
}

#[test]
fn a_form_that_is_put_away_leaves_the_question_to_others() {
    let place = patient("20s", "");
    let server = place.serve();
    for (sdk, action) in [(1, "cancel"), (1, "decline"), (2, "cancel")] {
        let settings = with(over_http(&server), with(can_elicit(), json!({ "sdk": sdk })));
        let mut client = Mcp::connect(&settings);
        let asked = client.call("ask_human", json!({ "question": "Hm?" }));
        client.form();
        client.user_says(action, None);
        answer(&place, &waiting(&place, 1)[0], "then I will");
        assert_eq!(client.result(asked)["answer"], "then I will", "{sdk} {action}");
    }
}

#[test]
fn a_form_survives_the_server() {
    let place = patient("20s", "");
    let server = place.serve();
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let settings = with(over_http(&server), with(can_elicit(), json!({ "sdk": 2 })));
    let mut client = Mcp::connect(&settings);
    let asked = client.call("ask_human", json!({ "question": "Still there?" }));
    client.form();
    server.process.kill();
    let server = place.serve_at(&address, &[]);
    client.user_says("accept", Some(json!({ "answer": "yes" })));
    assert_eq!(client.result(asked)["answer"], "yes", "asked by one server, answered to another");
    assert_eq!(run(&place, &["runs", "--json"]).lines().count(), 1);
    drop(server);
}

#[test]
fn with_users_a_client_may_not_answer_its_own_question() {
    for (allowed, more) in [(false, ""), (true, "client_answers = true")] {
        let place = patient("1s", more);
        let ada = add(&place, &["ada"]);
        let server = place.serve();
        for sdk in [1, 2] {
            let who = json!({ "token": ada, "sdk": sdk });
            let mut client = Mcp::connect(&with(over_http(&server), with(can_elicit(), who)));
            client.user_says("accept", Some(json!({ "decision": "approve" })));
            let said = client.get("request_approval", json!({ "action": "Anything" }));
            assert_eq!(client.has_told("elicit"), allowed, "sdk {sdk}");
            let status = if allowed { "answered" } else { "pending" };
            assert_eq!(said["status"], status, "sdk {sdk}: {said}");
            // Somebody else must decide: then the user of the client is never asked.
            let other =
                json!({ "action": "More", "who": { "roles": ["lead"], "not_initiator": true } });
            let said = client.get("request_approval", other);
            assert_eq!((&said["status"], &said["approved"]), (&json!("pending"), &json!(false)));
        }
    }
}

/// A request of 2026-07-28, by hand: the libraries leave no room for lies.
async fn post(
    server: &crate::support::Server,
    token: &str,
    method: &str,
    name: &str,
    params: Value,
) -> (u16, Value) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "by-hand", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": { "form": {} },
        },
    });
    let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
    let mut params = with(params, json!({ "_meta": meta }));
    if params["tasks"] == true {
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "extensions": tasks });
    }
    params.as_object_mut().unwrap().remove("tasks");
    let mut request = server
        .request(reqwest::Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name)
        .timeout(PATIENCE)
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    if !token.is_empty() {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let body = response.text().await.unwrap();
    let data = body.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&body);
    (status, serde_json::from_str(data).unwrap_or_else(|_| json!({ "text": body })))
}

#[tokio::test]
async fn what_a_client_keeps_counts_for_its_own_call_only() {
    let place = patient("1s", "client_answers = true");
    let (ada, bob) = (add(&place, &["ada"]), add(&place, &["bob"]));
    let server = place.serve();
    let call = json!({ "name": "request_approval", "arguments": { "action": "Pay" } });
    let (_, asked) = post(&server, &ada, "tools/call", "request_approval", call.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = asked["result"]["requestState"].clone();
    let yes = json!({ "answer": { "action": "accept", "content": { "decision": "approve" } } });
    let back =
        |state: &Value| with(call.clone(), json!({ "requestState": state, "inputResponses": yes }));
    let mut other = back(&state);
    other["arguments"]["action"] = json!("Pay more");
    let mut altered = text(&state);
    altered.replace_range(3..4, if altered.as_bytes()[3] == b'A' { "B" } else { "A" });
    for (token, params) in [(&bob, back(&state)), (&ada, other), (&ada, back(&json!(altered)))] {
        let (_, said) = post(&server, token, "tools/call", "request_approval", params).await;
        assert_eq!(said["result"]["isError"], true, "{said}");
        assert!(said.to_string().contains("requestState"), "{said}");
    }
    assert_eq!(waiting(&place, 1).len(), 1);
    for _ in 0..2 {
        let (_, said) = post(&server, &ada, "tools/call", "request_approval", back(&state)).await;
        assert_eq!(said["result"]["structuredContent"]["approved"], true, "{said}");
        assert_eq!(said["result"]["structuredContent"]["by"], "ada");
    }
    let no = json!({ "answer": { "action": "decline" } });
    let late = with(call, json!({ "requestState": state, "inputResponses": no }));
    let (_, said) = post(&server, &ada, "tools/call", "request_approval", late).await;
    assert_eq!(said["result"]["structuredContent"]["approved"], true, "it was decided: {said}");
    let words: Vec<Value> =
        audit(&place).iter().map(|line| line["decision"]["decision"].clone()).collect();
    assert_eq!(words, ["requested", "approve"], "once");
}

#[tokio::test]
async fn a_question_is_a_task() {
    let place = Place::new();
    let server = place.serve();
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let call = |question: &str| json!({ "name": "ask_human", "arguments": { "question": question }, "tasks": true });
    let (_, begun) = post(&server, "", "tools/call", "ask_human", call("One?")).await;
    let begun = &begun["result"];
    assert_eq!(
        (&begun["resultType"], &begun["status"]),
        (&json!("task"), &json!("working")),
        "{begun}"
    );
    let task = text(&begun["taskId"]);
    let one = waiting(&place, 1).remove(0);
    assert_eq!(one["run"], task, "a task is the run of its question");
    server.process.kill();
    let server = place.serve_at(&address, &[]);
    let id = |task: &str| json!({ "taskId": task, "tasks": true });
    let (_, stands) = post(&server, "", "tasks/get", &task, id(&task)).await;
    assert_eq!(stands["result"]["status"], "working", "{stands}");
    answer(&place, &one, "first");
    let (_, stands) = post(&server, "", "tasks/get", &task, id(&task)).await;
    assert_eq!(stands["result"]["status"], "completed", "{stands}");
    let result = &stands["result"]["result"];
    assert_eq!(result["structuredContent"]["answer"], "first", "{stands}");

    // Only to cancel takes a question back.
    let (_, begun) = post(&server, "", "tools/call", "ask_human", call("Two?")).await;
    let task = text(&begun["result"]["taskId"]);
    waiting(&place, 1);
    let (status, _) = post(&server, "", "tasks/cancel", &task, id(&task)).await;
    assert_eq!(status, 200);
    waiting(&place, 0);
    let (_, stands) = post(&server, "", "tasks/get", &task, id(&task)).await;
    assert_eq!(stands["result"]["status"], "cancelled", "{stands}");
    // A run that is no question is no task, and neither is nothing.
    let other = server.start("ask", "x").await;
    for wrong in [other.as_str(), "run_nope"] {
        let (_, said) = post(&server, "", "tasks/get", wrong, id(wrong)).await;
        assert!(said["error"]["code"].is_number(), "{said}");
        let (_, said) = post(&server, "", "tasks/cancel", wrong, id(wrong)).await;
        assert!(said["error"]["code"].is_number(), "{said}");
    }
    assert_eq!(server.read(&format!("/v1/runs/{other}")).await["status"], "waiting");
}
