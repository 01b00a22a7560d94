//! What a client sent: checked, as the input of a workflow, or as answers to what a run asks.

use serde_json::{Map, Value};
use signoff_a2a::wire::{Message, Part, Role};
use signoff_core::answer::accepted;
use signoff_core::{Decision, Request, Sent};

use super::fault::{Fault, Kind};
use super::project::Viewer;
use crate::openai::mapped;

/// The most parts of a message.
const MAX_PARTS: usize = 100;
/// The longest id, in bytes.
const MAX_ID: usize = 255;
/// The largest answer as it was sent, in bytes.
const MAX_SENT: usize = 128 * 1024;

/// Whether it is a message at all.
pub(super) fn check(message: Option<Message>) -> Result<Message, Fault> {
    let Some(message) = message else {
        return Err(Fault::invalid("message", "it is missing"));
    };
    let id = message.message_id.len();
    if !(1..=MAX_ID).contains(&id) {
        return Err(Fault::invalid("message.messageId", format!("it has 1 to {MAX_ID} bytes")));
    }
    if message.role != Role::User {
        return Err(Fault::invalid("message.role", "a client speaks as `ROLE_USER`"));
    }
    if !(1..=MAX_PARTS).contains(&message.parts.len()) {
        return Err(Fault::invalid("message.parts", format!("there are 1 to {MAX_PARTS}")));
    }
    for (n, part) in message.parts.iter().enumerate() {
        let Part { text, data, raw, url, .. } = part;
        let contents = [text.is_some(), data.is_some(), raw.is_some(), url.is_some()];
        if contents.into_iter().filter(|there| *there).count() != 1 {
            let field = format!("message.parts[{n}]");
            return Err(Fault::invalid(&field, "it has one of `text`, `data`, `raw` and `url`"));
        }
        if raw.is_some() || url.is_some() {
            let message = "files are not taken here; send text or data";
            return Err(Fault::new(Kind::ContentTypeNotSupported, message));
        }
    }
    Ok(message)
}

/// A message as it is kept.
pub(super) fn sent(message: &Message) -> Result<Sent, Fault> {
    let parts =
        serde_json::to_value(&message.parts).map_err(|error| super::fault::broken(&error))?;
    Ok(Sent { id: message.message_id.as_str().into(), parts })
}

/// What a message says: its text, or its one value; if it has several parts, all of them as text.
pub(super) fn value(message: &Message) -> Value {
    match &message.parts[..] {
        [Part { data: Some(data), .. }] => data.clone(),
        parts => {
            let said = parts.iter().map(|part| match (&part.text, &part.data) {
                (Some(text), _) => text.clone(),
                (None, data) => data.as_ref().map(ToString::to_string).unwrap_or_default(),
            });
            said.collect::<Vec<_>>().join("\n").into()
        }
    }
}

/// What a message decides of what is pending.
pub(super) fn answers(
    message: &Message,
    pending: &[Request],
    viewer: &Viewer,
) -> Result<Vec<(Request, Decision)>, Fault> {
    let size = message.parts.iter().map(|part| {
        part.text.as_ref().map_or(0, String::len)
            + part.data.as_ref().map_or(0, |data| data.to_string().len())
    });
    if size.sum::<usize>() > MAX_SENT {
        let problem = format!("an answer has at most {MAX_SENT} bytes");
        return Err(Fault::invalid("message.parts", problem));
    }
    let mut named: Vec<(Request, Decision)> = Vec::new();
    for (n, part) in message.parts.iter().enumerate() {
        let Some((id, mut rest)) = addressed(part) else { continue };
        let field = format!("message.parts[{n}].data.requestId");
        let Some(request) = pending.iter().find(|request| request.id.as_str() == id) else {
            let problem = format!("`{id}` does not wait here; {}", waiting(pending));
            return Err(Fault::invalid(&field, problem));
        };
        if named.iter().any(|(known, _)| known.id == request.id) {
            return Err(Fault::invalid(&field, "it is answered twice"));
        }
        let value = if rest.is_empty() {
            texts(message).into()
        } else if let (1, Some(value)) = (rest.len(), rest.remove("content")) {
            value
        } else {
            Value::Object(rest)
        };
        named.push((request.clone(), decision(request, &value)?));
    }
    if !named.is_empty() {
        return Ok(named);
    }
    let may: Vec<&Request> = pending.iter().filter(|it| viewer.may_decide(&it.body)).collect();
    match may[..] {
        [one] => Ok(vec![(one.clone(), decision(one, &value(message))?)]),
        [] => Err(Fault::new(
            Kind::UnsupportedOperation,
            "somebody else has to decide this, and not here",
        )
        .coded("not_asked")),
        _ => {
            let problem = format!(
                "several questions wait; say which one this answers by a data part with `requestId`: {}",
                waiting(pending)
            );
            Err(Fault::invalid("message.parts", problem).coded("ambiguous_answer"))
        }
    }
}

/// The request that a part names, and what else it has.
fn addressed(part: &Part) -> Option<(String, Map<String, Value>)> {
    let mut fields = part.data.as_ref()?.as_object()?.clone();
    let Some(Value::String(id)) = fields.remove("requestId") else { return None };
    Some((id, fields))
}

fn texts(message: &Message) -> String {
    let texts: Vec<&str> = message.parts.iter().filter_map(|part| part.text.as_deref()).collect();
    texts.join("\n")
}

fn decision(request: &Request, value: &Value) -> Result<Decision, Fault> {
    mapped(&request.body, value).map_err(|why| {
        Fault::invalid("message.parts", format!("{why} (request `{}`)", request.id))
            .coded("invalid_answer")
    })
}

fn waiting(pending: &[Request]) -> String {
    let listed: Vec<String> = pending
        .iter()
        .take(20)
        .map(|request| format!("`{}` ({})", request.id, accepted(&request.body)))
        .collect();
    format!("waiting: {}", listed.join(", "))
}
