//! One transaction: what its commands write by, and the numbers it gives.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use futures_util::future::join3;
use signoff_core::RunId;
use tokio_postgres::{Error, Row};

use super::audit::AuditRows;
use super::columns::{Columns as _, read, stored};
use super::conn::{Bound, Conn};
use super::error::Stop;
use super::events::EventRows;
use super::fence::Fence;
use super::journal::JournalRows;
use super::memory::{KnownRun, Memory};
use super::numbers::{LOCK, Numbered, Numbers};
use super::text::Text;
use crate::StoreError;

/// A transaction that is open.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    conn: &'a Conn,
    pub(super) memory: &'a Memory,
    numbers: RefCell<Numbers>,
    wrote: Cell<bool>,
    /// Until when the webhook that was last delivered to is leased. None, if there is no webhook.
    webhook_until: Cell<Option<i64>>,
    /// What appends pass.
    pub(super) fence: Fence,
    // Rows that no command reads, written together at the end.
    pub(super) journal: RefCell<JournalRows>,
    pub(super) audit: RefCell<AuditRows>,
    pub(super) events: RefCell<EventRows>,
}

/// What became of a commit.
#[derive(Debug)]
pub(super) enum Commit {
    /// It is done.
    Done { wrote: bool },
    /// It is not done.
    Failed(Error),
    /// It may be done or not.
    Unknown(Error),
}

/// Who waits for other nodes waits longer than a plain batch.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '10s'";
const WEBHOOKS: &str = "SELECT max(lease_until) FROM webhooks";

/// What must be prepared before the first batch: a statement that is not is sent after those that are.
pub(super) const PREPARED: [&str; 2] = [LOCK, WEBHOOKS];

impl<'a> Batch<'a> {
    /// Begins a transaction, when no other is under way on any node.
    pub(super) async fn begin(conn: &'a Conn, memory: &'a Memory) -> Result<Self, Stop> {
        // Sent together, carried out one after another: each sees what was committed before it.
        let (begun, numbers, webhooks) =
            join3(conn.script(BEGIN), conn.row(LOCK, &[]), conn.row(WEBHOOKS, &[])).await;
        begun?;
        let Some(row) = numbers? else {
            return Err(StoreError::Corrupt("the table `state` has no row".to_owned()).into());
        };
        let numbers = Numbers::read(&row)?;
        if memory.fence().is_none() {
            let sql = "SELECT fence FROM nodes WHERE id = $1";
            let row = conn.row(sql, &[&Text(&memory.node)]).await?;
            // Read before anything is found to be held, so that what is taken later changes it.
            memory.fenced_by(row.map(|row| row.int(0)).transpose()?);
        }
        let webhook_until = match webhooks? {
            Some(row) => row.int_if_any(0)?,
            None => None,
        };
        Ok(Self {
            conn,
            memory,
            numbers: RefCell::new(numbers),
            wrote: Cell::new(false),
            webhook_until: Cell::new(webhook_until),
            fence: Fence::default(),
            journal: RefCell::default(),
            audit: RefCell::default(),
            events: RefCell::default(),
        })
    }

    /// Ends it, with everything that was put off until now. `batch` is its number among those of this node.
    pub(super) async fn commit(self, batch: u64) -> Commit {
        let gathered = [!self.journal.borrow().is_empty(), !self.audit.borrow().is_empty()];
        if !self.wrote.get() && !gathered.contains(&true) {
            return match self.conn.script("COMMIT").await {
                Ok(()) => Commit::Done { wrote: false },
                Err(error) => Commit::Failed(error),
            };
        }
        #[cfg(feature = "failpoints")]
        crate::failpoint::before_commit();
        let numbers = self.numbers.borrow().clone();
        let (journal, audit, events) = (self.journal.take(), self.audit.take(), self.events.take());
        let rows = join3(journal.write(self.conn), audit.write(self.conn), events.write(self.conn));
        let audited = stored(numbers.audit);
        let hash = Text(&numbers.audit_hash);
        let bound: Bound<'_> = &[
            &numbers.runs,
            &numbers.requests,
            &numbers.notes,
            &numbers.events,
            &numbers.timers,
            &numbers.conversations,
            &numbers.grants,
            &audited,
            &hash,
        ];
        let state = self.conn.execute(
            "UPDATE state SET runs = $1, requests = $2, notes = $3, events = $4, timers = $5,
                 conversations = $6, grants = $7, audit = $8, audit_hash = $9",
            bound,
        );
        let (batch, lock, node) = (stored(batch), self.memory.lock, Text(&self.memory.node));
        let node_bound: Bound<'_> = &[&node, &lock, &batch];
        // Whether a batch whose answer was lost is committed is seen by this.
        let node = self.conn.execute(
            "INSERT INTO nodes (id, lock, batch) VALUES ($1, $2, $3)
             ON CONFLICT (id) DO UPDATE SET batch = $3",
            node_bound,
        );
        let ((journal, audit, events), state, node) = join3(rows, state, node).await;
        for written in [journal, audit, events, state.map(drop), node.map(drop)] {
            if let Err(error) = written {
                return Commit::Failed(error);
            }
        }
        // Only now: sent along with the rest it would commit what there is of a batch that could not be sent whole.
        match self.conn.script("COMMIT").await {
            Ok(()) => {
                #[cfg(feature = "failpoints")]
                crate::failpoint::after_commit();
                Commit::Done { wrote: true }
            }
            Err(error) => Commit::Unknown(error),
        }
    }

    /// The next number of a kind.
    pub(super) fn number(&self, what: Numbered) -> i64 {
        self.numbers.borrow_mut().next(what)
    }

    /// The number of the last event.
    pub(super) fn last_event(&self) -> i64 {
        self.numbers.borrow().events
    }

    /// The last line of the audit, and a place for the next.
    pub(super) fn chain<T>(&self, next: impl FnOnce(Option<(u64, &str)>) -> (u64, String, T)) -> T {
        let mut numbers = self.numbers.borrow_mut();
        let last = (numbers.audit > 0).then_some((numbers.audit, numbers.audit_hash.as_str()));
        let (no, hash, line) = next(last);
        numbers.audit = no;
        numbers.audit_hash = hash;
        line
    }

    /// Whether there is a webhook that somebody delivered to after `forgotten_at`.
    pub(super) fn has_webhook(&self, forgotten_at: i64) -> bool {
        self.webhook_until.get().is_some_and(|until| until > forgotten_at)
    }

    /// Takes note of a webhook.
    pub(super) fn saw_webhook(&self, until: i64) {
        self.webhook_until.set(self.webhook_until.get().max(Some(until)));
    }

    /// The connection, to read by.
    pub(super) fn conn(&self) -> &'a Conn {
        self.conn
    }

    /// Takes note that something was changed.
    pub(super) fn has_written(&self) {
        self.wrote.set(true);
    }

    /// Changes rows. How many.
    pub(super) async fn write(&self, sql: &str, bound: Bound<'_>) -> Result<u64, Stop> {
        let changed = self.conn.execute(sql, bound).await?;
        self.wrote.set(self.wrote.get() || changed > 0);
        Ok(changed)
    }

    /// Changes rows and gives back what the statement returns of them.
    pub(super) async fn change(&self, sql: &str, bound: Bound<'_>) -> Result<Vec<Row>, Stop> {
        let rows = self.conn.rows(sql, bound).await?;
        self.wrote.set(self.wrote.get() || !rows.is_empty());
        Ok(rows)
    }

    /// A run by its id.
    pub(super) async fn find(&self, id: &RunId) -> Result<Option<KnownRun>, Stop> {
        let known = self.memory.get(id);
        if known.is_some() {
            return Ok(known);
        }
        let sql = "SELECT no FROM runs WHERE id = $1";
        let Some(row) = self.conn.row(sql, &[&Text(id.as_str())]).await? else { return Ok(None) };
        let known = KnownRun::numbered(row.int(0)?);
        self.remember(id, known);
        Ok(Some(known))
    }

    /// Remembers what is known of a run.
    pub(super) fn remember(&self, id: &RunId, run: KnownRun) {
        self.memory.remember(id, run);
    }

    /// A run is over: nobody asks for it soon.
    pub(super) fn forget(&self, id: &RunId) {
        self.memory.forget(id);
    }

    /// Whether it is time to look for dead nodes again.
    pub(super) fn looks_for_dead(&self, every: Duration) -> bool {
        self.memory.looks_for_dead(every)
    }
}

/// Whether the batch `lost` of a node, the last it sent, is committed. If it is not, the number `next` takes its place, and it cannot be
/// committed any more. None, if the node is not known.
pub(super) async fn settle(
    conn: &Conn,
    node: &str,
    lost: u64,
    next: u64,
) -> Result<Option<bool>, Stop> {
    // A batch of ours whose connection was lost may still be ending: the row of the node waits for it. A plain one may not
    // even have come to that row yet; it finds a later number there.
    conn.script(BEGIN).await?;
    let sql = "SELECT batch FROM nodes WHERE id = $1 FOR UPDATE";
    let found = match conn.row(sql, &[&Text(node)]).await? {
        Some(row) => Some(read(row.int(0)?)),
        None => None,
    };
    let committed = found == Some(lost);
    if !committed {
        let sql = "UPDATE nodes SET batch = $2 WHERE id = $1";
        conn.execute(sql, &[&Text(node), &stored(next)]).await?;
    }
    conn.script("COMMIT").await?;
    Ok(found.map(|_| committed))
}
