//! What happens to requests, and which actions a gate wants to be told of, in order, for those who are told of it elsewhere.
//!
//! An event is written in the transaction of the change it tells of, and only while somebody is to be told: who has
//! no webhook pays nothing. It is dropped when all of them have passed it.

use std::collections::BTreeSet;

use serde_json::json;
use signoff_core::id::{Name, RequestId, RunId, Seq, Tenant};
use signoff_core::journal::{Entry, Event, Gated};
use signoff_core::policy::Outcome;
use signoff_core::time::{Span, Timestamp};
use signoff_core::{Actor, RequestNo};

use crate::NodeId;

/// A webhook that nobody delivered for so long is not waited for any more.
pub(crate) const FORGOTTEN_AFTER: Span = Span::seconds(7 * 24 * 3600);

/// What a gate that only notes gives as its reason.
const AUDIT: &str = "audit";

/// What happened to a request, or to an action.
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
    /// No request: an action was done, or denied, that a gate with `ask: audit` is about.
    Audited,
}

impl Happened {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Requested,
        Self::Voted,
        Self::Reminded,
        Self::Deferred,
        Self::Reopened,
        Self::Decided,
        Self::Expired,
        Self::Cancelled,
        Self::Audited,
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
            Self::Audited => "audited",
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
    /// To which request. Of an action that was audited: its run, with the number of its journal entry in place of the
    /// number of a request.
    pub request: RequestId,
    /// Whose that is.
    pub tenant: Tenant,
}

impl RequestEvent {
    /// The run and the journal entry of an action that was audited.
    pub fn audited(&self) -> Option<(RunId, Seq)> {
        let (run, entry) = self.request.split().filter(|_| self.what == Happened::Audited)?;
        Some((run, entry.into()))
    }
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
    /// What the audit is to say of it.
    pub told: Option<Notified>,
}

/// Somebody was told of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notified {
    /// Of which.
    pub request: RequestId,
    /// Whose that is.
    pub tenant: Tenant,
    /// What had happened to it.
    pub what: Happened,
    /// What kind of channel told them.
    pub channel: &'static str,
    /// Whom, or where: nothing that opens anything.
    pub to: Vec<String>,
}

impl Notified {
    /// What the audit says of it.
    pub(crate) fn said(&self) -> String {
        let Self { what, channel, to, .. } = self;
        let event = what.as_str();
        json!({ "decision": "notified", "event": event, "channel": channel, "to": to }).to_string()
    }

    /// Who told them, as the audit says it: `channel:NAME`, or `webhook:NAME`. No person is called so.
    pub(crate) fn teller(name: &Name) -> Actor {
        if name.starts_with("channel:") {
            Actor::new(&**name)
        } else {
            Actor::new(format!("webhook:{name}"))
        }
    }
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

/// Whether `entries` begin a run: what they say was done, was done by the run that it was forked from.
pub(crate) fn begin_a_run(entries: &[Entry]) -> bool {
    entries.first().is_some_and(|first| first.seq == 1)
}

/// The number by which an action is told of, of the journal entry that has it; none, if no gate wants that, or if a fork
/// brings it along. A question about it is told of by itself.
pub(crate) fn audited(entries: &[Entry], entry: &Entry, gated: &Gated) -> Option<RequestNo> {
    let wanted = gated.reasons.iter().any(|reason| reason.criterion == AUDIT);
    if begin_a_run(entries) || !wanted || gated.outcome == Outcome::Ask {
        return None;
    }
    RequestNo::try_from(entry.seq).ok()
}
