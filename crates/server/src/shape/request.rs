//! A request, and a decision on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signoff_core::request::{Choice, RequestKind, RequestStatus};
use signoff_core::{Decision, DecisionKind};

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
    /// Who should answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    /// When it was asked.
    created_at: String,
    /// When it stops being answerable.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// The decision that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Taken>,
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
