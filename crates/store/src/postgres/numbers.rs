//! The numbers that batches give: the one row of the table `state`.

use tokio_postgres::Row;

use super::columns::Columns as _;
use super::error::Stop;

/// Reads the row, and lets no other batch begin.
pub(super) const LOCK: &str =
    "SELECT runs, requests, notes, events, timers, conversations, grants, audit, audit_hash
    FROM state FOR UPDATE";

/// The numbers given last.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    pub(super) runs: i64,
    pub(super) requests: i64,
    pub(super) notes: i64,
    pub(super) events: i64,
    pub(super) timers: i64,
    pub(super) conversations: i64,
    pub(super) grants: i64,
    pub(super) audit: u64,
    pub(super) audit_hash: String,
}

/// A kind of thing that is numbered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbered {
    Run,
    Request,
    Note,
    Event,
    Timer,
    Conversation,
    Grant,
}

impl Numbers {
    /// What a row of [`LOCK`] says.
    pub(super) fn read(row: &Row) -> Result<Self, Stop> {
        Ok(Self {
            runs: row.int(0)?,
            requests: row.int(1)?,
            notes: row.int(2)?,
            events: row.int(3)?,
            timers: row.int(4)?,
            conversations: row.int(5)?,
            grants: row.int(6)?,
            audit: row.number(7)?,
            audit_hash: row.text(8)?,
        })
    }

    /// The next number of a kind.
    pub(super) fn next(&mut self, what: Numbered) -> i64 {
        let last = match what {
            Numbered::Run => &mut self.runs,
            Numbered::Request => &mut self.requests,
            Numbered::Note => &mut self.notes,
            Numbered::Event => &mut self.events,
            Numbered::Timer => &mut self.timers,
            Numbered::Conversation => &mut self.conversations,
            Numbered::Grant => &mut self.grants,
        };
        *last += 1;
        *last
    }
}
