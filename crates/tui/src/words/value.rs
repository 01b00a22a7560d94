//! JSON values as people read them.

use serde_json::Value;

use crate::text::printable;

/// Text as it is, anything else as JSON on several lines.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// A value on one line: text as it is, anything else as JSON.
pub fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An object as a small table, numbers to the right; anything else as it is.
pub fn fields(value: &Value, indent: &str) -> String {
    let Value::Object(fields) = value else {
        return printable(&plain(value))
            .lines()
            .map(|line| format!("{indent}{line}"))
            .collect::<Vec<_>>()
            .join("\n");
    };
    let cells: Vec<(String, String, bool)> = fields
        .iter()
        .map(|(name, value)| (printable(name), printable(&inline(value)), value.is_number()))
        .collect();
    let names = cells.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let numbers = cells.iter().filter(|(.., number)| *number);
    let width = numbers.map(|(_, text, _)| text.chars().count()).max().unwrap_or(0);
    let lines = cells.iter().map(|(name, text, number)| {
        let pad = if *number { width.saturating_sub(text.chars().count()) } else { 0 };
        format!("{indent}{name:names$}  {}{text}", " ".repeat(pad))
    });
    lines.collect::<Vec<_>>().join("\n")
}
