//! A request, and a decision on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signoff_core::request::{Choice, RequestKind, RequestStatus};
use signoff_core::{Decision, DecisionKind, Risk, Siblings, Unanswered};

/// A question to people. Written by [`signoff_core::Request::to_json`]; this says what it has.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Request {
    /// Its id.
    id: String,
    /// How often it changed; a decision may name the version it saw.
    version: u32,
    /// Where it stands.
    status: RequestStatus,
    /// What kind of question it is.
    kind: RequestKind,
    /// The run that asks.
    run: String,
    /// The workflow of that run.
    workflow: String,
    /// The conversation of that run.
    conversation: String,
    /// Who asks: from the top down to the one that asks.
    agent_path: Vec<String>,
    /// The question.
    prompt: String,
    /// What a person should know to answer it.
    context: Value,
    /// The answers of a selection.
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Vec<Choice>>,
    /// What a `respond` content or an `edit` value must fit.
    response_schema: Value,
    /// Which decisions it accepts.
    allowed: Vec<DecisionKind>,
    /// Why it is asked.
    reasons: Vec<String>,
    /// What it would do, as the system and not the model says it: `summary`, `diff` or `detail`.
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Value>,
    /// How much can go wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<Risk>,
    /// Who looks after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<String>,
    /// Who should answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    /// Who may decide, where not everybody: `who`, each of which must be content, and `barred`.
    #[serde(skip_serializing_if = "Option::is_none")]
    deciders: Option<Value>,
    /// When it was asked.
    created_at: String,
    /// When it stops being answerable.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// What follows if nobody has answered by then, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_timeout: Option<Unanswered>,
    /// The turn of an agent it belongs to: requests with the same are what one reply of its model wants to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    /// What becomes of the others of that turn if it is rejected; they are `independent`, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    siblings: Option<Siblings>,
    /// Until when somebody has put it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    deferred_until: Option<String>,
    /// Why it was taken back, where a decision on another request is why.
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn: Option<String>,
    /// The decision that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Taken>,
    /// What people noted on it, in order. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<Note>>,
}

/// Something that somebody noted on a request.
#[derive(Debug, Serialize, JsonSchema)]
struct Note {
    /// When.
    at: String,
    /// By whom.
    by: String,
    /// `claimed`, `released`, `assigned`, `commented`, `voted` (with the decision), `reminded`, `deferred` or `reopened`.
    what: String,
    /// Until when it is put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// Who looks after it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A decision with who took it and when.
#[derive(Debug, Serialize, JsonSchema)]
struct Taken {
    /// What was decided.
    #[serde(flatten)]
    decision: Value,
    /// By whom.
    by: String,
    /// When.
    at: String,
}

/// A request as clients see it.
pub(crate) fn request(request: &signoff_core::Request) -> Value {
    request.to_json()
}

/// The same with what was noted on it.
pub(crate) fn request_with_notes(
    request: &signoff_core::Request,
    notes: &[signoff_store::Note],
) -> Value {
    let mut shown = self::request(request);
    if !notes.is_empty() {
        shown["notes"] = notes.iter().map(note).collect();
    }
    shown
}

/// Something that was noted on a request.
pub(crate) fn note(note: &signoff_store::Note) -> Value {
    let mut shown = serde_json::to_value(note).unwrap_or_default();
    shown["at"] = note.at.rfc3339().into();
    if let signoff_store::Noted::Deferred { until, .. } = &note.what {
        shown["until"] = until.rfc3339().into();
    }
    shown
}

/// A decision to take: the decision's own fields, and these. Read field by field, so that what is
/// wrong with one is said of that one; this is for the document.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Decide {
    /// The decision.
    #[serde(flatten)]
    pub(crate) decision: Decision,
    /// The version of the request that the decider saw.
    pub(crate) version: Option<u32>,
    /// Names this decision. The same decision again is a success in any case.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) idempotency_key: Option<String>,
}
