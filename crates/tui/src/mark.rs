//! What is done to a request besides deciding it: who looks after it, when it is looked at again, what is said about it.

use signoff_client::{ClientError, Server};
use signoff_core::{Request, RequestId, Span};

use crate::text::line;

/// Something to be done to a request that decides nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// We look after it.
    Claim,
    /// We no longer do.
    Release,
    /// This one does; nobody, if nobody is named.
    Reassign(Option<String>),
    /// Somebody says something about it.
    Comment(String),
    /// It is out of sight for so long, or until a time; with a reason, perhaps.
    Defer(String, Option<String>),
}

impl Mark {
    /// What was typed as a time and perhaps a reason: `2h`, `1d after the meeting`.
    pub(crate) fn defer(typed: &str) -> Result<Self, String> {
        let (when, why) =
            typed.trim().split_once(char::is_whitespace).unwrap_or((typed.trim(), ""));
        if when.parse::<Span>().is_err() && when.parse::<signoff_core::Timestamp>().is_err() {
            return Err("how long? For example 30m, 2h, 1d, or 2026-11-16T09:00:00Z".to_owned());
        }
        let why = Some(why.trim().to_owned()).filter(|it| !it.is_empty());
        Ok(Self::Defer(when.to_owned(), why))
    }

    /// Who was typed; nobody, if nothing was.
    pub(crate) fn reassign(typed: &str) -> Self {
        Self::Reassign(Some(typed.trim().to_owned()).filter(|it| !it.is_empty()))
    }

    /// What is said of it once it is done.
    pub(crate) fn done(&self) -> String {
        match self {
            Self::Claim => "claimed".to_owned(),
            Self::Release => "let go".to_owned(),
            Self::Reassign(Some(to)) => format!("given to {}", line(to)),
            Self::Reassign(None) => "nobody looks after it now".to_owned(),
            Self::Comment(_) => "commented".to_owned(),
            Self::Defer(when, _) if when.parse::<Span>().is_ok() => {
                format!("put off for {when}; it comes back by itself")
            }
            Self::Defer(when, _) => {
                format!("put off until {}; it comes back by itself", line(when))
            }
        }
    }

    /// Has the server do it.
    pub(crate) async fn carry_out(
        &self,
        server: &Server,
        id: &RequestId,
    ) -> Result<Request, ClientError> {
        match self {
            Self::Claim => server.claim(id).await,
            Self::Release => server.release(id).await,
            Self::Reassign(to) => server.reassign(id, to.as_deref()).await,
            Self::Comment(text) => server.comment(id, text).await,
            Self::Defer(when, why) => {
                let name = if when.parse::<Span>().is_ok() { "for" } else { "until" };
                server.defer(id, (name, when), why.as_deref()).await
            }
        }
    }
}
