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

/// The decision that a value means, whatever shape it has.
pub(crate) fn mapped(body: &RequestBody, value: &Value) -> Result<Decision, String> {
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
            let decision: Decision = serde_json::from_value(filled(fields))
                .map_err(|error| format!("this is no decision: {error}; {}", accepted(body)))?;
            checked(decision)
        }
        Value::Array(messages) if let Some(text) = said(messages) => from_text(body, &text),
        Value::Object(fields) if asks_for_approval(body) => match approval(fields) {
            Some(decision) => checked(decision),
            None => from_text(body, &value.to_string()),
        },
        other => checked(Decision::respond(other.clone()))
            .or_else(|_| from_text(body, &other.to_string())),
    }
}

/// A decision as a form gives it: with a `comment`, whatever that is called in the decision, and with fields
/// that nobody filled in.
fn filled(fields: &Map<String, Value>) -> Value {
    let mut fields = fields.clone();
    let name = match fields.get("decision").and_then(Value::as_str) {
        Some("approve" | "edit") => "note",
        Some("reject" | "skip" | "abort") => "reason",
        Some("revise" | "redo" | "retry") => "feedback",
        _ => return Value::Object(fields),
    };
    if let Some(comment) = fields.remove("comment") {
        fields.entry(name).or_insert(comment);
    }
    fields.retain(|_, value| !is_blank(value));
    Value::Object(fields)
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// What the messages of a list say, which is how clients of the Agent Framework answer an agent.
fn said(messages: &[Value]) -> Option<String> {
    let mut texts = Vec::new();
    for message in messages {
        message["role"].as_str()?;
        match message.get("contents").or_else(|| message.get("content"))? {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(parts) => {
                for part in parts {
                    texts.push(part["text"].as_str()?);
                }
            }
            _ => return None,
        }
    }
    (!texts.is_empty()).then(|| texts.join("\n"))
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
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned);
    let edited = fields.get("edited").filter(|value| !is_blank(value));
    Some(if let (true, Some(value)) = (approved, edited) {
        Decision::Edit { value: value.clone(), note: remark }
    } else if approved {
        Decision::Approve { note: remark, remember: None }
    } else {
        Decision::reject(remark, signoff_core::decision::Then::Continue)
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
        assert!(matches!(&no, Decision::Reject { reason: Some(why), .. } if *why == "too much"));
        let edit = mapped(&approve, &json!({ "total": 4 })).unwrap();
        assert_eq!(edit, Decision::Edit { value: json!({ "total": 4 }), note: None });
        for bad in
            [json!("perhaps"), json!({ "decision": "skip" }), json!({ "decision": 1 }), json!(7)]
        {
            let why = mapped(&approve, &bad).unwrap_err();
            assert!(why.contains("accepted: "), "{bad}: {why}");
        }
        let changed = json!({ "approved": true, "comment": "", "edited": { "total": 4 } });
        assert_eq!(mapped(&approve, &changed).unwrap(), edit);
        let form = json!({ "decision": "reject", "comment": "too much", "value": null });
        assert_eq!(mapped(&approve, &form).unwrap(), no);
        let free = RequestBody::input("Who?");
        let messages = json!([{ "role": "user", "contents": [{ "type": "text", "text": "me" }] }]);
        assert_eq!(mapped(&free, &messages), Ok(Decision::respond("me")));
        assert_eq!(mapped(&free, &json!("me")), Ok(Decision::respond("me")));
        assert!(mapped(&free, &json!({ "approved": true })).is_ok_and(|it| it.value().is_some()));
    }
}
