//! Several questions at once, and one after another.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use signoff_core::{Decision, RequestKind};

use crate::fake::{Answer, Fake, own_card, taken, task};
use crate::support::{WORKFLOW, at, decide, engine, output, pending, start};

/// A task that asks these questions, one after another, and then gives what it heard.
async fn clerk(questions: Vec<(&'static str, Value)>) -> (Fake, Arc<Mutex<Vec<Value>>>) {
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let said = Arc::clone(&heard);
    let stands = move |said: &[Value]| {
        let mut found = match questions.get(said.len().saturating_sub(1)) {
            Some((state, parts)) => {
                let mut asks = task(state, Some(""));
                asks["status"]["message"] = json!({
                    "messageId": format!("q{}", said.len()), "role": "ROLE_AGENT", "parts": parts,
                });
                asks
            }
            None => task("COMPLETED", Some("thank you")),
        };
        found["history"] = said.to_vec().into();
        found
    };
    let fake = Fake::start(move |port, method, params| {
        let mut said = said.lock().unwrap();
        match method {
            "card" => own_card(port),
            "GetTask" => Answer::Result(stands(&said)),
            "SendMessage" => {
                said.push(params["message"].clone());
                taken(&stands(&said))
            }
            _ => Answer::Error(-32004, "no"),
        }
    })
    .await;
    (fake, heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn several_questions_are_one_request() {
    let parts = json!([
        { "text": "Two things before I go on." },
        { "data": { "requestId": "where", "prompt": "Where to?", "schema": { "type": "string", "minLength": 1 } } },
        { "data": { "requestId": "sure", "schema": { "type": "object" }, "allowed": ["approve", "reject", "abort"] } },
    ]);
    let (fake, heard) = clerk(vec![("INPUT_REQUIRED", parts)]).await;
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), at(fake.port), WORKFLOW);
    let run = start(&engine, "a parcel").await;
    let request = pending(&engine, &run);
    assert_eq!(request.body.response_schema["required"], json!(["where", "sure"]));
    let half = Decision::respond(json!({ "where": "Rome" }));
    assert!(request.body.check(&half).is_err(), "all of them are answered together");
    let whole = json!({ "where": "Rome", "sure": { "decision": "approve" } });
    decide(&engine, &run, Decision::respond(whole)).await;
    assert_eq!(output(&engine, &run), "thank you");
    let answer = heard.lock().unwrap()[1]["parts"].clone();
    assert_eq!(answer[0]["data"], json!({ "requestId": "where", "content": "Rome" }));
    assert_eq!(answer[1]["data"], json!({ "requestId": "sure", "decision": "approve" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_question_follows_another_over_restarts() {
    let questions = vec![
        (
            "INPUT_REQUIRED",
            json!([{ "text": "How much?" }, { "data": { "schema": { "type": "integer" } } }]),
        ),
        ("AUTH_REQUIRED", json!([{ "text": "Please sign in at the bank." }])),
        (
            "INPUT_REQUIRED",
            json!([{ "text": "Go?" }, { "data": { "allowed": ["approve", "reject"] } }]),
        ),
    ];
    let (fake, heard) = clerk(questions).await;
    let folder = tempfile::tempdir().unwrap();
    let first = engine(folder.path(), at(fake.port), WORKFLOW);
    let run = start(&first, "a transfer").await;
    assert_eq!(pending(&first, &run).body.prompt, "How much?");
    assert!(pending(&first, &run).body.check(&Decision::respond("lots")).is_err());
    decide(&first, &run, Decision::respond(120)).await;
    drop(first);
    let second = engine(folder.path(), at(fake.port), WORKFLOW);
    let asked = pending(&second, &run);
    assert!(asked.body.prompt.starts_with("Please sign in at the bank."), "{}", asked.body.prompt);
    decide(&second, &run, Decision::respond("done")).await;
    drop(second);
    let third = engine(folder.path(), at(fake.port), WORKFLOW);
    assert_eq!(pending(&third, &run).body.kind, RequestKind::Approval);
    decide(&third, &run, Decision::approve()).await;
    assert_eq!(output(&third, &run), "thank you");
    let said: Vec<Value> =
        heard.lock().unwrap()[1..].iter().map(|it| it["parts"][0].clone()).collect();
    assert_eq!(said[0]["data"], 120);
    assert_eq!(said[1]["text"], "done");
    assert_eq!(said[2]["data"], json!({ "decision": "approve" }));
    assert_eq!(fake.count("SendMessage"), 4, "one task, and each answer once");
}
