//! What an interrupt takes is what its request takes.

use signoff_core::Choice;

use super::*;

#[allow(clippy::needless_pass_by_value)] // reads better where it is called
fn reads(body: &RequestBody, payload: Value) -> Option<Decision> {
    read(body, &payload).ok()
}

#[test]
fn a_question_takes_its_answer() {
    let free = RequestBody::input("Who?");
    assert_eq!(reads(&free, json!("me")), Some(Decision::respond("me")));
    for bad in [json!(""), json!(1), Value::Null, json!({ "approved": true })] {
        assert_eq!(reads(&free, bad), None);
    }
    let choice =
        |value: &str| Choice { value: value.into(), label: value.into(), description: None };
    let one = RequestBody::selection("Which?", vec![choice("a"), choice("b")]);
    assert_eq!(reads(&one, json!("b")), Some(Decision::respond("b")));
    assert_eq!(reads(&one, json!("c")), None);
}

#[test]
fn an_approval_takes_yes_no_and_changes() {
    let body = RequestBody::approval("Well?", json!({ "total": 5 }));
    assert_eq!(reads(&body, json!({ "approved": true })), Some(Decision::approve()));
    let edit = reads(&body, json!({ "approved": true, "editedArgs": { "total": 4 } }));
    assert_eq!(edit, Some(Decision::Edit { value: json!({ "total": 4 }), note: None }));
    let no = reads(&body, json!({ "approved": false, "reason": "too much" }));
    assert_eq!(no, Some(Decision::reject(Some("too much".into()), Then::Continue)));
    for bad in [
        json!("yes"),
        json!({}),
        json!({ "approved": "yes" }),
        json!({ "approved": true, "editedArgs": { "total": "four" } }),
        json!({ "approved": false, "editedArgs": { "total": 4 } }),
        json!({ "approved": true, "remember": "run" }),
        json!({ "approved": true, "more": 1 }),
    ] {
        assert_eq!(reads(&body, bad.clone()), None, "{bad}");
    }
    let plain = RequestBody::approval("Well?", Value::Null);
    assert_eq!(reads(&plain, json!({ "approved": true, "editedArgs": {} })), None);
}

/// Whatever a request allows, its schema takes each of these decisions, and no other.
#[test]
fn the_schema_covers_exactly_what_is_allowed() {
    let value = json!({ "total": 4 });
    let all = [
        Decision::Respond { content: value.clone() },
        Decision::approve(),
        Decision::Edit { value, note: None },
        Decision::reject(None, Then::Stop),
        Decision::Revise { feedback: Some("more".into()) },
        Decision::Redo { feedback: None },
        Decision::Retry { feedback: None },
        Decision::Skip { reason: None },
        Decision::Abort { reason: Some("enough".into()) },
    ];
    let others = [DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Reject];
    // Some of all sets: compiling schemas takes its time.
    for set in (1_u32..(1 << all.len())).step_by(5) {
        let allowed: Vec<DecisionKind> =
            (0..all.len()).filter(|n| set & (1 << n) != 0).map(|n| all[n].kind()).collect();
        let body = RequestBody { allowed, ..RequestBody::approval("Well?", json!({ "total": 5 })) };
        let yes = takes(&body, DecisionKind::Approve);
        assert_eq!(reads(&body, json!({ "approved": true })).is_some(), yes, "{:?}", body.allowed);
        let no = yes && takes(&body, DecisionKind::Reject);
        assert_eq!(reads(&body, json!({ "approved": false })).is_some(), no, "{:?}", body.allowed);
        let edits = json!({ "approved": true, "editedArgs": { "total": 4 } });
        let both = yes && takes(&body, DecisionKind::Edit);
        assert_eq!(reads(&body, edits).is_some(), both, "{:?}", body.allowed);
        // Where only yes and no are taken there is one way to say them.
        let plain = yes && body.allowed.iter().all(|kind| others.contains(kind));
        for decision in &all {
            let payload = match decision {
                Decision::Respond { content } if is_question(&body) => content.clone(),
                other => serde_json::to_value(other).unwrap(),
            };
            let taken = takes(&body, decision.kind()) && !plain;
            let wanted = taken.then(|| decision.clone());
            assert_eq!(reads(&body, payload), wanted, "{:?}", body.allowed);
        }
    }
}

#[test]
fn a_plain_answer_is_taken_beside_decisions() {
    let allowed = vec![DecisionKind::Respond, DecisionKind::Skip];
    let body = RequestBody { allowed, ..RequestBody::input("Where to?") };
    assert_eq!(reads(&body, json!("home")), Some(Decision::respond("home")));
    let skip = Decision::Skip { reason: None };
    assert_eq!(reads(&body, json!({ "decision": "skip" })), Some(skip));
    let named = json!({ "decision": "respond", "content": "home" });
    assert_eq!(reads(&body, named), Some(Decision::respond("home")));
    assert_eq!(reads(&body, json!("")), None);
    assert_eq!(reads(&body, json!({ "approved": true })), None);
}

#[test]
fn what_a_schema_refers_to_is_found() {
    let mut body = RequestBody::approval("Well?", json!({ "total": 5 }));
    body.response_schema = json!({
        "type": "object",
        "properties": { "total": { "$ref": "#/$defs/money" } },
        "$defs": { "money": { "type": "integer" } },
    });
    let changed = |total: Value| json!({ "approved": true, "editedArgs": { "total": total } });
    assert!(reads(&body, changed(json!(4))).is_some());
    assert!(reads(&body, changed(json!("four"))).is_none());
}
