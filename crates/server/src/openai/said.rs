//! Messages that clients put into a conversation: what was said elsewhere, for its next run to know.

use serde_json::{Value, json};
use signoff_core::{ConversationId, Message, Part, Role};
use signoff_runtime::Engine;

use super::fault::Fault;
use crate::error::ApiError;

/// The most at once, as OpenAI has it.
const MAX_ITEMS: usize = 20;

/// The messages in `items` of a body. `optional` says whether that may be left out.
pub(super) fn messages(body: &Value, optional: bool) -> Result<Vec<Message>, Fault> {
    let wrong = |message: String| Fault::invalid("items", message);
    let items = match body.get("items") {
        None | Some(Value::Null) if optional => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        _ => return Err(wrong("`items` is a list of messages".into())),
    };
    if items.len() > MAX_ITEMS {
        return Err(wrong(format!("at most {MAX_ITEMS} items can be added at once")));
    }
    items.iter().map(|item| message(item).map_err(|why| wrong(why.to_owned()))).collect()
}

fn message(item: &Value) -> Result<Message, &'static str> {
    if !matches!(item["type"].as_str(), None | Some("message")) {
        return Err("only messages can be put into a conversation");
    }
    let text = match &item["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            texts.ok_or("only text can be put into a conversation")?.join("\n")
        }
        _ => return Err("a message has `content`: text or a list of parts"),
    };
    if text.trim().is_empty() {
        return Err("a message says something");
    }
    let (role, author) = match item["role"].as_str() {
        Some("user") => (Role::User, None),
        Some("assistant") => (Role::Assistant, None),
        // What agents are told is in the workflow; this is something that was said.
        Some(other @ ("system" | "developer")) => (Role::User, Some(other.into())),
        _ => return Err("a message has a `role`: user, assistant, system or developer"),
    };
    Ok(Message { role, author, parts: vec![Part::Text(text)] })
}

/// A message that was put into a conversation, as an item of it.
pub(super) fn item(id: &ConversationId, number: usize, message: &Message) -> Value {
    let (role, kind) = match (message.role, &message.author) {
        (Role::Assistant, _) => ("assistant", "output_text"),
        (_, Some(role)) => (&**role, "input_text"),
        _ => ("user", "input_text"),
    };
    let mut part = json!({ "type": kind, "text": message.text() });
    if role == "assistant" {
        part["annotations"] = json!([]);
        part["logprobs"] = json!([]);
    }
    json!({
        "id": format!("msg_{}_added{number}", id.unique()),
        "type": "message",
        "role": role,
        "status": "completed",
        "content": [part],
    })
}

/// What was put into a conversation and no run has taken up yet.
pub(super) fn since(engine: &Engine, id: &ConversationId) -> Result<Vec<Message>, Fault> {
    let Some(record) = engine.conversation(id)?.filter(|record| !record.added.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut taken = 0;
    let mut run = engine.latest_run(id)?.map(|latest| latest.id);
    while let Some(id) = run {
        let first = engine.store().entries(&id, 0, 1)?.into_iter().next();
        let Some(signoff_core::Event::Started(started)) = first.map(|entry| entry.event) else {
            return Err(ApiError::internal(&format!("run {id} has no start")).into());
        };
        taken += started.added as usize;
        run = started.continues;
    }
    Ok(record.added.into_iter().skip(taken).collect())
}
