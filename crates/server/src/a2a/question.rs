//! What people are asked, as the message of a task that waits for them.

use serde_json::{Value, json};
use signoff_a2a::wire::{Message, Part, Role};
use signoff_core::answer::accepted;
use signoff_core::{DecisionKind, RequestBody, RequestId};

use crate::bridge::written;

/// The message that asks all of these: for each, a text to read and the facts to answer by.
pub(super) fn message<'a>(
    id: String,
    pending: impl Iterator<Item = (&'a RequestId, &'a RequestBody)>,
) -> Message {
    let parts = pending.flat_map(|(id, body)| {
        let text = Part::text(written(body, None, false));
        [text, Part::data(facts(id, body))]
    });
    Message { message_id: id, role: Role::Agent, parts: parts.collect(), ..Message::default() }
}

fn facts(id: &RequestId, body: &RequestBody) -> Value {
    let mut facts = json!({
        "requestId": id,
        "kind": body.kind,
        "prompt": body.prompt,
        "schema": schema(body),
        "allowed": body.allowed,
    });
    if body.allowed.contains(&DecisionKind::Edit) {
        facts["editSchema"] = body.response_schema.clone();
    }
    if !body.options.is_empty() {
        facts["options"] = json!(body.options);
    }
    if let Some(proposal) = body.shown_proposal() {
        facts["proposal"] = proposal.clone();
    }
    if let Some(risk) = body.risk {
        facts["risk"] = json!(risk);
    }
    if !body.reasons.is_empty() {
        facts["reasons"] = json!(body.reasons);
    }
    if let Some(at) = body.expires_at {
        facts["expiresAt"] = at.rfc3339().into();
    }
    facts
}

/// What an answer must fit. Where something is to be decided and not answered, that is text which says so.
fn schema(body: &RequestBody) -> Value {
    if body.allowed.contains(&DecisionKind::Respond) {
        return body.response_schema.clone();
    }
    json!({ "type": "string", "minLength": 1, "description": accepted(body) })
}
