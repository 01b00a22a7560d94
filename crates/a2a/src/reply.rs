//! What a task gave, as an agent's answer.

use std::fmt::Write as _;

use signoff_core::text::clean;

use crate::wire::{Message, Part, Role, Task};

/// The longest answer, in bytes.
const MAX_ANSWER: usize = 256 * 1024;
/// The longest name or address of a file that is told, in bytes.
const MAX_FILE: usize = 2 * 1024;

/// The answer of a task that is done: what it made; if it made nothing, what the agent said last.
pub(crate) fn of_task(task: &Task) -> String {
    let made: Vec<&[Part]> =
        task.artifacts.iter().map(|artifact| artifact.parts.as_slice()).collect();
    let answer = spelled(&made);
    if !answer.is_empty() {
        return answer;
    }
    let last = task.history.iter().rev().find(|message| message.role == Role::Agent);
    let said = [task.status.message.as_ref(), last];
    said.into_iter().flatten().map(of_message).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The answer in a message.
pub(crate) fn of_message(message: &Message) -> String {
    spelled(&[&message.parts])
}

/// Text as it is; a single value as its JSON, so that an answer that is a value is nothing but that.
fn spelled(groups: &[&[Part]]) -> String {
    let groups: Vec<String> =
        groups.iter().map(|parts| lines(parts)).filter(|text| !text.is_empty()).collect();
    let whole = groups.join("\n\n");
    bounded(whole)
}

fn lines(parts: &[Part]) -> String {
    let pieces = parts.iter().filter_map(|part| {
        if let Some(text) = &part.text {
            return Some(text.clone());
        }
        if let Some(data) = &part.data {
            return Some(data.to_string());
        }
        let name = part.filename.as_deref().or(part.media_type.as_deref()).unwrap_or("a file");
        let name = clean(name, MAX_FILE);
        match (&part.url, &part.raw) {
            (Some(url), _) => Some(format!("[{name}: {}]", clean(url, MAX_FILE))),
            (None, Some(raw)) => Some(format!("[{name}: {} bytes, left out]", raw.len() / 4 * 3)),
            (None, None) => None,
        }
    });
    pieces.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_ANSWER {
        let mut end = MAX_ANSWER;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let all = text.len();
        text.truncate(end);
        let _ = write!(text, "\n[the answer has {all} bytes; the rest is left out]");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(task: Value) -> String {
        of_task(&serde_json::from_value(task).unwrap())
    }

    #[test]
    fn artifacts_count_before_words() {
        let done = json!({ "state": "TASK_STATE_COMPLETED", "message": {
            "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "finished" }],
        } });
        let draft = json!({ "artifactId": "a", "parts": [{ "text": "draft" }] });
        let value = json!({ "artifactId": "b", "parts": [{ "data": { "sum": 3 } }] });
        let task = |artifacts: Value| json!({ "id": "T", "status": done, "artifacts": artifacts });
        assert_eq!(answer(task(json!([draft, value]))), "draft\n\n{\"sum\":3}");
        assert_eq!(answer(task(json!([value]))), "{\"sum\":3}");
        assert_eq!(answer(task(json!([]))), "finished");
        let history = json!([
            { "messageId": "1", "role": "ROLE_AGENT", "parts": [{ "text": "here you are" }] },
            { "messageId": "2", "role": "ROLE_USER", "parts": [{ "text": "thanks" }] },
        ]);
        let quiet = json!({ "id": "T", "status": { "state": "completed" }, "history": history });
        assert_eq!(answer(quiet), "here you are");
        assert_eq!(answer(json!({ "id": "T", "status": { "state": "completed" } })), "");
    }

    #[test]
    fn files_are_named_and_floods_are_cut() {
        let parts =
            json!([{ "raw": "AAAAAAAA", "filename": "p.png" }, { "url": "https://x/y" }, {}]);
        let message: Message = serde_json::from_value(json!({ "parts": parts })).unwrap();
        assert_eq!(of_message(&message), "[p.png: 6 bytes, left out]\n[a file: https://x/y]");
        let flood =
            Message { parts: vec![Part::text("ä".repeat(MAX_ANSWER))], ..Message::default() };
        let kept = of_message(&flood);
        assert!(kept.len() < MAX_ANSWER + 100 && kept.ends_with("left out]"));
    }
}
