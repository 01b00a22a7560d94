//! Who may decide, how many must agree, and who is asked when nobody answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::process::PATIENCE;

use crate::access::{add, get, post};
use crate::gates::{WRITE, clerk};
use crate::support::{Client, Place, Stream, text};

const APPROVE: &str = r#"{"decision":"approve"}"#;

/// The request that a run waits for, once it waits for another than `not`.
pub(crate) async fn pending(client: &Client, token: &str, run: &str, not: &str) -> Value {
    let since = Instant::now();
    loop {
        let (_, found) = get(client, token, &format!("/v1/runs/{run}")).await;
        if let Some(request) = found["pending"][0].as_str().filter(|it| *it != not) {
            return get(client, token, &format!("/v1/requests/{request}")).await.1;
        }
        assert!(since.elapsed() < PATIENCE, "{found}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn decide(client: &Client, token: &str, request: &Value, decision: &str) -> (u16, Value) {
    let path = format!("/v1/requests/{}/decision", text(&request["id"]));
    post(client, token, &path, serde_json::from_str(decision).unwrap()).await
}

pub(crate) async fn start(client: &Client, token: &str) -> String {
    let body = json!({ "workflow": "clerk", "input": "go" });
    text(&post(client, token, "/v1/runs", body).await.1["id"])
}

#[tokio::test]
async fn only_those_who_are_asked_decide() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--role", "owner"]);
    let bob = add(&place, &["bob", "--role", "owner"]);
    let cid = add(&place, &["cid", "--role", "intern"]);
    let gate = "  - { name: before_file_edit, who: { roles: [owner], not_initiator: true } }\n";
    let server = clerk(&place, gate, WRITE);
    let run = start(&server, &ann).await;
    let request = pending(&server, &ann, &run, "").await;
    assert_eq!(request["who"], "role owner, not whoever started the run");
    for (token, status, code, decision) in [
        (&cid, 403, "not_asked", APPROVE),
        (&ann, 403, "own_run", APPROVE),
        (&bob, 422, "decision_not_allowed", r#"{"decision":"redo"}"#),
    ] {
        let (found, refused) = decide(&server, token, &request, decision).await;
        assert_eq!((found, &refused["error"]["code"]), (status, &json!(code)), "{refused}");
    }
    assert_eq!(pending(&server, &ann, &run, "").await["version"], 1, "nothing changed");
    let (status, decided) = decide(&server, &bob, &request, APPROVE).await;
    assert_eq!((status, &decided["decision"]["by"]), (200, &json!("bob")));
}

#[tokio::test]
async fn several_must_agree_and_one_may_veto() {
    let place = Place::new();
    let names = ["ann", "bob", "cid"];
    let tokens = names.map(|name| add(&place, &[name]));
    let gate = "  - { name: before_file_edit, who: { count: 2 } }\n";
    let server = clerk(&place, gate, WRITE);
    let run = start(&server, &tokens[0]).await;
    let request = pending(&server, &tokens[0], &run, "").await;
    for _ in 0..2 {
        let (status, voted) = decide(&server, &tokens[0], &request, APPROVE).await;
        assert_eq!((status, &voted["status"]), (202, &json!("pending")), "{voted}");
    }
    let path = format!("/v1/requests/{}", text(&request["id"]));
    let seen = get(&server, &tokens[2], &path).await.1;
    assert_eq!(seen["notes"][0]["what"], "voted", "{seen}");
    assert_eq!((&seen["notes"][0]["by"], &seen["notes"][1]), (&json!("ann"), &Value::Null));
    assert!(!place.path("workspace/a.txt").exists());
    assert_eq!(decide(&server, &tokens[1], &request, APPROVE).await.0, 200);
    let (status, late) = decide(&server, &tokens[2], &request, APPROVE).await;
    assert_eq!((status, &late["error"]["code"]), (409, &json!("already_decided")));

    let run = start(&server, &tokens[0]).await;
    let request = pending(&server, &tokens[0], &run, "").await;
    decide(&server, &tokens[0], &request, APPROVE).await;
    let no = r#"{"decision":"reject","then":"continue"}"#;
    assert_eq!(decide(&server, &tokens[2], &request, no).await.0, 200, "a veto");
}

#[tokio::test]
async fn others_are_asked_when_nobody_answers() {
    let place = Place::new();
    let ann = add(&place, &["ann"]);
    let boss = add(&place, &["boss", "--role", "lead"]);
    let gate = "  - name: before_file_edit\n    who: { users: [ann] }\n    within: 300ms\n    \
                remind: 100ms\n    on_timeout: escalate\n    \
                escalation: [{ who: { roles: [lead] }, within: 1h }]\n";
    let server = clerk(&place, gate, WRITE);
    let run = start(&server, &ann).await;
    let first = pending(&server, &ann, &run, "").await;
    let second = pending(&server, &ann, &run, first["id"].as_str().unwrap()).await;
    assert!(second["reasons"].to_string().contains("nobody answered"), "{second}");
    let (status, late) = decide(&server, &ann, &first, APPROVE).await;
    assert_eq!((status, &late["error"]["code"]), (410, &json!("expired")));
    let (status, refused) = decide(&server, &ann, &second, APPROVE).await;
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("not_asked")));
    let path = format!("/v1/requests/{}", text(&first["id"]));
    let seen = get(&server, &ann, &path).await.1;
    assert!(seen["notes"].to_string().contains("reminded"), "{seen}");
    assert_eq!(decide(&server, &boss, &second, APPROVE).await.0, 200);
    let since = Instant::now();
    while !place.path("workspace/a.txt").exists() {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The first two questions of a run, once both are asked.
async fn two_questions(client: &Client, token: &str, run: &str) -> (Value, Value) {
    let since = Instant::now();
    loop {
        let (_, found) = get(client, token, &format!("/v1/requests?run={run}")).await;
        let asked = found["data"].as_array().cloned().unwrap_or_default();
        if let [first, second] = asked.as_slice() {
            return (first.clone(), second.clone());
        }
        assert!(since.elapsed() < PATIENCE, "{found}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn stages_with_one_clock_are_due_when_they_always_were() {
    let place = Place::new();
    let ann = add(&place, &["ann"]);
    let boss = add(&place, &["boss", "--role", "lead"]);
    let gate = |clock: &str| {
        format!(
            "  - name: before_file_edit\n    who: {{ users: [ann] }}\n    within: 1s\n    remind: 50%\n    \
             on_timeout: escalate\n    clock: {clock}\n    \
             escalation: [{{ who: {{ roles: [lead] }}, within: 1h }}]\n"
        )
    };
    let server = clerk(&place, &gate("shared"), WRITE);
    let run = start(&server, &ann).await;
    let (first, second) = two_questions(&server, &ann, &run).await;
    let due = |request: &Value| {
        let at: jiff::Timestamp = text(&request["expires_at"]).parse().unwrap();
        at.as_millisecond()
    };
    assert_eq!(due(&second) - due(&first), 3_600_000 - 1_000, "both count from the first question");
    // Reminded once, when half of the time was over; then others were asked. All of it is in the record.
    let (_, lines) = get(&server, &boss, "/v1/audit?limit=500").await;
    let of_first =
        lines["data"].as_array().unwrap().iter().filter(|it| it["request"] == first["id"]);
    let said: Vec<&Value> = of_first.map(|it| &it["decision"]).collect();
    let said: Vec<&&Value> = said.iter().filter(|it| it["decision"] != "viewed").collect();
    let escalated = json!({ "decision": "escalated", "stage": 1 });
    let wanted = [json!({ "decision": "reminded" }), json!({ "decision": "expired" }), escalated];
    assert_eq!(said[0]["decision"], "requested");
    assert_eq!(json!(said[1..]), json!(wanted));
    assert_eq!(decide(&server, &boss, &second, APPROVE).await.0, 200);
    server.process.kill();

    // By itself each has all of its time.
    let server = clerk(&place, &gate("reset"), WRITE);
    let run = start(&server, &ann).await;
    let (first, second) = two_questions(&server, &ann, &run).await;
    assert!(due(&second) - due(&first) >= 3_600_000, "{second}");
}

#[tokio::test]
async fn a_vote_is_told_as_what_it_is() {
    let place = Place::new();
    let gate = "  - { name: before_file_edit, who: { count: 2 }, remind: 300ms }\n";
    let server = clerk(&place, gate, WRITE);
    let mut inbox = Stream::open(&server, "/v1/requests/events").await;
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 202);
    let mut seen = Vec::new();
    while !seen.contains(&json!("reminded")) {
        let event = inbox.next().await.unwrap();
        assert_eq!(event.data["request"]["status"], "pending", "{:?}", event.data);
        seen.push(event.data["note"]["what"].clone());
        seen.push(event.data["change"].clone());
    }
    assert!(seen.contains(&json!("voted")) && !seen.contains(&json!("decided")), "{seen:?}");
}
