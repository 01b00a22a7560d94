//! Where a run stands, in one word.

use serde::{Deserialize, Serialize};

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Something can move.
    Running,
    /// Nothing can move until a person answers or a time comes.
    Waiting,
    /// A person paused it.
    Paused,
    /// It is done.
    Completed,
    /// It could not go on.
    Failed,
    /// A person stopped it.
    Cancelled,
}

impl RunStatus {
    /// The word used on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status written as `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Running, Self::Waiting, Self::Paused, Self::Completed, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == word)
    }

    /// Whether the run is over.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
