//! Answers given as text: what a person typed, or wrote down before, as a decision.
//!
//! Doubt closes: what does not clearly mean one of the allowed decisions is refused, with what would
//! have been accepted. A yes with conditions is not a yes.

mod written;

use serde_json::Value;

use crate::decision::{Decision, DecisionKind, MAX_ANSWER_BYTES, Then};
use crate::request::{Choice, RequestBody};

pub use written::Answers;

const YES: &[&str] = &["yes", "y", "approve", "approved", "ok", "okay"];
const NO: &[&str] = &["no", "n", "reject", "rejected", "deny"];

/// The decision that `text` means as an answer to `request`. Never one that the request refuses; if
/// there is none, says what would be accepted.
pub fn from_text(request: &RequestBody, text: &str) -> Result<Decision, String> {
    let text = text.trim();
    if text.len() > MAX_ANSWER_BYTES {
        return Err(format!("the answer is longer than {MAX_ANSWER_BYTES} bytes"));
    }
    if text.is_empty() {
        return Err(format!("the answer is empty; {}", accepted(request)));
    }
    let mut refused = None;
    let candidates = option(request, text)
        .into_iter()
        .chain(word(request, text))
        .chain(edit(request, text))
        .chain(respond(request, text))
        .chain(feedback(request, text));
    for decision in candidates {
        match request.check(&decision) {
            Ok(()) => return Ok(decision),
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    let why = match refused {
        Some(crate::decision::Refusal::Invalid { problems }) => {
            format!("the answer does not fit: {}", problems.join("; "))
        }
        _ => format!("`{}` is not an answer to this", shorten(text)),
    };
    Err(format!("{why}; {}", accepted(request)))
}

/// The decision that a value from a file means: text as it would be typed, anything else as itself.
pub(crate) fn from_value(request: &RequestBody, value: &Value) -> Result<Decision, String> {
    match value {
        Value::String(text) => from_text(request, text),
        Value::Bool(flag) => from_text(request, &flag.to_string())
            .or_else(|_| from_text(request, if *flag { "yes" } else { "no" })),
        Value::Null => from_text(request, ""),
        other => from_text(request, &other.to_string()),
    }
}

/// What would be accepted as an answer, as one sentence without a full stop.
pub fn accepted(request: &RequestBody) -> String {
    let mut ways: Vec<String> = Vec::new();
    for kind in &request.allowed {
        ways.push(match kind {
            DecisionKind::Respond if !request.options.is_empty() => {
                let options = request.options.iter().enumerate();
                let listed: Vec<String> = options
                    .take(20)
                    .map(|(n, choice)| format!("{} ({})", n + 1, shorten(&choice.label)))
                    .collect();
                listed.join(", ")
            }
            DecisionKind::Respond => match request.response_schema["type"].as_str() {
                Some("string") => "text".to_owned(),
                Some("boolean") => "`yes` or `no`".to_owned(),
                Some(kind) => format!("JSON of type {kind}"),
                None => "a value that fits".to_owned(),
            },
            DecisionKind::Approve => "`yes`".to_owned(),
            DecisionKind::Reject => "`no` or `no, REASON`".to_owned(),
            DecisionKind::Edit => "the changed value as JSON".to_owned(),
            DecisionKind::Revise
            | DecisionKind::Redo
            | DecisionKind::Retry
            | DecisionKind::Rollback => {
                format!("`{kind}` or `{kind}: FEEDBACK`")
            }
            DecisionKind::Skip | DecisionKind::Abort => format!("`{kind}`"),
        });
    }
    format!("accepted: {}", ways.join("; "))
}

/// One of the options, by value, label, number, or an unmistakable beginning.
fn option(request: &RequestBody, text: &str) -> Option<Decision> {
    let options = &request.options;
    let wanted = text.to_lowercase();
    let value_text = |choice: &Choice| match &choice.value {
        Value::String(text) => text.to_lowercase(),
        other => other.to_string().to_lowercase(),
    };
    let only = |fits: &dyn Fn(&Choice) -> bool| {
        let mut found = options.iter().filter(|choice| fits(choice));
        let first = found.next()?;
        found.all(|other| other.value == first.value).then_some(first)
    };
    let by_number = || text.parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?));
    let choice = only(&|choice| value_text(choice) == wanted)
        .or_else(|| only(&|choice| choice.label.to_lowercase() == wanted))
        .or_else(by_number)
        .or_else(|| {
            only(&|choice| {
                value_text(choice).starts_with(&wanted)
                    || choice.label.to_lowercase().starts_with(&wanted)
            })
        })?;
    Some(Decision::respond(choice.value.clone()))
}

/// A decision by its name or by `yes` and `no`, with what follows it.
fn word(request: &RequestBody, text: &str) -> Option<Decision> {
    let (word, rest, colon) = match text.find([':', ',']) {
        Some(at) => (&text[..at], text[at + 1..].trim(), text[at..].starts_with(':')),
        None => (text.trim_end_matches(['.', '!']), "", true),
    };
    let word = word.trim().to_lowercase();
    let rest = (!rest.is_empty()).then(|| rest.to_owned());
    let is = |kind: DecisionKind, words: &[&str]| {
        request.allowed.contains(&kind) && (words.contains(&word.as_str()) || word == kind.as_str())
    };
    if is(DecisionKind::Reject, NO) {
        return Some(Decision::reject(rest, Then::Continue));
    }
    // "yes, if it is cheaper" is a condition; "approve: as discussed" is a remark.
    if rest.is_some() && !colon {
        return None;
    }
    if is(DecisionKind::Approve, YES) {
        return Some(Decision::Approve { note: rest, remember: None });
    }
    if is(DecisionKind::Revise, &[]) {
        return Some(Decision::Revise { feedback: rest });
    }
    if is(DecisionKind::Redo, &[]) {
        return Some(Decision::Redo { feedback: rest });
    }
    if is(DecisionKind::Retry, &[]) {
        return Some(Decision::Retry { feedback: rest });
    }
    if is(DecisionKind::Skip, &[]) {
        return Some(Decision::Skip { reason: rest });
    }
    if is(DecisionKind::Rollback, &["undo"]) {
        return Some(Decision::Rollback { feedback: rest });
    }
    is(DecisionKind::Abort, &[]).then_some(Decision::Abort { reason: rest })
}

/// The proposal with changes, as JSON.
fn edit(request: &RequestBody, text: &str) -> Option<Decision> {
    if !request.allowed.contains(&DecisionKind::Edit) {
        return None;
    }
    let explicit = text.strip_prefix("edit:").map(str::trim);
    let value = match serde_json::from_str(explicit.unwrap_or(text)) {
        Ok(value) => value,
        Err(_) => Value::String(explicit?.to_owned()),
    };
    Some(Decision::Edit { value, note: None })
}

/// A free answer: as text if that fits, else as what the text says in JSON, else as yes or no.
fn respond(request: &RequestBody, text: &str) -> Vec<Decision> {
    if !request.allowed.contains(&DecisionKind::Respond) {
        return Vec::new();
    }
    let mut values = vec![Value::String(text.to_owned())];
    let parsed = serde_json::from_str::<Value>(text).ok();
    let lower = text.to_lowercase();
    let said = match () {
        () if YES.contains(&lower.as_str()) => Some(Value::Bool(true)),
        () if NO.contains(&lower.as_str()) => Some(Value::Bool(false)),
        () => None,
    };
    // The first one that is refused gives the reason, so what the schema asks for goes first.
    match parsed {
        Some(value) if request.response_schema["type"].as_str().is_some_and(|t| t != "string") => {
            values.insert(0, value);
        }
        Some(value) => values.push(value),
        None => {}
    }
    values.extend(said);
    values.into_iter().map(|content| Decision::Respond { content }).collect()
}

/// Where feedback is asked for, whatever is said is feedback: it will be shown again.
fn feedback(request: &RequestBody, text: &str) -> Option<Decision> {
    request
        .allowed
        .contains(&DecisionKind::Revise)
        .then(|| Decision::Revise { feedback: Some(text.to_owned()) })
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
