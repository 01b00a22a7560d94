use signoff_core::question::Question;
use signoff_core::{ConversationId, RunId, Tenant, Timestamp};

use super::*;

fn asked(question: &Value) -> Request {
    let run = RunId::from_unique("1");
    Request {
        id: run.request(1),
        version: 1,
        status: RequestStatus::Pending,
        run: run.clone(),
        root: run,
        workflow: "ask_human".into(),
        conversation: ConversationId::from_unique("1"),
        tenant: Tenant::local(),
        assignee: None,
        body: Question::read(question).unwrap().to_request().unwrap(),
        created_at: Timestamp(0),
        decision: None,
        withdrawn: None,
        deferred_until: None,
    }
}

fn accepted(content: Value) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

#[test]
fn forms_and_what_is_said_in_them() {
    let decided = |request: &Request, said| decision(request, said, "editor");
    let text = asked(&json!({ "prompt": "p" }));
    assert_eq!(decided(&text, accepted(json!({ "answer": "x" }))), Some(Decision::respond("x")));
    for action in [ElicitationAction::Decline, ElicitationAction::Cancel] {
        assert_eq!(decided(&text, ElicitResult::new(action)), None);
    }
    let choice = asked(
        &json!({ "prompt": "p", "kind": "selection", "options": [{ "value": 7, "label": "Seven" }] }),
    );
    assert_eq!(
        decided(&choice, accepted(json!({ "answer": "Seven" }))),
        Some(Decision::respond(7))
    );
    assert_eq!(decided(&choice, accepted(json!({ "answer": "Eight" }))), None);
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let object = asked(&json!({ "prompt": "p", "schema": schema }));
    assert_eq!(
        decided(&object, accepted(json!({ "n": 1 }))),
        Some(Decision::respond(json!({ "n": 1 })))
    );
    let approval = asked(&json!({ "prompt": "p", "kind": "approval", "proposal": { "a": 1 } }));
    let yes = accepted(json!({ "decision": "approve", "reason": " fine " }));
    let note = Some("fine".to_owned());
    assert_eq!(decided(&approval, yes), Some(Decision::Approve { note, remember: None }));
    let no = decided(&approval, ElicitResult::new(ElicitationAction::Decline)).unwrap();
    assert_eq!(no.kind(), DecisionKind::Reject);
    assert_eq!(decided(&approval, ElicitResult::new(ElicitationAction::Cancel)), None);
    assert_eq!(decided(&approval, accepted(json!({}))), None);
    for request in [&text, &choice, &object, &approval] {
        assert!(form(request).is_some(), "{request:?}");
    }
}

#[test]
fn what_cannot_be_shown_or_filled_in_is_no_form() {
    let nested = json!({ "type": "object", "properties": { "a": { "type": "object" } } });
    assert!(form(&asked(&json!({ "prompt": "p", "schema": nested }))).is_none());
    assert!(form(&asked(&json!({ "prompt": "p", "schema": { "type": "array" } }))).is_none());
    let long = "x".repeat(MAX_MESSAGE);
    assert!(form(&asked(&json!({ "prompt": "p", "context": long }))).is_none());
}

#[test]
fn a_form_shows_what_is_approved() {
    let request = asked(
        &json!({ "prompt": "Drop?", "kind": "approval", "proposal": { "table": "users" }, "risk": "high" }),
    );
    let shown = message(&request).unwrap();
    assert!(shown.contains("Drop?") && shown.contains("users") && shown.contains("risk: high"));
}
