//! Requests and decisions in a few words.

use serde_json::Value;
use signoff_core::Decision;
use signoff_core::request::RequestKind;

use super::value::{fields, inline};
use crate::text::short;

/// What a kind of request is called.
pub fn kind_title(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Input => "Question",
        RequestKind::Selection => "Choice",
        RequestKind::Approval => "Approval",
        RequestKind::PlanReview => "Plan review",
        RequestKind::StepBefore => "Before a step",
        RequestKind::StepAfter => "After a step",
        RequestKind::StepError => "Something failed",
        RequestKind::ToolCall => "A tool call",
        RequestKind::InDoubt => "In doubt",
    }
}

/// A decision in a few words.
pub fn decision(decision: &Decision) -> String {
    let with = |word: &str, more: &Option<String>| match more {
        Some(more) => format!("{word}: {}", short(more, 120)),
        None => word.to_owned(),
    };
    match decision {
        Decision::Respond { content } => format!("answered: {}", short(&inline(content), 120)),
        Decision::Approve { note, .. } => with("approved", note),
        Decision::Edit { value, .. } => {
            format!("approved with changes: {}", short(&value.to_string(), 160))
        }
        Decision::Reject { reason, .. } => with("rejected", reason),
        Decision::Revise { feedback } => with("sent back", feedback),
        Decision::Redo { feedback } => with("to be done again", feedback),
        Decision::Retry { feedback } => with("to be tried again", feedback),
        Decision::Skip { reason } => with("skipped", reason),
        Decision::Rollback { feedback } => with("to be undone", feedback),
        Decision::Abort { reason } => with("aborted", reason),
    }
}

/// What of a context is shown elsewhere, or is for programs.
const HIDDEN: [&str; 10] = [
    "proposal",
    "shown",
    "warnings",
    "options",
    "result",
    "tool",
    "digest",
    "implementation",
    "policy",
    "on_timeout",
];

/// The small facts of a context; what is large is for `?`.
pub fn facts(context: &Value) -> String {
    let Value::Object(all) = context else { return String::new() };
    let facts: serde_json::Map<String, Value> = all
        .iter()
        .filter(|(name, value)| {
            !HIDDEN.contains(&name.as_str())
                && !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
        })
        .map(|(name, value)| (name.clone(), short(&inline(value), 200).into()))
        .collect();
    if facts.is_empty() { String::new() } else { fields(&Value::Object(facts), "  ") }
}
