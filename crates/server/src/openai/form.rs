//! A question to people as a form: what a page shows and what it must collect. What is filled in comes
//! back as an answer (`answer`).

use serde_json::{Map, Value, json};
use signoff_core::answer::accepted;
use signoff_core::{DecisionKind, RequestBody};

use super::id::Notice;

/// Where the form asks for one of several decisions, the first one is chosen already. So the one that does
/// the least comes first.
const LEAST_FIRST: [DecisionKind; 9] = [
    DecisionKind::Reject,
    DecisionKind::Abort,
    DecisionKind::Skip,
    DecisionKind::Rollback,
    DecisionKind::Revise,
    DecisionKind::Redo,
    DecisionKind::Retry,
    DecisionKind::Edit,
    DecisionKind::Approve,
];

/// The schema of what the form collects.
pub(super) fn schema(body: &RequestBody) -> Value {
    let allowed = |kind| body.allowed.contains(&kind);
    if allowed(DecisionKind::Respond) {
        return response(body);
    }
    let simple = [DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Reject];
    if allowed(DecisionKind::Approve) && body.allowed.iter().all(|kind| simple.contains(kind)) {
        return approval(body);
    }
    let mut names: Vec<&str> =
        LEAST_FIRST.into_iter().filter(|kind| allowed(*kind)).map(DecisionKind::as_str).collect();
    names.dedup();
    let mut fields = json!({
        "decision": { "type": "string", "enum": names },
        "comment": { "type": "string", "description": "Why, or what to change" },
    });
    if allowed(DecisionKind::Edit) {
        fields["value"] =
            described(&body.response_schema, "Instead of what is proposed, with `edit`");
    }
    object(&fields, &["decision"], &accepted(body))
}

fn approval(body: &RequestBody) -> Value {
    let mut fields = json!({
        "approved": { "type": "boolean", "default": false, "description": "Not checked means no" },
        "comment": { "type": "string", "description": "For the record, and for whoever asked" },
    });
    let mut needed = "Check `approved` to say yes. Submitting without it says no.".to_owned();
    if body.allowed.contains(&DecisionKind::Edit) && body.proposal().is_some() {
        fields["edited"] = described(&body.response_schema, "Approves this instead; JSON");
        needed
            .push_str(" To say yes with changes, write the whole changed proposal into `edited`.");
    }
    object(&fields, &["approved"], &needed)
}

/// An object is asked for as it is; anything else as the field `response`.
fn response(body: &RequestBody) -> Value {
    let wanted = &body.response_schema;
    if wanted["properties"].as_object().is_some_and(|fields| !fields.is_empty()) {
        return wanted.clone();
    }
    let field = if body.options.is_empty() { plain(wanted) } else { choice(body) };
    let more = body.allowed.len() > 1;
    let needed = if more { accepted(body) } else { String::new() };
    object(&json!({ "response": field }), &["response"], &needed)
}

/// One of the options, as text: by value where that is text, else by label.
fn choice(body: &RequestBody) -> Value {
    let values: Option<Vec<&str>> = body.options.iter().map(|it| it.value.as_str()).collect();
    let names = values.unwrap_or_else(|| body.options.iter().map(|it| it.label.as_str()).collect());
    json!({ "type": "string", "enum": names })
}

/// A schema with a type, which forms go by.
fn plain(wanted: &Value) -> Value {
    let mut field = if wanted.is_object() { wanted.clone() } else { json!({}) };
    let texts = field["enum"].as_array().is_some_and(|all| all.iter().all(Value::is_string));
    if field["type"].is_null() && texts {
        field["type"] = "string".into();
    }
    field
}

fn described(wanted: &Value, text: &str) -> Value {
    let mut field = plain(wanted);
    field["description"] = text.into();
    field
}

fn object(properties: &Value, required: &[&str], needed: &str) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "required": required });
    if !needed.is_empty() {
        schema["description"] = needed.into();
    }
    schema
}

/// What a person should see beside the form, in that order.
pub(super) fn data(body: &RequestBody, notice: Option<Notice>) -> Value {
    let mut data = Map::new();
    let notice = match notice {
        Some(Notice::Busy) => {
            Some("what you sent was not taken: this run waits for an answer".to_owned())
        }
        Some(Notice::Refused) => Some(format!("your answer was not taken; {}", accepted(body))),
        Some(Notice::Wanted) | None => None,
    };
    if let Some(notice) = notice {
        data.insert("notice".into(), notice.into());
    }
    data.insert("prompt".into(), body.prompt.as_str().into());
    if let Some(proposal) = body.proposal() {
        data.insert("proposal".into(), proposal.clone());
    }
    if !body.options.is_empty() {
        let listed = body.options.iter().map(|option| match &option.description {
            Some(more) => format!("{}: {more}", option.label),
            None => option.label.clone(),
        });
        data.insert("options".into(), listed.collect());
    }
    if let Some(agent) = body.agent_path.last() {
        data.insert("agent".into(), (**agent).into());
    }
    match &body.context {
        Value::Null => {}
        Value::Object(context) => {
            for (name, value) in context {
                data.entry(name.as_str()).or_insert_with(|| value.clone());
            }
        }
        other => {
            data.insert("context".into(), other.clone());
        }
    }
    if !body.reasons.is_empty() {
        data.insert("reasons".into(), body.reasons.join("; ").into());
    }
    if let Some(at) = body.expires_at {
        data.insert("expires_at".into(), at.rfc3339().into());
    }
    data.insert("kind".into(), body.kind.as_str().into());
    Value::Object(data)
}

/// The type of the answer, in the words of those who defined the event.
pub(super) fn response_type(body: &RequestBody) -> &'static str {
    match body.response_schema["type"].as_str() {
        _ if !body.allowed.contains(&DecisionKind::Respond) => "builtins:dict",
        Some("string") => "builtins:str",
        Some("boolean") => "builtins:bool",
        Some("integer") => "builtins:int",
        Some("number") => "builtins:float",
        Some("array") => "builtins:list",
        Some("object") => "builtins:dict",
        _ if !body.options.is_empty() => "builtins:str",
        _ => "builtins:object",
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
