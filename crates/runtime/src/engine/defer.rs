//! Putting a request off: out of sight until a time, and then back by itself.

use signoff_core::request::{Request, RequestStatus};
use signoff_core::time::{Span, Timestamp};
use signoff_core::{Actor, Name, RequestId};
use signoff_store::{Mark, Marked, Noted, StoreError};

use super::{DecideError, Engine};

/// The longest a request is put off.
const LONGEST: Span = Span::seconds(90 * 24 * 3600);
/// The longest remark on it, in bytes.
const MAX_NOTE: usize = 16 * 1024;

/// A request that somebody wants to put off.
#[derive(Clone, Debug)]
pub struct DeferRequest {
    /// Which one.
    pub request: RequestId,
    /// Until when.
    pub until: Until,
    /// Why.
    pub note: Option<String>,
    /// Who.
    pub by: Actor,
    /// The roles they have.
    pub roles: Vec<Name>,
}

/// When something is to be in sight again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After so long.
    After(Span),
    /// At this time.
    At(Timestamp),
}

/// Why a request was not put off. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum DeferError {
    /// It does not wait any more, or others are asked.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// It cannot be put off until then.
    #[error("{problem}")]
    Invalid {
        /// Why not.
        problem: String,
        /// When it stops being answerable.
        expires_at: Option<Timestamp>,
    },
}

impl From<StoreError> for DeferError {
    fn from(error: StoreError) -> Self {
        Self::Decide(error.into())
    }
}

impl Engine {
    /// Puts a request off. Whoever may decide it may do so, and it can still be decided meanwhile; its deadline holds.
    pub async fn defer(&self, defer: DeferRequest) -> Result<Request, DeferError> {
        let DeferRequest { request: id, until, note, by, roles } = defer;
        let found = self.store().request(&id)?;
        let request = found.ok_or_else(|| DecideError::Unknown(id.clone()))?;
        open(&request)?;
        request.body.admit(&by, &roles).map_err(DecideError::from)?;
        let now = self.inner.clock.now();
        let until = match until {
            Until::At(until) => until,
            Until::After(span) => now.plus(span),
        };
        let expires_at = request.body.expires_at;
        let problem = if until <= now {
            Some("that time has passed already".to_owned())
        } else if until > now.plus(LONGEST) {
            Some(format!("a request is put off for {LONGEST} at most"))
        } else if note.as_ref().is_some_and(|note| note.len() > MAX_NOTE) {
            Some(format!("`note` has at most {MAX_NOTE} bytes"))
        } else {
            let expires = expires_at.filter(|end| until >= *end);
            expires.map(|end| format!("it expires at {end}, and nobody would see it before"))
        };
        if let Some(problem) = problem {
            return Err(DeferError::Invalid { problem, expires_at });
        }
        let text = note.filter(|note| !note.trim().is_empty());
        let mark = Mark { request: id, by, at: now, what: Noted::Deferred { until, text } };
        match self.store().mark(mark).await? {
            Marked::Done(request) | Marked::Held(request) => Ok(*request),
            Marked::Closed(request) => {
                open(&request)?;
                Ok(*request)
            }
        }
    }
}

/// An error if a request does not wait any more.
fn open(request: &Request) -> Result<(), DecideError> {
    let request = || Box::new(request.clone());
    match request().status {
        RequestStatus::Pending => Ok(()),
        RequestStatus::Decided => Err(DecideError::AlreadyDecided(request())),
        RequestStatus::Expired => Err(DecideError::Expired(request())),
        RequestStatus::Cancelled => Err(DecideError::Cancelled(request())),
    }
}
