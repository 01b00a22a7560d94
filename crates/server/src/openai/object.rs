//! The response object.

use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, Usage};
use signoff_core::{ConversationId, Name, RequestId, Timestamp};

use super::id::ResponseId;
use crate::error::Problem;

/// How a response ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// The run waits for people, or went on from there by what somebody gave it.
    Waiting,
    /// The same, and what was sent was not taken.
    Refused,
    /// A person paused the run.
    Paused,
    Completed,
    Failed(ErrorInfo),
    Cancelled,
}

impl Ending {
    /// The response's status. A question to people is a whole response: it ends with a function call.
    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::Waiting | Self::Completed => "completed",
            Self::Paused => "incomplete",
            Self::Failed(_) | Self::Refused => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The event that tells it. There is none for what was stopped, so that is told as incomplete.
    pub(super) fn event(&self) -> &'static str {
        match self {
            Self::Waiting | Self::Completed => "response.completed",
            Self::Paused | Self::Cancelled => "response.incomplete",
            Self::Failed(_) | Self::Refused => "response.failed",
        }
    }

    /// Where the workflow stands then, in the words of the Agent Framework.
    pub(super) fn state(&self) -> &'static str {
        match self {
            Self::Waiting | Self::Refused => "IDLE_WITH_PENDING_REQUESTS",
            Self::Paused | Self::Completed => "IDLE",
            Self::Failed(_) => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    fn run_status(&self) -> &'static str {
        match self {
            Self::Waiting | Self::Refused => "waiting",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a response object is made of.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) id: &'a ResponseId,
    pub(super) workflow: &'a Name,
    pub(super) conversation: &'a ConversationId,
    pub(super) created_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) ending: Option<&'a Ending>,
    pub(super) pending: &'a [RequestId],
    pub(super) output: &'a [Value],
    pub(super) usage: Usage,
}

impl Parts<'_> {
    pub(super) fn object(&self) -> Value {
        let status = self.ending.map_or("in_progress", Ending::status);
        let mut metadata = json!({
            "signoff.run": self.id.run,
            "signoff.status": self.ending.map_or("running", Ending::run_status),
        });
        if !self.pending.is_empty() {
            let ids: Vec<&str> = self.pending.iter().map(RequestId::as_str).collect();
            metadata["signoff.pending"] = ids.join(",").into();
        }
        let error = match self.ending {
            Some(Ending::Failed(error)) => {
                metadata["signoff.error"] = error.code.as_str().into();
                json!({ "code": "server_error", "message": error.message })
            }
            Some(Ending::Refused) => {
                metadata["signoff.error"] = Problem::InvalidAnswer.code().into();
                let message = "the answer was not taken; nothing was changed";
                json!({ "code": "server_error", "message": message })
            }
            _ => Value::Null,
        };
        let over = self.ending.is_some();
        json!({
            "id": self.id.to_string(),
            "object": "response",
            "created_at": self.created_at.0 / 1000,
            "completed_at": (status == "completed").then_some(self.ended_at.0 / 1000),
            "status": status,
            "model": self.workflow,
            "conversation": { "id": self.conversation },
            "output": self.output,
            "error": error,
            "incomplete_details": null,
            "metadata": metadata,
            "usage": over.then(|| usage(&self.usage)),
            "instructions": null,
            "previous_response_id": null,
            "parallel_tool_calls": true,
            "tool_choice": "auto",
            "tools": [],
            "temperature": null,
            "top_p": null,
        })
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": { "cached_tokens": usage.cached, "cache_write_tokens": 0 },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}

/// What was used between two moments.
pub(super) fn used(before: &Usage, after: &Usage) -> Usage {
    Usage {
        input: after.input.saturating_sub(before.input),
        output: after.output.saturating_sub(before.output),
        cached: after.cached.saturating_sub(before.cached),
        reasoning: after.reasoning.saturating_sub(before.reasoning),
        ..Usage::default()
    }
}
