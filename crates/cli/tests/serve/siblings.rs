//! Several calls of one turn: what a rejection of one means for the others.

use serde_json::{Value, json};

use crate::gates::clerk;
use crate::support::{Place, Server, text};

const THREE: &str = "- { turn: 1, call: [{ tool: write_file, arguments: { path: a.txt, content: a } }, \
                     { tool: write_file, arguments: { path: b.txt, content: b } }, \
                     { tool: write_file, arguments: { path: c.txt, content: c } }] }\n\
                     - { turn: 2, text: done }\n";
const REPLAN: &str = "  - { name: before_file_edit, siblings: replan }\n";

/// The requests of a run, by the file they are about.
async fn asked(server: &Server, run: &str) -> Vec<Value> {
    server.at_rest(run).await;
    let mut found = server.read(&format!("/v1/requests?run={run}")).await["data"].clone();
    let found = found.as_array_mut().unwrap();
    found.sort_by_key(|request| text(&request["context"]["proposal"]["path"]));
    found.clone()
}

/// What the model was told of each call, in order.
async fn told(server: &Server, run: &str) -> Vec<Value> {
    let journal = server.journal(run).await;
    let calls = |entry: &&Value| {
        entry["type"] == "effect"
            && text(&entry["key"]).starts_with("m1/")
            && !text(&entry["key"]).contains('#')
    };
    let mut calls: Vec<Value> = journal.iter().filter(calls).cloned().collect();
    calls.sort_by_key(|entry| text(&entry["key"]));
    calls.into_iter().map(|entry| entry["outcome"].clone()).collect()
}

#[tokio::test]
async fn a_rejection_withdraws_what_nobody_has_decided() {
    let place = Place::new();
    let server = clerk(&place, REPLAN, THREE);
    let run = server.start("clerk", "go").await;
    let requests = asked(&server, &run).await;
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0]["siblings"], "replan");
    assert!(requests.iter().all(|request| request["turn"] == requests[0]["turn"]), "{requests:?}");
    let id = |n: usize| text(&requests[n]["id"]);
    // One is done before; the server dies in between, and the rejection counts for the last one only.
    assert_eq!(server.decide(&id(0), &json!({ "decision": "approve" })).await.0, 200);
    server.at_rest(&run).await;
    assert!(place.path("workspace/a.txt").exists());
    server.process.kill();
    let server = place.serve();
    let reject = json!({ "decision": "reject", "reason": "another way" });
    assert_eq!(server.decide(&id(1), &reject).await.0, 200);
    let (status, late) = server.decide(&id(2), &json!({ "decision": "approve" })).await;
    assert_eq!((status, &late["error"]["code"]), (410, &json!("cancelled")), "{late}");
    assert!(text(&late["error"]["message"]).contains("local rejected another call"), "{late}");
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    let third = server.read(&format!("/v1/requests/{}", id(2))).await;
    assert_eq!(third["status"], "cancelled");
    // The calls of a turn are looked at side by side: which of them asks first is not said.
    let rejected = id(1).rsplit('_').next().unwrap_or_default().to_owned();
    let why = format!("same turn (request {rejected})");
    assert!(text(&third["withdrawn"]).contains(&why), "{third}");
    assert!(place.path("workspace/a.txt").exists(), "what was done stays");
    assert!(!place.path("workspace/b.txt").exists() && !place.path("workspace/c.txt").exists());
    let told = told(&server, &run).await;
    let codes: Vec<&Value> = told.iter().map(|outcome| &outcome["err"]["code"]).collect();
    assert_eq!(codes, [&Value::Null, &json!("denied"), &json!("withdrawn")], "{told:?}");
    assert!(text(&told[2]["err"]["message"]).contains("write_file"), "{told:?}");
    let audit = server.read("/v1/audit").await["data"].to_string();
    assert!(audit.contains("withdrawn"), "{audit}");
}

#[tokio::test]
async fn siblings_are_independent_unless_somebody_says_otherwise() {
    for (gates, wish, left) in [
        ("  - { name: before_file_edit }\n", None, true),
        ("  - { name: before_file_edit }\n", Some("replan"), false),
        (REPLAN, Some("independent"), true),
    ] {
        let place = Place::new();
        let server = clerk(&place, gates, THREE);
        let run = server.start("clerk", "go").await;
        let requests = asked(&server, &run).await;
        let mut reject = json!({ "decision": "reject" });
        if let Some(wish) = wish {
            reject["siblings"] = wish.into();
        }
        let first = text(&requests[0]["id"]);
        assert_eq!(server.decide(&first, &reject).await.0, 200);
        // The same again is a success that changes nothing.
        assert_eq!(server.decide(&first, &reject).await.0, 200);
        let stands = server.at_rest(&run).await;
        assert_eq!(stands["status"] == "waiting", left, "{gates} {wish:?}: {stands}");
        let last = server.read(&format!("/v1/requests/{}", text(&requests[2]["id"]))).await;
        assert_eq!(last["status"], if left { "pending" } else { "cancelled" });
    }
    let place = Place::new();
    let server = clerk(&place, REPLAN, THREE);
    let run = server.start("clerk", "go").await;
    let request = text(&asked(&server, &run).await[0]["id"]);
    let wrong = json!({ "decision": "reject", "siblings": "all" });
    let (status, error) = server.decide(&request, &wrong).await;
    assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_body")), "{error}");
}

#[tokio::test]
async fn what_was_approved_before_is_done_even_if_it_had_not_begun() {
    let place = Place::new();
    let server = clerk(&place, REPLAN, THREE);
    let run = server.start("clerk", "go").await;
    let requests = asked(&server, &run).await;
    let id = |n: usize| text(&requests[n]["id"]);
    // A paused run begins nothing: the approval waits with it.
    assert_eq!(server.post(&format!("/v1/runs/{run}/pause"), &json!({})).await.0, 200);
    assert_eq!(server.decide(&id(2), &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(server.decide(&id(0), &json!({ "decision": "reject" })).await.0, 200);
    assert!(!place.path("workspace/c.txt").exists());
    let resumed = server.post(&format!("/v1/runs/{run}/resume"), &json!({})).await.0;
    assert!([200, 202].contains(&resumed));
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert!(place.path("workspace/c.txt").exists(), "somebody had agreed to it");
    assert!(!place.path("workspace/b.txt").exists());
}

#[tokio::test]
async fn all_that_is_decided_at_once_counts() {
    let place = Place::new();
    let server = clerk(&place, REPLAN, THREE);
    let run = server.start("clerk", "go").await;
    let requests = asked(&server, &run).await;
    let items = json!({ "atomic": true, "items": [
        { "request": requests[0]["id"], "decision": "reject" },
        { "request": requests[1]["id"], "decision": "approve" },
    ]});
    let (status, answer) = server.post("/v1/requests/decisions", &items).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    assert!(place.path("workspace/b.txt").exists() && !place.path("workspace/c.txt").exists());
}
