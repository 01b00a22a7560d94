//! What a client sent as an answer, as a decision.

use serde_json::{Map, Value, json};
use signoff_core::answer::{accepted, from_text};
use signoff_core::{Decision, DecisionKind, Request, RequestBody};

use super::fault::{Fault, InParam as _};
use crate::error::{ApiError, Problem};

/// The decision that `value` means. Never one that the request refuses.
pub(super) fn decision(request: &Request, value: &Value) -> Result<Decision, Fault> {
    let body = &request.body;
    mapped(body, value).map_err(|why| {
        ApiError::new(Problem::InvalidAnswer, why)
            .hint("nothing was changed; answer again with what is accepted")
            .details(json!({
                "request": request.id,
                "prompt": body.prompt,
                "allowed": body.allowed,
                "options": body.options,
                "response_schema": body.response_schema,
            }))
            .in_param("input")
    })
}

fn mapped(body: &RequestBody, value: &Value) -> Result<Decision, String> {
    let checked = |decision: Decision| match body.check(&decision) {
        Ok(()) => Ok(decision),
        Err(refusal) => Err(format!("{refusal}; {}", accepted(body))),
    };
    match value {
        Value::String(text) => from_text(body, text),
        Value::Bool(yes) => checked(Decision::respond(*yes))
            .or_else(|_| from_text(body, if *yes { "yes" } else { "no" })),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("response") => {
            mapped(body, &fields["response"])
        }
        Value::Object(fields) if fields.contains_key("decision") => {
            let decision: Decision = serde_json::from_value(value.clone())
                .map_err(|error| format!("this is no decision: {error}; {}", accepted(body)))?;
            checked(decision)
        }
        Value::Object(fields) if asks_for_approval(body) => match approval(fields) {
            Some(decision) => checked(decision),
            None => from_text(body, &value.to_string()),
        },
        other => checked(Decision::respond(other.clone()))
            .or_else(|_| from_text(body, &other.to_string())),
    }
}

fn asks_for_approval(body: &RequestBody) -> bool {
    body.allowed.contains(&DecisionKind::Approve)
}

/// `{"approved": true, "comment": "…"}`.
fn approval(fields: &Map<String, Value>) -> Option<Decision> {
    let approved = fields.get("approved")?.as_bool()?;
    let remark = ["comment", "reason", "note", "feedback"]
        .iter()
        .find_map(|name| fields.get(*name)?.as_str())
        .map(str::to_owned);
    Some(if approved {
        Decision::Approve { note: remark, remember: None }
    } else {
        Decision::Reject { reason: remark, then: signoff_core::decision::Then::Continue }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_many_shapes_are_one_decision() {
        let approve = RequestBody::approval("Well?", json!({ "total": 5 }));
        for yes in [
            json!("yes"),
            json!(true),
            json!({ "approved": true }),
            json!({ "response": "yes" }),
            json!({ "response": { "approved": true } }),
            json!({ "decision": "approve" }),
        ] {
            assert_eq!(mapped(&approve, &yes), Ok(Decision::approve()), "{yes}");
        }
        let no = mapped(&approve, &json!({ "approved": false, "comment": "too much" })).unwrap();
        assert!(matches!(no, Decision::Reject { reason: Some(why), .. } if why == "too much"));
        let edit = mapped(&approve, &json!({ "total": 4 })).unwrap();
        assert_eq!(edit, Decision::Edit { value: json!({ "total": 4 }), note: None });
        for bad in
            [json!("perhaps"), json!({ "decision": "skip" }), json!({ "decision": 1 }), json!(7)]
        {
            let why = mapped(&approve, &bad).unwrap_err();
            assert!(why.contains("accepted: "), "{bad}: {why}");
        }
        let free = RequestBody::input("Who?");
        assert_eq!(mapped(&free, &json!("me")), Ok(Decision::respond("me")));
        assert!(mapped(&free, &json!({ "approved": true })).is_ok_and(|it| it.value().is_some()));
    }
}
