//! MCP clients ask people: the reference libraries against the real binary, over HTTP and a pipe.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use signoff_testkit::Process;
use signoff_testkit::peers::{copied, python};

use crate::access::add;
use crate::mcp_support::{Mcp, answer, over_http, over_stdio, run, waiting, with};
use crate::support::{Place, text};

/// A place where a call waits no longer than this.
pub(crate) fn patient(wait: &str, more: &str) -> Place {
    let place = Place::new();
    let config = format!("[mcp_server]\nwait = \"{wait}\"\n{more}\n");
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    place
}

#[test]
fn a_person_answers_while_the_call_waits() {
    let place = Place::new();
    let server = place.serve();
    let piped = over_stdio(&place, &["--server", &server.url]);
    for settings in [over_http(&server), over_stdio(&place, &[]), piped] {
        for sdk in [1, 2] {
            let mut client = Mcp::connect(&with(settings.clone(), json!({ "sdk": sdk })));
            assert_eq!(client.ready["server"]["name"], "signoff");
            assert!(text(&client.ready["instructions"]).contains("ask_human"));
            let asked =
                client.call("ask_human", json!({ "question": "Which port?", "agent": "builder" }));
            let request = &waiting(&place, 1)[0];
            assert_eq!(request["prompt"], "Which port?");
            assert_eq!(request["workflow"], "ask_human");
            assert_eq!(request["agent_path"], json!(["test-client", "builder"]));
            assert!(text(&request["reasons"][0]).contains("its own word"), "{request}");
            answer(&place, request, "8080");
            let said = client.result(asked);
            assert_eq!(said["status"], "answered");
            assert_eq!((&said["answer"], &said["by"]), (&json!("8080"), &json!("local")));
            assert_eq!(said["request"], request["id"]);
        }
    }
}

#[test]
fn the_library_for_python_asks() {
    let place = Place::new();
    let server = place.serve();
    let python = python(&copied("mcp-python"), "mcp");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/mcp/client.py");
    for way in [format!("{}/mcp", server.url), env!("CARGO_BIN_EXE_signoff").to_owned()] {
        let mut command = Command::new(&python);
        command.arg("-B").arg(&script).arg(way).current_dir(place.path(""));
        let mut asks = Process::start(&mut command);
        let request = waiting(&place, 1).remove(0);
        answer(&place, &request, r#"{"n": 7}"#);
        let said = asks.json();
        assert_eq!((&said["answer"], &said["request"]), (&json!({ "n": 7 }), &request["id"]));
    }
}

#[test]
fn a_question_outlives_the_server_that_asked_it() {
    let place = patient("3s", "");
    let server = place.serve();
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut client = Mcp::connect(&over_http(&server));
    let question =
        json!({ "question": "Ship it?", "options": ["now", "later"], "idempotency_key": "ship" });
    let cut_off =
        json!({ "op": "call", "name": "ask_human", "arguments": question, "timeout": 6000 });
    let asked = client.begin(cut_off);
    let request = waiting(&place, 1).remove(0);
    server.process.kill();
    let server = place.serve_at(&address, &[]);
    // The call that was cut off ends in some way; the same client, in the same session, calls again.
    client.end(asked);
    let pending = client.get("ask_human", question.clone());
    assert_eq!(pending["status"], "pending", "{pending}");
    assert_eq!(pending["request"], request["id"], "it was asked once");
    assert!(text(&pending["next"]).contains("get_answer"));
    assert_eq!(pending["address"], format!("/v1/requests/{}", text(&request["id"])));
    answer(&place, &request, "later");
    for _ in 0..2 {
        assert_eq!(client.get("ask_human", question.clone())["answer"], "later");
        let said = client.get("get_answer", json!({ "request": request["id"] }));
        assert_eq!(said["answer"], "later");
    }
    let error =
        client.refusal("ask_human", json!({ "question": "Other?", "idempotency_key": "ship" }));
    assert_eq!(error["code"], "idempotency_conflict");
    assert_eq!(run(&place, &["runs", "--json"]).lines().count(), 1);
    drop(server);
}

#[test]
fn a_question_outlives_the_process_of_its_client() {
    let place = patient("30s", "");
    let mut client = Mcp::connect(&over_stdio(&place, &[]));
    client.call("request_approval", json!({ "action": "Drop it", "idempotency_key": "k" }));
    let request = waiting(&place, 1).remove(0);
    client.kill();
    // Nobody who asked is there; a person answers all the same.
    answer(&place, &request, "yes");
    let mut client = Mcp::connect(&over_stdio(&place, &[]));
    let said =
        client.get("request_approval", json!({ "action": "Drop it", "idempotency_key": "k" }));
    assert_eq!((&said["approved"], &said["decision"]), (&json!(true), &json!("approve")));
    assert_eq!(said["request"], request["id"]);
}

#[test]
fn an_approval_may_change_what_is_done_or_forbid_it() {
    let place = Place::new();
    let server = place.serve();
    let mut client = Mcp::connect(&over_http(&server));
    let action = json!({
        "action": "Delete old rows", "arguments": { "table": "logs", "rows": 500 },
        "reason": "they are old", "preview": "500 of 900 rows go", "risk": "high",
    });
    let asked = client.call("request_approval", action.clone());
    let request = waiting(&place, 1).remove(0);
    assert_eq!((&request["kind"], &request["risk"]), (&json!("approval"), &json!("high")));
    assert_eq!(request["context"]["proposal"], action["arguments"]);
    assert_eq!(request["context"]["preview"], "500 of 900 rows go");
    assert_eq!(request["preview"], Value::Null, "what the model shows is not the system's word");
    answer(&place, &request, r#"{"table":"logs","rows":10}"#);
    let said = client.result(asked);
    assert_eq!((&said["approved"], &said["decision"]), (&json!(true), &json!("edit")));
    assert_eq!(said["value"], json!({ "table": "logs", "rows": 10 }));
    assert_eq!(said["digest"], request["context"]["digest"]);

    let asked = client.call("request_approval", action.clone());
    answer(&place, &waiting(&place, 1)[0], "no, not on a Friday");
    let said = client.result(asked);
    assert_eq!((&said["approved"], &said["decision"]), (&json!(false), &json!("reject")));
    assert_eq!(said["reason"], "not on a Friday");
    assert_eq!(said["value"], Value::Null);

    let asked = client.call("request_approval", action);
    answer(&place, &waiting(&place, 1)[0], "yes");
    let said = client.result(asked);
    assert_eq!(said["value"], json!({ "table": "logs", "rows": 500 }), "as it was shown");
}

#[test]
fn nobody_answers_in_time() {
    let place = Place::new();
    let server = place.serve();
    for settings in [over_http(&server), over_stdio(&place, &[])] {
        let mut client = Mcp::connect(&settings);
        let said = client.get("request_approval", json!({ "action": "x", "within": "300ms" }));
        assert_eq!((&said["status"], &said["approved"]), (&json!("expired"), &json!(false)));
        let said = client.get("ask_human", json!({ "question": "x", "within": "300ms" }));
        assert_eq!(said["status"], "expired");
        assert!(text(&said["next"]).contains("do not make one up"));
    }
}

#[test]
fn a_client_that_gives_up_leaves_the_question() {
    let place = Place::new();
    let server = place.serve();
    let mut client = Mcp::connect(&over_http(&server));
    let asked = client.begin(json!({ "op": "call", "name": "ask_human", "arguments": { "question": "Still?" }, "progress": true }));
    let request = waiting(&place, 1).remove(0);
    let told = client.told(|it| it["event"] == "progress");
    assert!(text(&told["message"]).contains("waits for a person"), "{told}");
    client.begin(json!({ "op": "abort" }));
    drop(client);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(waiting(&place, 1)[0]["id"], request["id"]);
    answer(&place, &request, "yes");
    let mut client = Mcp::connect(&over_http(&server));
    let said = client.get("get_answer", json!({ "request": request["id"] }));
    assert_eq!(said["answer"], "yes");
    let _ = asked;
}

#[test]
fn tools_say_what_they_are() {
    let place = Place::new();
    let server = place.serve();
    let mut client = Mcp::connect(&over_http(&server));
    let id = client.begin(json!({ "op": "list" }));
    let tools = client.end(id)["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "ask_human",
            "request_approval",
            "get_answer",
            "start_workflow",
            "get_run",
            "list_runs",
            "get_request",
            "list_requests",
            "list_workflows",
        ],
        "and nothing that decides"
    );
    for tool in &tools {
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert!(!tool["inputSchema"].to_string().contains("$ref"), "{tool}");
        jsonschema::validator_for(&tool["outputSchema"]).unwrap();
        let looks = !["ask_human", "request_approval", "start_workflow"]
            .contains(&tool["name"].as_str().unwrap());
        assert_eq!(tool["annotations"]["readOnlyHint"], looks, "{tool}");
    }
}

#[test]
fn workflows_are_started_and_looked_at() {
    let place = Place::new();
    let server = place.serve();
    let mut client = Mcp::connect(&over_http(&server));
    // The library holds every result against the schema that the tool has for it.
    let id = client.begin(json!({ "op": "list" }));
    client.end(id);
    let there = client.get("list_workflows", json!({}));
    let there: Vec<&str> =
        there["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(there.contains(&"ask") && !there.contains(&"ask_human"), "{there:?}");
    let started = client
        .get("start_workflow", json!({ "workflow": "ask", "input": "x", "idempotency_key": "a" }));
    let request = waiting(&place, 1).remove(0);
    let run = client.get("get_run", json!({ "run": started["id"] }));
    assert_eq!((&run["status"], &run["pending"][0]), (&json!("waiting"), &request["id"]));
    assert_eq!(client.get("get_request", json!({ "request": request["id"] }))["prompt"], "Well?");
    let found = client.get("list_requests", json!({ "status": "pending", "run": started["id"] }));
    assert_eq!(found["data"][0]["id"], request["id"]);
    assert_eq!(
        client.get("list_runs", json!({ "workflow": "ask" }))["data"][0]["id"],
        started["id"]
    );
    let id = client.begin(
        json!({ "op": "read", "uri": format!("signoff://requests/{}", text(&request["id"])) }),
    );
    let read = client.end(id)["result"]["contents"][0]["text"].clone();
    assert!(text(&read).contains("Well?"), "{read}");
    let id = client.begin(json!({ "op": "templates" }));
    assert_eq!(client.end(id)["result"]["resourceTemplates"].as_array().unwrap().len(), 2);
    let id = client.begin(json!({ "op": "read", "uri": "signoff://runs/run_nope" }));
    assert_eq!(client.end(id)["event"], "error");
    answer(&place, &request, "yes");
    let said = client.get("get_answer", json!({ "request": request["id"] }));
    assert_eq!(said["approved"], true);
}

#[test]
fn what_cannot_be_asked_is_told_to_the_model() {
    let place = Place::new();
    let server = place.serve();
    let mut client = Mcp::connect(&over_http(&server));
    let deep = json!({ "type": "object", "properties": { "a": { "type": "nonsense" } } });
    for (tool, arguments, code, said) in [
        ("ask_human", json!({}), "invalid_body", "missing field `question`"),
        ("ask_human", json!({ "question": "" }), "invalid_body", "empty"),
        ("ask_human", json!({ "qestion": "x" }), "invalid_body", "unknown field `qestion`"),
        (
            "ask_human",
            json!({ "question": "x", "schema": deep }),
            "invalid_body",
            "`schema` cannot be used",
        ),
        (
            "ask_human",
            json!({ "question": "x", "options": ["a"], "schema": {} }),
            "invalid_body",
            "leave `schema` out",
        ),
        (
            "ask_human",
            json!({ "question": "x", "within": "soon" }),
            "invalid_body",
            "length of time",
        ),
        (
            "ask_human",
            json!({ "question": "x", "context": { "digest": "y" } }),
            "invalid_body",
            "only the system",
        ),
        (
            "ask_human",
            json!({ "question": "x", "idempotency_key": "" }),
            "invalid_body",
            "between 1 and 255",
        ),
        (
            "request_approval",
            json!({ "action": "x", "risk": "none" }),
            "invalid_body",
            "unknown variant `none`",
        ),
        (
            "get_answer",
            json!({ "request": "req_nope_1" }),
            "unknown_request",
            "there is no request",
        ),
        ("get_answer", json!({ "request": "nope" }), "unknown_request", "there is no request"),
        (
            "start_workflow",
            json!({ "workflow": "aks", "input": "x" }),
            "unknown_workflow",
            "there is no workflow",
        ),
        ("list_runs", json!({ "limit": 0 }), "invalid_body", "`limit`"),
    ] {
        let error = client.refusal(tool, arguments.clone());
        assert_eq!(error["code"], code, "{arguments}: {error}");
        assert!(text(&error["message"]).contains(said), "{arguments}: {error}");
    }
    assert_eq!(run(&place, &["runs", "--json"]), "", "nothing was asked");
    let id = client.call("answer_request", json!({ "request": "x" }));
    assert_eq!(client.end(id)["event"], "error", "there is no tool that decides");
}

#[test]
fn what_is_anothers_is_not_there() {
    let place = patient("1s", "");
    let (ada, bob) =
        (add(&place, &["ada", "--tenant", "a"]), add(&place, &["bob", "--tenant", "b"]));
    let server = place.serve();
    let refused = Mcp::try_connect(&over_http(&server)).err().unwrap();
    assert!(text(&refused["message"]).contains("401") || refused["code"] == 401, "{refused}");
    let as_user = |token: &str| Mcp::connect(&with(over_http(&server), json!({ "token": token })));
    let (mut by_ada, mut by_bob) = (as_user(&ada), as_user(&bob));
    let question = json!({ "question": "Mine?", "idempotency_key": "same" });
    let hers = by_ada.get("ask_human", question.clone());
    let his = by_bob.get("ask_human", question);
    assert_ne!(hers["run"], his["run"], "a key means nothing to another");
    for (tool, arguments) in [
        ("get_answer", json!({ "request": hers["request"] })),
        ("get_request", json!({ "request": hers["request"] })),
        ("get_run", json!({ "run": hers["run"] })),
    ] {
        assert!(text(&by_bob.refusal(tool, arguments)["code"]).starts_with("unknown_"), "{tool}");
    }
    let found = by_bob.get("list_requests", json!({}));
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    let run = by_ada.get("get_run", json!({ "run": hers["run"] }));
    assert_eq!(run["by"], "ada", "the actor is the user of the token");
}
