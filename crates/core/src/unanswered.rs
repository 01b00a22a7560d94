//! What follows when the deadline of a request passes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::OnTimeout;

/// What follows if nobody answers a request in time. Whoever asks says so beforehand, for people to see; it changes nothing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unanswered {
    /// It is not done, and the agent is told so.
    Deny,
    /// It is left out.
    Skip,
    /// The run is paused.
    Pause,
    /// The run does not go on.
    Abort,
    /// Others are asked.
    Escalate,
    /// It is done, or stands as it is.
    Approve,
    /// The answer that was set for this counts.
    Default,
    /// Whoever asked is told, and goes on without an answer.
    Continue,
    /// What failed stays failed.
    Fail,
}

impl Unanswered {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Deny,
        Self::Skip,
        Self::Pause,
        Self::Abort,
        Self::Escalate,
        Self::Approve,
        Self::Default,
        Self::Continue,
        Self::Fail,
    ];

    /// What follows, in a few words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Deny => "it is denied",
            Self::Skip => "it is skipped",
            Self::Pause => "the run is paused",
            Self::Abort => "the run ends",
            Self::Escalate => "others are asked",
            Self::Approve => "it counts as approved",
            Self::Default => "a default answer counts",
            Self::Continue => "it goes on without an answer",
            Self::Fail => "it stays failed",
        }
    }
}

impl From<OnTimeout> for Unanswered {
    fn from(gate: OnTimeout) -> Self {
        match gate {
            OnTimeout::Deny => Self::Deny,
            OnTimeout::Skip => Self::Skip,
            OnTimeout::Pause => Self::Pause,
            OnTimeout::Abort => Self::Abort,
            OnTimeout::Escalate => Self::Escalate,
            OnTimeout::Approve => Self::Approve,
        }
    }
}
