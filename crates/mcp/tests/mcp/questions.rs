//! Tools that ask people, in both ways the protocol has known.

use serde_json::json;
use signoff_core::{Decision, RequestKind};

use crate::support::{answered, asks, call, converse, fake, gives, reject, source};

#[tokio::test]
async fn questions_in_the_middle_of_a_call_are_answered_in_order() {
    let who = asks(&fake("older", ""), "fake_twice", &[]).await;
    assert_eq!((who.request.kind, who.request.prompt.as_str()), (RequestKind::Input, "Who?"));
    let first = answered(&who, Some(Decision::respond(json!({ "name": "Bo", "age": 4 }))));
    let sure = asks(&fake("older", ""), "fake_twice", std::slice::from_ref(&first)).await;
    assert_eq!(sure.request.kind, RequestKind::Approval);
    assert_eq!(sure.request.prompt, "Is it Bo?");
    let second = answered(&sure, Some(Decision::approve()));
    let source = fake("older", "");
    let rounds = [first.clone(), second];
    assert_eq!(gives(&source, "fake_twice", &rounds).await, "Bo accept true");
    let refused = [first, answered(&sure, Some(reject()))];
    assert_eq!(gives(&source, "fake_twice", &refused).await, "Bo decline undefined");
    assert_eq!(gives(&source, "fake_twice", &[answered(&who, None)]).await, "cancel");
}

#[tokio::test]
async fn a_question_that_nobody_has_seen_is_asked_anew() {
    let source = fake("older", "");
    let first = asks(&source, "fake_fickle", &[]).await;
    let answer = Some(Decision::respond(json!({ "n": 1, "m": 2 })));
    let rounds = [answered(&first, answer)];
    let second = asks(&source, "fake_fickle", &rounds).await;
    assert_ne!(first.request.prompt, second.request.prompt);
    assert_ne!(first.state, second.state);
}

#[tokio::test]
async fn without_a_person_the_tool_fails() {
    let source = fake("older", "");
    let error = call(&source, "fake_twice", json!({})).await.unwrap_err();
    assert_eq!(error.0.code, "tool_failed");
    let mute = fake("older", "asks = false");
    assert_eq!(call(&mute, "fake_twice", json!({})).await.unwrap(), "dropped");
}

#[tokio::test]
async fn several_inputs_are_one_request_and_the_state_comes_back() {
    let question = asks(&fake("modern", ""), "fake_book", &[]).await;
    assert_eq!(question.request.response_schema["required"], json!(["meal", "who"]));
    assert!(question.request.prompt.contains("For whom?"));
    let content = json!({ "who": { "name": "Cy", "age": 9 }, "meal": { "meal": "rice" } });
    let round = answered(&question, Some(Decision::respond(content)));
    let source = fake("modern", "");
    assert_eq!(gives(&source, "fake_book", &[round]).await, "seat-7 accept Cy rice");
    let round = answered(&question, Some(reject()));
    assert_eq!(gives(&source, "fake_book", &[round]).await, "seat-7 decline undefined undefined");
}

#[tokio::test]
async fn a_confirmation_is_an_approval_in_the_newer_protocol_as_well() {
    let source = fake("modern", "");
    let question = asks(&source, "fake_pay", &[]).await;
    assert_eq!(question.request.kind, RequestKind::Approval);
    let round = answered(&question, Some(Decision::approve()));
    let yes = r#"{"action":"accept","content":{"agree":true}}"#;
    assert_eq!(gives(&source, "fake_pay", &[round]).await, yes);
    let late = r#"{"action":"cancel"}"#;
    assert_eq!(gives(&source, "fake_pay", &[answered(&question, None)]).await, late);
    assert_eq!(gives(&source, "fake_later", &[]).await, "at last");
}

#[tokio::test]
async fn a_call_that_needs_a_visit_is_made_again_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let here = env!("CARGO_MANIFEST_DIR");
    let text = format!(
        "command = [\"node\", \"{here}/tests/mcp/fake.mjs\", \"older\"]\ncwd = {:?}",
        folder.path()
    );
    let source = source("fake", &text);
    let question = asks(&source, "fake_link", &[]).await;
    assert_eq!(question.request.context["url"], "https://id.example/in?x=1");
    let refused = converse(&source, "fake_link", &[answered(&question, Some(reject()))]).await;
    assert_eq!(refused.unwrap_err().0.code, "tool_failed");
    let round = answered(&question, Some(Decision::respond("done")));
    assert_eq!(gives(&source, "fake_link", &[round]).await, "welcome");
}
