//! What can go wrong between here and the server.

use signoff_net::NetError;

/// What a server says when it refuses.
#[derive(Clone, Debug, Default)]
pub struct Refused {
    /// The status of the answer.
    pub status: u16,
    /// The stable code.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientError {
    /// The address cannot be used.
    #[error("`{0}` is not the address of a server; write for example http://127.0.0.1:8484")]
    Address(String),
    /// Nobody answers, or the answer broke off.
    #[error("{0}")]
    Net(#[from] NetError),
    /// The server refused.
    #[error("{}", .0.message)]
    Refused(Box<Refused>),
    /// The answer is not what this client knows.
    #[error("the server's answer cannot be read: {0}")]
    Strange(String),
}

impl ClientError {
    /// The stable code, where the server gave one.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(refused) => &refused.code,
            Self::Net(error) => error.code(),
            Self::Address(_) => "invalid_address",
            Self::Strange(_) => "strange_answer",
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Refused(refused) => refused.hint.as_deref(),
            _ => None,
        }
    }

    /// Whether the same may succeed a little later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Net(NetError::Refused { .. } | NetError::Tls { .. }) | Self::Address(_) => false,
            Self::Net(_) | Self::Strange(_) => true,
            Self::Refused(refused) => refused.status == 429 || refused.status >= 500,
        }
    }

    pub(crate) fn strange(what: impl std::fmt::Display) -> Self {
        Self::Strange(what.to_string())
    }
}
