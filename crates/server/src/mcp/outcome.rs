//! What a client is told about a question: the answer, or that there is none yet.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{Decision, DecisionKind, RequestId};

use crate::error::ApiError;

/// When a client should ask again, in seconds.
const POLL_AFTER: u32 = 5;

/// Where a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    /// A person has answered.
    Answered,
    /// Nobody has answered yet.
    Pending,
    /// Its time was over before somebody answered.
    Expired,
    /// It was taken back.
    Withdrawn,
}

/// A question as it stands, and the answer to it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Outcome {
    /// Where it stands: only `answered` is an answer.
    pub(super) status: Standing,
    /// The id of the request.
    request: String,
    /// The id of its run.
    run: String,
    /// Whether a person agreed. There for approvals only.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<bool>,
    /// What the person decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<DecisionKind>,
    /// What the person answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    /// What was approved: the arguments as they are to be used now, perhaps changed by the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// What the person said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// A digest of what was shown for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// When the question stops being answerable.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// Where it is on the server, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// When to ask again, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    poll_after_seconds: Option<u32>,
    /// What to do now.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Outcome {
    /// What there is to say of a request.
    pub(super) fn of(request: &Request) -> Self {
        let approval = request.body.allowed.contains(&DecisionKind::Approve);
        let mut outcome = Self {
            status: standing(request.status),
            request: request.id.to_string(),
            run: request.run.to_string(),
            approved: approval.then_some(false),
            decision: None,
            answer: None,
            value: None,
            note: None,
            reason: None,
            by: None,
            at: None,
            digest: request.body.context["digest"].as_str().map(str::to_owned),
            expires_at: request.body.expires_at.map(signoff_core::Timestamp::rfc3339),
            address: None,
            poll_after_seconds: None,
            next: None,
        };
        if let Some(taken) = &request.decision {
            outcome.decision = Some(taken.decision.kind());
            outcome.by = Some(taken.by.to_string());
            outcome.at = Some(taken.at.rfc3339());
            outcome.decided(&taken.decision, request, approval);
        }
        outcome.next = next(outcome.status, &request.id, approval);
        if outcome.status == Standing::Pending {
            outcome.poll_after_seconds = Some(POLL_AFTER);
            outcome.address = Some(format!("/v1/requests/{}", request.id));
        }
        outcome
    }

    fn decided(&mut self, decision: &Decision, request: &Request, approval: bool) {
        match decision {
            Decision::Respond { content } => self.answer = Some(content.clone()),
            Decision::Approve { note, .. } => {
                self.note.clone_from(note);
                self.value = request.body.proposal().cloned();
            }
            Decision::Edit { value, note } => {
                self.note.clone_from(note);
                self.value = Some(value.clone());
            }
            Decision::Reject { reason, .. }
            | Decision::Skip { reason }
            | Decision::Abort { reason } => self.reason.clone_from(reason),
            Decision::Revise { feedback }
            | Decision::Redo { feedback }
            | Decision::Retry { feedback }
            | Decision::Rollback { feedback } => self.note.clone_from(feedback),
        }
        if approval {
            self.approved =
                Some(matches!(decision, Decision::Approve { .. } | Decision::Edit { .. }));
        }
    }

    /// The same as JSON.
    pub(super) fn to_value(&self) -> Result<Value, ApiError> {
        serde_json::to_value(self).map_err(|error| ApiError::internal(&error))
    }
}

fn standing(status: RequestStatus) -> Standing {
    match status {
        RequestStatus::Pending => Standing::Pending,
        RequestStatus::Decided => Standing::Answered,
        RequestStatus::Expired => Standing::Expired,
        RequestStatus::Cancelled => Standing::Withdrawn,
    }
}

/// What a model should do; it may never go on as if it had been answered.
fn next(status: Standing, id: &RequestId, approval: bool) -> Option<String> {
    let refrain = if approval {
        "This is no approval: do not do it."
    } else {
        "There is no answer: do not make one up."
    };
    Some(match status {
        Standing::Answered => return None,
        Standing::Pending => format!(
            "Nobody has answered yet; the question stays in the inbox for people. Call get_answer with \
             request `{id}` to go on waiting. {refrain}"
        ),
        Standing::Expired => format!("Nobody answered in time. {refrain}"),
        Standing::Withdrawn => format!("The question was taken back. {refrain}"),
    })
}
