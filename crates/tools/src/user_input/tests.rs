use super::*;
use proptest::prelude::*;
use signoff_core::decision::Then;
use signoff_core::{DecisionKind, RequestKind};

fn parse(arguments: &Value) -> UserInput {
    UserInput::parse(arguments).unwrap()
}

#[test]
fn a_clarification_takes_text() {
    let ask = parse(&json!({ "prompt": "Which city?", "request_type": "clarification" }));
    let body = ask.to_request().unwrap();
    assert_eq!(body.kind, RequestKind::Input);
    assert_eq!(body.prompt, "Which city?");
    assert_eq!(body.context, Value::Null);
    assert!(body.check(&Decision::respond("Seattle")).is_ok());
    assert!(body.check(&Decision::respond(7)).is_err());
    assert_eq!(ask.result(&Decision::respond("Seattle")), json!({ "answer": "Seattle" }));
}

#[test]
fn a_selection_gives_back_the_whole_option() {
    let venues = json!([
        { "id": "loft", "name": "Pioneer Loft", "capacity": 80, "price": 1500, "tags": ["brick"] },
        { "id": "hall", "name": "Cascade Hall", "description": "Plain and cheap." },
    ]);
    let ask = parse(&json!({
        "prompt": "Which venue?", "context": { "venues": venues, "guests": 30 }, "request_type": "selection"
    }));
    let body = ask.to_request().unwrap();
    assert_eq!(body.kind, RequestKind::Selection);
    assert_eq!(body.options[0].value, json!("loft"));
    assert_eq!(body.options[0].label, "Pioneer Loft");
    assert_eq!(body.options[0].description.as_deref(), Some("capacity: 80, price: 1500"));
    assert_eq!(body.options[1].description.as_deref(), Some("Plain and cheap."));
    assert_eq!(body.context["guests"], 30, "the agent's whole context stays with the request");
    assert!(body.check(&Decision::respond("loft")).is_ok());
    assert!(body.check(&Decision::respond("elsewhere")).is_err());
    assert_eq!(
        ask.result(&Decision::respond("loft")),
        json!({ "answer": "loft", "selected": venues[0] })
    );
}

#[test]
fn options_may_be_plain_text_or_come_as_a_bare_list() {
    for context in [json!({ "options": ["a", "b"] }), json!(["a", "b"]), json!("[\"a\", \"b\"]")] {
        let ask = parse(&json!({ "prompt": "?", "context": context, "request_type": "selection" }));
        let labels: Vec<_> =
            ask.to_request().unwrap().options.into_iter().map(|o| o.label).collect();
        assert_eq!(labels, ["a", "b"]);
        assert_eq!(ask.result(&Decision::respond("b")), json!({ "answer": "b", "selected": "b" }));
    }
}

#[test]
fn an_approval_is_of_something_editable() {
    let proposal = json!({ "venue": 1500, "catering": 750 });
    for key in ["proposal", "allocation"] {
        let ask = parse(&json!({
            "prompt": "Agree?", "context": { key: proposal, "guests": 30 }, "request_type": "approval"
        }));
        let body = ask.to_request().unwrap();
        assert_eq!(body.kind, RequestKind::Approval);
        assert_eq!(body.proposal(), Some(&proposal));
        assert_eq!(body.context["guests"], 30);
        assert!(body.allowed.contains(&DecisionKind::Edit));
        let edit = Decision::Edit { value: json!({ "venue": 1, "catering": 2 }), note: None };
        assert!(body.check(&edit).is_ok());
        assert!(
            body.check(&Decision::Edit { value: json!({ "venue": "x" }), note: None }).is_err()
        );

        assert_eq!(
            ask.result(&Decision::approve()),
            json!({ "decision": "approve", "value": proposal })
        );
        assert_eq!(
            ask.result(&edit),
            json!({ "decision": "edit", "value": { "venue": 1, "catering": 2 } })
        );
        let no = Decision::reject(Some("too dear".into()), Then::Continue);
        assert_eq!(ask.result(&no), json!({ "decision": "reject", "reason": "too dear" }));
    }
}

#[test]
fn an_approval_without_a_proposal_can_only_be_had_or_not() {
    let ask = parse(&json!({ "prompt": "Go ahead?", "request_type": "approval" }));
    let body = ask.to_request().unwrap();
    assert_eq!(body.allowed, [DecisionKind::Approve, DecisionKind::Reject]);
    assert_eq!(ask.result(&Decision::approve()), json!({ "decision": "approve", "value": null }));
}

#[test]
fn an_agent_is_told_what_is_wrong() {
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    let cases = [
        (json!("Which city?"), "must be an object"),
        (json!({ "request_type": "approval" }), "`prompt` is missing"),
        (json!({ "prompt": "  ", "request_type": "approval" }), "`prompt` is missing"),
        (json!({ "prompt": "?" }), "`request_type` must be"),
        (json!({ "prompt": "?", "request_type": "vote" }), "`request_type` must be"),
        (json!({ "prompt": "?", "request_type": "approval", "options": [] }), "unknown argument"),
        (json!({ "prompt": "x".repeat(20_000), "request_type": "approval" }), "ask briefly"),
        (json!({ "prompt": "?", "context": 1, "request_type": "approval" }), "must be an object"),
        (
            json!({ "prompt": "?", "context": { "x": "y".repeat(70_000) }, "request_type": "approval" }),
            "show less",
        ),
        (json!({ "prompt": "?", "request_type": "selection" }), "context.options"),
        (
            json!({ "prompt": "?", "context": { "options": [] }, "request_type": "selection" }),
            "at least one",
        ),
        (
            json!({ "prompt": "?", "context": { "options": "a" }, "request_type": "selection" }),
            "context.options",
        ),
        (
            json!({ "prompt": "?", "context": { "a": [1], "b": [2] }, "request_type": "selection" }),
            "several lists",
        ),
        (
            json!({ "prompt": "?", "context": { "options": ["a", "a"] }, "request_type": "selection" }),
            "twice",
        ),
        (
            json!({ "prompt": "?", "context": { "options": [{ "id": 1, "label": "a" }, { "id": 2, "label": "a" }] }, "request_type": "selection" }),
            "twice",
        ),
        (
            json!({ "prompt": "?", "context": { "options": many }, "request_type": "selection" }),
            "too many",
        ),
        (
            json!({ "prompt": "?", "context": { "options": [{ "price": 3 }] }, "request_type": "selection" }),
            "option 1: needs",
        ),
        (
            json!({ "prompt": "?", "context": { "options": [null] }, "request_type": "selection" }),
            "option 1",
        ),
    ];
    for (arguments, expected) in cases {
        let told = UserInput::parse(&arguments).and_then(|ask| ask.to_request()).unwrap_err();
        assert!(told.contains(expected), "{arguments}\n→ {told}");
    }
}

#[test]
fn its_schema_is_one() {
    let spec = request_user_input();
    assert!(schema::compile(&spec.parameters).is_ok());
    let good = json!({ "prompt": "?", "context": {}, "request_type": "clarification" });
    assert!(schema::check(&spec.parameters, &good).is_ok());
}

proptest! {
    /// Every choice a person is offered is an answer the request takes, and leads back to its option.
    #[test]
    fn every_choice_is_accepted_and_found_again(names in proptest::collection::btree_set("[a-z0-9 ]{0,6}[a-z]", 1..20)) {
        let options: Vec<Value> = names
            .iter()
            .enumerate()
            .map(|(n, name)| if n % 2 == 0 { json!(name) } else { json!({ "name": name, "price": n }) })
            .collect();
        let ask = parse(&json!({ "prompt": "?", "context": { "options": options }, "request_type": "selection" }));
        // Names that differ only in spaces around them are the same label, and refused.
        if let Ok(body) = ask.to_request() {
            prop_assert_eq!(body.options.len(), options.len());
            for (choice, option) in body.options.iter().zip(&options) {
                let decision = Decision::respond(choice.value.clone());
                prop_assert!(body.check(&decision).is_ok());
                prop_assert_eq!(&ask.result(&decision)["selected"], option);
            }
        }
    }
}
