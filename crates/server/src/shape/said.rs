//! What agents say to people.

use serde_json::{Map, Value};
use signoff_core::{Message, Part, Role};

/// What an agent says to people. What it hands to other agents as data is not among it.
pub(crate) fn spoken(message: &Message) -> Option<String> {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) if !text.trim().is_empty() && !is_data(text) => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (message.role == Role::Assistant && !texts.is_empty()).then(|| texts.join("\n"))
}

/// Whether `text` is an agent's last word, which is what it gives, and was among what it said.
pub(crate) fn is_told_whole(message: &Message, text: &str) -> bool {
    message.role == Role::Assistant && message.last_text() == Some(text) && !is_data(text)
}

/// Whether a text is an object in JSON.
pub(crate) fn is_data(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
