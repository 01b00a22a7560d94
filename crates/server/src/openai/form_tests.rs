use serde_json::{Value, json};
use signoff_core::request::{Choice, RequestKind};
use signoff_core::{DecisionKind, RequestBody, schema as check};

use super::*;

fn fields(schema: &Value) -> Vec<&str> {
    schema["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

fn option(value: Value, label: &str) -> Choice {
    Choice { value, label: label.into(), description: Some("nice".into()) }
}

#[test]
fn text_is_one_field() {
    let form = schema(&RequestBody::input("Who?"));
    assert_eq!(form["properties"]["response"], json!({ "type": "string", "minLength": 1 }));
    assert_eq!(form["required"], json!(["response"]));
    assert!(form.get("description").is_none(), "there is one way to answer");
    let skippable = RequestBody {
        allowed: vec![DecisionKind::Respond, DecisionKind::Skip],
        ..RequestBody::input("Who?")
    };
    assert!(schema(&skippable)["description"].as_str().unwrap().contains("`skip`"));
}

#[test]
fn a_selection_offers_text() {
    let words = vec![option(json!("a"), "Ay"), option(json!("b"), "Bee")];
    let body = RequestBody::selection("Which?", words);
    let field = &schema(&body)["properties"]["response"];
    assert_eq!(*field, json!({ "type": "string", "enum": ["a", "b"] }));
    assert_eq!(data(&body, None)["options"], json!(["Ay: nice", "Bee: nice"]));
    let numbers = vec![option(json!(1), "One"), option(json!(2), "Two")];
    let body = RequestBody::selection("Which?", numbers);
    assert_eq!(schema(&body)["properties"]["response"]["enum"], json!(["One", "Two"]));
}

#[test]
fn objects_are_asked_for_as_they_are() {
    let wanted = json!({ "type": "object", "properties": { "seats": { "type": "integer" } } });
    let body = RequestBody { response_schema: wanted.clone(), ..RequestBody::input("?") };
    assert_eq!(schema(&body), wanted);
    let body = RequestBody { response_schema: json!({ "type": "object" }), ..body };
    assert_eq!(fields(&schema(&body)), ["response"], "a form needs a field");
}

#[test]
fn nothing_is_approved_by_a_form_that_nobody_touched() {
    let body = RequestBody::approval("Well?", json!({ "total": 5 }));
    let form = schema(&body);
    assert_eq!(fields(&form), ["approved", "comment", "edited"]);
    assert_eq!(form["properties"]["approved"]["default"], json!(false));
    assert_eq!(data(&body, None)["proposal"], json!({ "total": 5 }));
    let plain = RequestBody::approval("Well?", Value::Null);
    assert_eq!(fields(&schema(&plain)), ["approved", "comment"]);
    let doubt = RequestBody {
        kind: RequestKind::InDoubt,
        allowed: vec![DecisionKind::Retry, DecisionKind::Skip, DecisionKind::Abort],
        ..RequestBody::input("It may have happened")
    };
    let names = schema(&doubt)["properties"]["decision"]["enum"].clone();
    assert_eq!(names, json!(["abort", "skip", "retry"]), "the first one is chosen already");
}

#[test]
fn every_form_is_a_schema() {
    let kinds = [DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Revise];
    let plan = RequestBody { allowed: kinds.into(), ..RequestBody::approval("Well?", json!([1])) };
    assert_eq!(fields(&schema(&plan)), ["decision", "comment", "value"]);
    for body in [plan, RequestBody::input("?"), RequestBody::approval("?", json!("text"))] {
        assert!(check::compile(&schema(&body)).is_ok(), "{}", schema(&body));
    }
}

#[test]
fn why_it_is_shown_again_stands_beside_it() {
    let body = RequestBody::input("Who?");
    assert!(data(&body, None).get("notice").is_none());
    let refused = data(&body, Some(Notice::Refused));
    assert!(refused["notice"].as_str().unwrap().contains("accepted: text"), "{refused}");
}
