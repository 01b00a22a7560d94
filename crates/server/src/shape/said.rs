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

/// What a run gives, in words; none, if it is nothing.
pub(crate) fn given(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        // A conversation's outcome, with what was said in it.
        Value::Object(fields) => match fields.get("answer") {
            Some(Value::String(answer)) => answer.clone(),
            _ => serde_json::to_string_pretty(value).unwrap_or_default(),
        },
        Value::Null => return None,
        other => other.to_string(),
    };
    Some(text)
}

/// What comes after `shown` in `whole`, if it begins with it. Spaces and line breaks do not count.
pub(crate) fn rest_after<'a>(whole: &'a str, shown: &str) -> Option<&'a str> {
    let mut rest = whole;
    for wanted in shown.chars().filter(|c| !c.is_whitespace()) {
        rest = rest.trim_start().strip_prefix(wanted)?;
    }
    Some(rest)
}
