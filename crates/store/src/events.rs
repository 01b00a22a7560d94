//! What happens to requests, in order, for those who are told of it elsewhere.
//!
//! An event is written in the transaction of the change it tells of, and only while somebody is to be told: who has
//! no webhook pays nothing. It is dropped when all of them have passed it.

use std::collections::BTreeSet;

use signoff_core::RequestNo;
use signoff_core::id::{Name, RequestId, Tenant};
use signoff_core::journal::{Entry, Event};
use signoff_core::time::{Span, Timestamp};

use crate::NodeId;

/// A webhook that nobody delivered for so long is not waited for any more.
pub(crate) const FORGOTTEN_AFTER: Span = Span::seconds(7 * 24 * 3600);

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happened {
    /// It was asked.
    Requested,
    /// Somebody voted on it, and others must agree.
    Voted,
    /// People were reminded of it.
    Reminded,
    /// Somebody put it off.
    Deferred,
    /// The time until which it was put off has come.
    Reopened,
    /// It was decided.
    Decided,
    /// Nobody answered in time.
    Expired,
    /// The run ended or went on without it.
    Cancelled,
}

impl Happened {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Requested,
        Self::Voted,
        Self::Reminded,
        Self::Deferred,
        Self::Reopened,
        Self::Decided,
        Self::Expired,
        Self::Cancelled,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Voted => "voted",
            Self::Reminded => "reminded",
            Self::Deferred => "deferred",
            Self::Reopened => "reopened",
            Self::Decided => "decided",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// What is written as `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.as_str() == word)
    }
}

/// Something that happened to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestEvent {
    /// Its number; they grow, perhaps with gaps, and none is ever used again.
    pub no: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Happened,
    /// To which request.
    pub request: RequestId,
    /// Whose that is.
    pub tenant: Tenant,
}

/// The right to deliver to a webhook, to be taken or prolonged.
#[derive(Clone, Debug)]
pub struct TakeWebhook {
    /// Which one.
    pub name: Name,
    /// Who delivers.
    pub node: NodeId,
    /// Now.
    pub now: Timestamp,
    /// For how long.
    pub ttl: Span,
}

/// A webhook has been told of everything up to an event.
#[derive(Clone, Debug)]
pub struct MoveWebhook {
    /// Which one.
    pub name: Name,
    /// Who delivered.
    pub node: NodeId,
    /// The number of that event.
    pub to: u64,
    /// Now.
    pub now: Timestamp,
    /// What is to be remembered, or forgotten, of what was told.
    pub posted: Option<Posted>,
}

/// What a request is known by where somebody was told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Which request.
    pub request: RequestId,
    /// What it is known by; none, if that is to be forgotten.
    pub reference: Option<String>,
}

/// Requests that `entries` both ask and close: a fork brings them along, and nobody was ever asked.
pub(crate) fn brought_along(entries: &[Entry]) -> BTreeSet<RequestNo> {
    let asked = entries.iter().filter_map(|entry| match &entry.event {
        Event::Asked { request, .. } => Some(*request),
        _ => None,
    });
    let asked: BTreeSet<RequestNo> = asked.collect();
    let closed = entries.iter().filter_map(|entry| match &entry.event {
        Event::Decided { request, .. }
        | Event::Expired { request }
        | Event::Withdrawn { request, .. } => Some(*request),
        _ => None,
    });
    closed.filter(|request| asked.contains(request)).collect()
}
