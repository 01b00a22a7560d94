//! Ways for agents to work together, as plain code over a context.

pub(crate) mod coordinator;
pub(crate) mod group_chat;
pub(crate) mod handoff;
pub(crate) mod phases;

use serde_json::{Value, json};
use signoff_core::{Message, Part};

use crate::context::{Context, View};

/// The conversation as people had it: who said what, without tools and handing over.
fn conversation(ctx: &Context) -> Value {
    let messages = ctx.conversation(View::Now);
    messages
        .iter()
        .filter_map(Message::without_handoffs)
        .filter_map(|message| {
            let text = words(&message)?;
            Some(json!({ "role": message.role, "author": message.author, "text": text }))
        })
        .collect()
}

/// What was said in a message, without tools: its text, or a person's answer to an agent's question.
pub(crate) fn words(message: &Message) -> Option<String> {
    let text = message.text();
    let answers = message.parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) if message.role == signoff_core::Role::Tool => {
            result.content.get("answer").map(ToString::to_string)
        }
        _ => None,
    });
    let text = if text.is_empty() { answers.collect::<Vec<_>>().join("\n") } else { text };
    (!text.trim().is_empty()).then_some(text)
}

/// What an agent gave, as text.
fn as_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
