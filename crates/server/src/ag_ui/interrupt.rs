//! A request as an interrupt, and the answer to it as a decision.
//!
//! | the request takes | the answer |
//! |---|---|
//! | an answer only | the answer itself |
//! | yes, perhaps with changes, and perhaps no | `{approved, editedArgs?, reason?, note?}` |
//! | other decisions, with or without these | either of that, as far as it fits; or the decision by its name |

use serde_json::{Map, Value, json};
use signoff_core::decision::Then;
use signoff_core::request::RequestKind;
use signoff_core::{Decision, DecisionKind, Refusal, Request, RequestBody, RunId, schema};
use signoff_runtime::DecideError;

use crate::error::{ApiError, Problem};

/// What a run asks, as an interrupt. `tool_call` is the call it is about, `part` the part of the run that asks.
pub(super) fn interrupt(
    request: &Request,
    tool_call: Option<String>,
    part: Option<&RunId>,
) -> Value {
    let body = &request.body;
    let reason = match body.kind {
        RequestKind::Input | RequestKind::Selection => "input_required",
        RequestKind::ToolCall if tool_call.is_some() => "tool_call",
        _ => "confirmation",
    };
    let mut shown = json!({
        "id": request.id,
        "reason": reason,
        "message": body.prompt,
        "responseSchema": response_schema(body),
        "metadata": metadata(request),
    });
    if let Some(call) = tool_call {
        shown["toolCallId"] = call.into();
    }
    if let Some(part) = part {
        shown["subagentRunId"] = part.as_str().into();
    }
    if let Some(at) = body.expires_at {
        shown["expiresAt"] = at.rfc3339().into();
    }
    shown
}

/// What a person should know, in our own words.
fn metadata(request: &Request) -> Value {
    let whole = request.to_json();
    let mut shown = Map::new();
    for name in [
        "kind",
        "run",
        "version",
        "agent_path",
        "context",
        "options",
        "allowed",
        "preview",
        "risk",
        "who",
        "deciders",
        "assignee",
    ] {
        if let Some(value) = whole.get(name).filter(|value| !value.is_null()) {
            shown.insert(name.to_owned(), value.clone());
        }
    }
    shown.insert("why".to_owned(), whole["reasons"].clone());
    Value::Object(shown)
}

fn takes(body: &RequestBody, kind: DecisionKind) -> bool {
    body.allowed.contains(&kind)
}

/// Whether it takes nothing but an answer.
fn is_question(body: &RequestBody) -> bool {
    body.allowed == [DecisionKind::Respond]
}

/// Whether an answer can be told apart from a decision by what it is.
fn is_plain(body: &RequestBody) -> bool {
    let wanted = &body.response_schema;
    let simple = match (&wanted["type"], &wanted["enum"]) {
        (Value::String(kind), _) => kind != "object",
        (_, Value::Array(values)) => !values.iter().any(Value::is_object),
        _ => false,
    };
    // What is said in place of a tool's result is anything.
    simple && takes(body, DecisionKind::Respond) && body.kind != RequestKind::ToolCall
}

/// What an answer must fit: exactly what the request takes.
pub(super) fn response_schema(body: &RequestBody) -> Value {
    if is_question(body) {
        return body.response_schema.clone();
    }
    let mut ways = Vec::new();
    if takes(body, DecisionKind::Approve) {
        ways.push(approval(body));
    }
    if is_plain(body) {
        ways.push(value_schema(body));
    }
    let others = [DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Reject];
    let more = body.allowed.iter().any(|kind| !others.contains(kind));
    if more || !takes(body, DecisionKind::Approve) {
        ways.extend(body.allowed.iter().map(|kind| named(body, *kind)));
    }
    match ways.len() {
        1 => ways.remove(0),
        _ => json!({ "oneOf": ways }),
    }
}

/// The schema of what is answered or changed, inside of another.
fn value_schema(body: &RequestBody) -> Value {
    let mut wanted = body.response_schema.clone();
    // What it refers to within itself is found from there.
    if let Value::Object(fields) = &mut wanted
        && body.response_schema.to_string().contains("\"$ref\"")
    {
        fields.entry("$id").or_insert_with(|| "urn:signoff:value".into());
    }
    wanted
}

fn object(mut fields: Value, required: &[&str], body: &RequestBody, remembers: bool) -> Value {
    if remembers && body.kind == RequestKind::ToolCall {
        fields["remember"] = json!({
            "description": "Whether it holds for more than this once: a reach, or more.",
        });
    }
    json!({
        "type": "object",
        "properties": fields,
        "required": required,
        "additionalProperties": false,
    })
}

/// Yes, or no where that is taken.
fn approval(body: &RequestBody) -> Value {
    let text = json!({ "type": "string" });
    let refuses = takes(body, DecisionKind::Reject);
    let approved = if refuses { json!({ "type": "boolean" }) } else { json!({ "const": true }) };
    let mut fields = json!({ "approved": approved, "reason": text, "note": text });
    let edits = takes(body, DecisionKind::Edit);
    if edits {
        fields["editedArgs"] = value_schema(body);
    }
    let mut way = object(fields, &["approved"], body, true);
    if edits {
        // What is not approved is not changed either.
        way["dependentSchemas"] =
            json!({ "editedArgs": { "properties": { "approved": { "const": true } } } });
    }
    way
}

/// A decision by its name.
fn named(body: &RequestBody, kind: DecisionKind) -> Value {
    let text = json!({ "type": "string" });
    let name = json!({ "const": kind });
    let is_call = body.kind == RequestKind::ToolCall;
    match kind {
        DecisionKind::Respond => {
            // What is said in place of a tool's result is not what the tool is given.
            let content = if is_call { json!({}) } else { value_schema(body) };
            let fields = json!({ "decision": name, "content": content });
            object(fields, &["decision", "content"], body, false)
        }
        DecisionKind::Edit => {
            let fields = json!({ "decision": name, "value": value_schema(body), "note": text });
            object(fields, &["decision", "value"], body, false)
        }
        DecisionKind::Approve => {
            object(json!({ "decision": name, "note": text }), &["decision"], body, true)
        }
        DecisionKind::Reject => {
            let then = json!({ "enum": ["continue", "stop"] });
            let fields = json!({ "decision": name, "reason": text, "then": then });
            object(fields, &["decision"], body, true)
        }
        DecisionKind::Revise
        | DecisionKind::Redo
        | DecisionKind::Retry
        | DecisionKind::Rollback => {
            object(json!({ "decision": name, "feedback": text }), &["decision"], body, false)
        }
        DecisionKind::Skip | DecisionKind::Abort => {
            object(json!({ "decision": name, "reason": text }), &["decision"], body, false)
        }
    }
}

/// The decision that an answer means: none, if it was given up, which is a no. Never one that the request refuses.
pub(super) fn decision(request: &Request, payload: Option<&Value>) -> Result<Decision, ApiError> {
    let Some(payload) = payload else { return given_up(request) };
    read(&request.body, payload).map_err(|problems| {
        let message =
            format!("the answer to `{}` does not fit: {}", request.id, problems.join("; "));
        ApiError::new(Problem::InvalidAnswer, message)
            .hint("nothing was changed; answer again with what `responseSchema` says")
            .details(json!({ "interruptId": request.id, "problems": problems }))
    })
}

fn read(body: &RequestBody, payload: &Value) -> Result<Decision, Vec<String>> {
    schema::check(&response_schema(body), payload)?;
    let decision = match payload {
        content if is_question(body) || (is_plain(body) && !content.is_object()) => {
            Decision::Respond { content: content.clone() }
        }
        Value::Object(fields) if fields.contains_key("approved") => approved(fields)?,
        named => serde_json::from_value(named.clone()).map_err(|error| vec![error.to_string()])?,
    };
    body.check(&decision).map_err(|refusal| match refusal {
        Refusal::Invalid { problems } => problems,
        other => vec![other.to_string()],
    })?;
    Ok(decision)
}

fn approved(fields: &Map<String, Value>) -> Result<Decision, Vec<String>> {
    let text = |name: &str| fields.get(name)?.as_str().map(str::to_owned);
    let (reason, note) = (text("reason"), text("note"));
    let remember = fields.get("remember").cloned().map(serde_json::from_value).transpose();
    let remember = remember.map_err(|error| vec![format!("/remember: {error}")])?;
    Ok(match (fields["approved"] == true, fields.get("editedArgs")) {
        (true, Some(value)) => Decision::Edit { value: value.clone(), note: note.or(reason) },
        (true, None) => Decision::Approve { note: note.or(reason), remember },
        (false, _) => Decision::Reject {
            reason: reason.or(note),
            then: Then::Continue,
            siblings: None,
            remember,
        },
    })
}

/// The request's own way to say no.
fn given_up(request: &Request) -> Result<Decision, ApiError> {
    let body = &request.body;
    let ways = [
        Decision::reject(None, Then::Continue),
        Decision::Skip { reason: None },
        Decision::Abort { reason: None },
    ];
    ways.into_iter().find(|decision| takes(body, decision.kind())).ok_or_else(|| {
        let refusal =
            Refusal::NotAllowed { decision: DecisionKind::Reject, allowed: body.allowed.clone() };
        ApiError::from(DecideError::from(refusal))
            .hint("it takes an answer only; answer it, or cancel the run: POST /v1/runs/ID/cancel")
    })
}

#[cfg(test)]
#[path = "interrupt_tests.rs"]
mod tests;
