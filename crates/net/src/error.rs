//! What can go wrong on the way out. No variant carries a path, a query, a header or a body.

use std::error::Error;
use std::time::Duration;

/// What went wrong on the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The policy does not allow it; nothing was sent.
    #[error("{host} was not contacted: {reason}")]
    Refused {
        /// The host, or what stands for it.
        host: String,
        /// What the policy says.
        reason: String,
    },
    /// It took too long.
    #[error("{host}: {phase} took longer than {limit:?}")]
    Timeout {
        /// The host.
        host: String,
        /// What took so long.
        phase: &'static str,
        /// How long it may take.
        limit: Duration,
    },
    /// More came back than may.
    #[error("{host} sent more than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// How much may come back.
        limit: u64,
    },
    /// The other side could not be trusted, or did not speak TLS.
    #[error("{host}: no secure connection: {problem}")]
    Tls {
        /// The host.
        host: String,
        /// What TLS says.
        problem: String,
    },
    /// There is no connection, or it broke.
    #[error("{host}: {problem}")]
    Connect {
        /// The host.
        host: String,
        /// What the network says.
        problem: String,
        /// Whether an answer had begun when it broke.
        begun: bool,
    },
}

impl NetError {
    /// The stable code of this kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "net_refused",
            Self::Timeout { .. } => "net_timeout",
            Self::TooLarge { .. } => "net_too_large",
            Self::Tls { .. } => "net_tls",
            Self::Connect { .. } => "net_connect",
        }
    }

    pub(crate) fn refused(host: &str, reason: impl Into<String>) -> Self {
        Self::Refused { host: host.to_owned(), reason: reason.into() }
    }

    /// What the client underneath says, in our words. `begun`: an answer had begun.
    pub(crate) fn from_client(
        host: &str,
        error: &reqwest::Error,
        connect_limit: Duration,
        begun: bool,
    ) -> Self {
        let host = host.to_owned();
        let mut cause = error.source();
        let mut problem = String::new();
        while let Some(it) = cause {
            if let Some(refused) = it.downcast_ref::<NetError>() {
                return refused.clone();
            }
            if let Some(problem) = tls_problem(it) {
                return Self::Tls { host, problem };
            }
            // The innermost cause says most; those around it repeat it.
            problem = it.to_string();
            cause = it.source();
        }
        if error.is_timeout() && error.is_connect() {
            return Self::Timeout { host, phase: "connecting", limit: connect_limit };
        }
        if problem.is_empty() {
            "the connection failed".clone_into(&mut problem);
        }
        Self::Connect { host, problem, begun }
    }
}

/// What TLS says, if that is what is wrong. An `io::Error` hides what it wraps from `source`.
fn tls_problem(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls.to_string());
    }
    let inner: &(dyn Error + 'static) = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    tls_problem(inner)
}
