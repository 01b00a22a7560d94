//! Requests as a person at such a terminal reads and names them.

use std::fmt::Write as _;

use serde_json::Value;
use signoff_core::text::{clean, digest};
use signoff_core::{DecisionKind, Request, RequestBody, RunId};

/// How much of a question is shown, in bytes.
const MAX_SHOWN: usize = 16 * 1024;
/// How much of one fact.
const MAX_FACT: usize = 1024;

/// The handle of a request of this run or its parts. It stays the same for as long as the request is there.
pub(super) fn handle(run: &RunId, request: &Request) -> String {
    match request.id.split() {
        Some((of, no)) if of == *run => no.to_string(),
        // Numbers count within a run; those of its parts might be the same.
        _ => format!("p{}", digest(request.id.as_str(), 4)),
    }
}

/// A text that names a request: the handle and the answer.
pub(super) fn addressed(text: &str) -> Option<(&str, &str)> {
    let (handle, answer) = text.strip_prefix('#')?.split_once(char::is_whitespace)?;
    (!handle.is_empty()).then(|| (handle, answer.trim()))
}

/// Everything a person needs to answer it. `said` means that the prompt itself has just been read.
pub(crate) fn written(body: &RequestBody, handle: Option<&str>, said: bool) -> String {
    let mut text = String::new();
    if let Some(handle) = handle {
        let _ = write!(text, "[#{handle}] ");
    }
    if !said || handle.is_some() {
        text.push_str(body.prompt.trim());
    }
    for (number, choice) in (1..).zip(&body.options) {
        let _ = write!(text, "\n  {number}. {}", choice.label);
        if let Some(more) = &choice.description {
            let _ = write!(text, ": {more}");
        }
    }
    if let Some(proposal) = body.shown_proposal() {
        text.push('\n');
        text.push_str(&indented(proposal));
    }
    for warning in body.warnings() {
        let _ = write!(text, "\n  ! {warning}");
    }
    for (name, value) in facts(&body.context) {
        let _ = write!(text, "\n  {name}: {value}");
    }
    // A plain question needs no explanation.
    if !is_plain(body) {
        let _ = write!(text, "\n({})", ways(body));
    }
    if let Some(at) = body.expires_at {
        let _ = write!(text, "\n(answer by {})", at.rfc3339());
    }
    clean(text.trim_start_matches('\n'), MAX_SHOWN)
}

/// What else a person should know: what is done if it is approved, why something failed.
fn facts(context: &Value) -> impl Iterator<Item = (&String, String)> {
    let fields = context.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, value)| {
        !matches!(name.as_str(), "proposal" | "shown" | "warnings" | "options") && !value.is_null()
    });
    fields.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name, clean(&text, MAX_FACT))
    })
}

fn is_plain(body: &RequestBody) -> bool {
    body.options.is_empty()
        && body.response_schema["type"] == "string"
        && body.allowed.contains(&DecisionKind::Respond)
}

/// What can be answered, in a few words.
fn ways(body: &RequestBody) -> String {
    let mut ways: Vec<&str> = Vec::new();
    for kind in &body.allowed {
        ways.push(match kind {
            DecisionKind::Respond if !body.options.is_empty() => "a number or a name",
            DecisionKind::Respond => match body.response_schema["type"].as_str() {
                Some("string") => "text",
                Some("boolean") => "yes or no",
                _ => "JSON",
            },
            DecisionKind::Approve => "yes",
            DecisionKind::Reject => "no, REASON",
            DecisionKind::Edit => "the changed value as JSON",
            other => other.as_str(),
        });
    }
    ways.join(" / ")
}

/// A proposal line by line.
fn indented(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
