//! Who is told elsewhere how a single run goes on.
//!
//! Nothing is written for them when something happens: what they are told is made of the run's journal, and a push
//! keeps how far they were told of it. So a run that nobody is told of pays nothing, and one that waits pays nothing
//! either.

use signoff_core::id::{Name, RunId, Seq, Tenant};
use signoff_core::time::{Span, Timestamp};

use crate::NodeId;

/// How many may be told of one run.
pub(crate) const MAX_PUSHES: usize = 16;

/// Somebody who is told how a run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Of which run.
    pub run: RunId,
    /// Whose that is.
    pub tenant: Tenant,
    /// What it is called, among those of the run.
    pub id: Name,
    /// Where to and with what. The store does not read it.
    pub body: String,
    /// How far they were told.
    pub told: Told,
}

/// How far somebody was told of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The last entry of the run's journal that they were told of.
    pub seq: Seq,
    /// Whether there is something to tell when runs that are part of it go on.
    pub parts: bool,
    /// What they were told of those. The store does not read it.
    pub of_parts: String,
    /// How often telling them has failed since it last succeeded.
    pub failed: u32,
    /// Since when it fails.
    pub failing_since: Option<Timestamp>,
}

/// Somebody is to be told.
#[derive(Clone, Debug)]
pub struct PutPush {
    /// Of which run.
    pub run: RunId,
    /// What it is called. One of that name is replaced, and goes on from where it was.
    pub id: Name,
    /// Where to and with what.
    pub body: String,
    /// From which entry on; the one after this is the first.
    pub from: Seq,
}

/// The right to tell those who have something to be told, to be taken.
#[derive(Clone, Debug)]
pub struct TakePushes {
    /// Who tells them.
    pub node: NodeId,
    /// Now.
    pub now: Timestamp,
    /// For how long.
    pub ttl: Span,
    /// At most so many.
    pub limit: usize,
}

/// How far somebody has been told, and what comes next. Gives the right back.
#[derive(Clone, Debug)]
pub struct MovePush {
    /// Of which run.
    pub run: RunId,
    /// What it is called.
    pub id: Name,
    /// Who told them.
    pub node: NodeId,
    /// How far they have been told.
    pub told: Told,
    /// When the run was looked at.
    pub looked_at: Timestamp,
    /// What comes next.
    pub next: NextPush,
}

/// What comes after somebody was told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPush {
    /// They are told more when there is more.
    News,
    /// They are told again, not before this.
    Again(Timestamp),
    /// They are told nothing more.
    Nothing,
}
