//! What can go wrong between an agent elsewhere and us.

use signoff_core::journal::ErrorInfo;
use signoff_core::text::clean;
use signoff_net::NetError;

/// The longest message of a stranger that is kept, in bytes.
pub(crate) const MAX_SAID: usize = 4 * 1024;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Config(String),
    #[error("its card cannot be used: {problem}")]
    Card { problem: String, hint: &'static str },
    #[error("{0}")]
    Auth(String),
    #[error("it cannot be reached: {problem}")]
    Unavailable {
        problem: String,
        /// Whether what we sent may have arrived.
        arrived: bool,
    },
    #[error("it does not answer as the protocol says: {0}")]
    Protocol(String),
    #[error("it refuses: {0}")]
    Refused(String),
    #[error("it does not know the task any more")]
    TaskLost,
    #[error("the task went on with another answer than ours")]
    Overtaken,
}

impl Failure {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Config(_) => "a2a_config",
            Self::Card { .. } => "a2a_card",
            Self::Auth(_) => "a2a_auth",
            Self::Unavailable { .. } => "a2a_unavailable",
            Self::Protocol(_) => "a2a_protocol",
            Self::Refused(_) => "a2a_refused",
            Self::TaskLost => "a2a_task_lost",
            Self::Overtaken => "a2a_overtaken",
        }
    }

    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Config(_) | Self::Refused(_) => None,
            Self::Card { hint, .. } => Some(hint),
            Self::Auth(_) => Some("look at `token_env` and `headers_env`, and at what they name"),
            Self::Unavailable { .. } => Some("look at `url`, and whether the agent runs"),
            Self::Protocol(_) => Some("look whether `url` leads to the agent and nothing between"),
            Self::Overtaken => Some(
                "somebody else answered, such as the run this is a fork of; trying again begins a new task",
            ),
            Self::TaskLost => Some("it may have been restarted; trying again begins a new task"),
        }
    }

    /// Whether it may pass by itself.
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Protocol(_))
    }

    /// Whether another card might explain it.
    pub(crate) fn doubts(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Protocol(_) | Self::Card { .. })
    }

    /// Whether what was sent has not arrived, for sure.
    pub(crate) fn is_before(&self) -> bool {
        matches!(self, Self::Unavailable { arrived: false, .. } | Self::Card { .. })
    }

    /// The failure of a message that would have begun a task.
    pub(crate) fn at_the_beginning(&self, agent: &str) -> ErrorInfo {
        let info = self.info(agent);
        if matches!(self, Self::Unavailable { arrived: true, .. } | Self::Protocol(_)) {
            return info.hint("it may have begun all the same: look there before trying again");
        }
        info
    }

    /// The failure as it is journaled and shown.
    pub(crate) fn info(&self, agent: &str) -> ErrorInfo {
        let message = clean(&format!("remote agent `{agent}`: {self}"), MAX_SAID);
        let info = ErrorInfo::new(self.code(), message);
        match self.hint() {
            Some(hint) => info.hint(hint),
            None => info,
        }
    }
}

impl From<NetError> for Failure {
    fn from(error: NetError) -> Self {
        let arrived = match &error {
            NetError::Refused { .. } | NetError::Tls { .. } => false,
            NetError::Timeout { phase, .. } => *phase != "connecting",
            NetError::TooLarge { .. } => {
                return Self::Protocol(error.to_string());
            }
            NetError::Connect { problem, begun, .. } => *begun || !problem.contains("refused"),
        };
        Self::Unavailable { problem: error.to_string(), arrived }
    }
}
