//! What people type, and what it means.

use serde_json::json;

use super::*;
use crate::request::RequestKind;

fn venues() -> RequestBody {
    let choice = |value: &str, label: &str| Choice {
        value: json!(value),
        label: label.to_owned(),
        description: None,
    };
    RequestBody::selection(
        "Which venue?",
        vec![
            choice("foundry", "The Foundry"),
            choice("hall", "Riverside Hall"),
            choice("roof", "Rooftop 21"),
        ],
    )
}

fn budget() -> RequestBody {
    RequestBody::approval("Is this fine?", json!({ "venue": 1200, "food": 900 }))
}

fn reject(reason: Option<&str>) -> Decision {
    Decision::reject(reason.map(str::to_owned), Then::Continue)
}

#[test]
fn a_selection_takes_numbers_values_labels_and_beginnings() {
    let request = venues();
    for text in ["2", "hall", "HALL", "Riverside Hall", "riverside", " ri "] {
        assert_eq!(from_text(&request, text), Ok(Decision::respond("hall")), "{text}");
    }
    for text in ["0", "4", "r", "castle", ""] {
        let problem = from_text(&request, text).unwrap_err();
        assert!(problem.contains("2 (Riverside Hall)"), "{text}: {problem}");
    }
}

#[test]
fn an_approval_takes_yes_no_and_json() {
    let request = budget();
    for text in ["yes", "Y", "ok", "approve", "Yes!"] {
        assert_eq!(from_text(&request, text), Ok(Decision::approve()), "{text}");
    }
    assert_eq!(from_text(&request, "no"), Ok(reject(None)));
    assert_eq!(from_text(&request, "No, too dear"), Ok(reject(Some("too dear"))));
    assert_eq!(from_text(&request, "reject: too dear"), Ok(reject(Some("too dear"))));
    assert_eq!(
        from_text(&request, r#"{"venue": 1000, "food": 900}"#),
        Ok(Decision::Edit { value: json!({ "venue": 1000, "food": 900 }), note: None })
    );
    let problem = from_text(&request, r#"{"venue": "much"}"#).unwrap_err();
    assert!(problem.contains("does not fit") && problem.contains("`yes`"), "{problem}");
}

#[test]
fn a_yes_with_conditions_is_not_a_yes() {
    let request = budget();
    for text in ["yes, if it is cheaper", "ok but less for food", "yes no", "sure"] {
        assert!(from_text(&request, text).is_err(), "{text}");
    }
}

#[test]
fn decisions_by_name() {
    let mut request = RequestBody::input("The step failed.");
    request.kind = RequestKind::StepError;
    request.allowed = vec![DecisionKind::Retry, DecisionKind::Skip, DecisionKind::Abort];
    assert_eq!(from_text(&request, "retry"), Ok(Decision::Retry { feedback: None }));
    assert_eq!(
        from_text(&request, "Retry: slower"),
        Ok(Decision::Retry { feedback: Some("slower".into()) })
    );
    assert_eq!(from_text(&request, "skip"), Ok(Decision::Skip { reason: None }));
    assert_eq!(from_text(&request, "abort"), Ok(Decision::Abort { reason: None }));
    assert!(from_text(&request, "yes").unwrap_err().contains("`retry`"));
    request.allowed.push(DecisionKind::Revise);
    assert_eq!(
        from_text(&request, "yes, but cheaper"),
        Ok(Decision::Revise { feedback: Some("yes, but cheaper".into()) })
    );
}

#[test]
fn free_answers_follow_the_schema() {
    let mut request = RequestBody::input("How many?");
    assert_eq!(from_text(&request, "no"), Ok(Decision::respond("no")));
    assert_eq!(from_text(&request, "42"), Ok(Decision::respond("42")));
    request.response_schema = json!({ "type": "integer" });
    assert_eq!(from_text(&request, "42"), Ok(Decision::respond(42)));
    assert!(from_text(&request, "many").unwrap_err().contains("JSON of type integer"));
    request.response_schema = json!({ "type": "boolean" });
    assert_eq!(from_text(&request, "yes"), Ok(Decision::respond(true)));
    assert_eq!(from_text(&request, "false"), Ok(Decision::respond(false)));
    request.response_schema = json!({ "type": "object", "required": ["a"] });
    assert_eq!(from_text(&request, r#"{"a":1}"#), Ok(Decision::respond(json!({ "a": 1 }))));
    assert!(from_text(&request, "{}").unwrap_err().contains("required"));
}
