use serde_json::{Value, json};

use super::*;

fn asked(question: &Value) -> Result<RequestBody, String> {
    Question::read(question)?.to_request()
}

#[test]
fn a_question_becomes_a_request() {
    let body =
        asked(&json!({ "prompt": " Which? ", "asker": ["claude-code", "reviewer"] })).unwrap();
    assert_eq!((body.kind, body.prompt.as_str()), (RequestKind::Input, "Which?"));
    assert_eq!(body.allowed, [DecisionKind::Respond]);
    assert_eq!(body.agent_path.len(), 2);
    assert!(body.reasons[0].starts_with("claude-code asks; what it says is its own word"));

    let body = asked(&json!({ "prompt": "Which?", "kind": "selection", "options": ["a", { "value": "b", "label": "B" }] })).unwrap();
    assert_eq!(body.response_schema, json!({ "enum": ["a", "b"] }));
    assert_eq!(body.options[1].label, "B");

    let body = asked(&json!({ "prompt": "Really?", "kind": "approval", "proposal": { "rows": 3 }, "context": "why", "risk": "high" })).unwrap();
    assert_eq!(body.allowed, [DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Reject]);
    assert_eq!(body.proposal(), Some(&json!({ "rows": 3 })));
    assert_eq!(body.context["note"], "why");
    assert_eq!(body.context["digest"].as_str().unwrap().len(), 64);
    assert_eq!(body.risk, Some(Risk::High));
}

#[test]
fn a_digest_is_of_what_is_approved() {
    let digest = |question: Value| Question::read(&question).unwrap().digest();
    let one = digest(json!({ "prompt": "p", "proposal": { "a": 1, "b": 2 } }));
    assert_eq!(
        one,
        digest(json!({ "prompt": "p", "proposal": { "b": 2, "a": 1 }, "context": "x" }))
    );
    assert_ne!(one, digest(json!({ "prompt": "p", "proposal": { "a": 1, "b": 3 } })));
    assert_ne!(one, digest(json!({ "prompt": "q", "proposal": { "a": 1, "b": 2 } })));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let long = "x".repeat(MAX_PROMPT_BYTES + 1);
    let large = "x".repeat(MAX_CONTEXT_BYTES + 1);
    let many: Vec<u32> = (0..101).collect();
    for (question, problem) in [
        (json!({}), "missing field `prompt`"),
        (json!({ "prompt": "p", "promt": "q" }), "unknown field `promt`"),
        (json!({ "prompt": "  " }), "the question is empty"),
        (json!({ "prompt": long }), "more than 16384 bytes"),
        (json!({ "prompt": "p", "context": large }), "more than 65536 bytes"),
        (json!({ "prompt": "p", "context": { "digest": "x" } }), "may not have a field `digest`"),
        (
            json!({ "prompt": "p", "context": { "warnings": [] } }),
            "may not have a field `warnings`",
        ),
        (json!({ "prompt": "p", "kind": "in_doubt" }), "`in_doubt` cannot be asked"),
        (json!({ "prompt": "p", "options": ["a"] }), "only a selection"),
        (json!({ "prompt": "p", "kind": "selection" }), "at least one option"),
        (json!({ "prompt": "p", "kind": "selection", "options": many }), "too many"),
        (json!({ "prompt": "p", "kind": "selection", "options": ["a", "a"] }), "is there twice"),
        (json!({ "prompt": "p", "schema": { "type": "nonsense" } }), "`schema` cannot be used"),
        (json!({ "prompt": "p", "proposal": 1 }), "only an approval"),
        (json!({ "prompt": "p", "within": "0s" }), "`within`"),
        (json!({ "prompt": "p", "within": "soon" }), "is not a length of time"),
        (json!({ "prompt": "p", "who": { "count": 0 } }), "`who`"),
        (
            json!({ "prompt": "p", "kind": "approval", "proposal": { "a": "x" },
                    "schema": { "properties": { "a": { "type": "integer" } } } }),
            "does not fit `schema`",
        ),
    ] {
        let said = asked(&question).unwrap_err();
        assert!(said.contains(problem), "{question}: {said}");
    }
}
