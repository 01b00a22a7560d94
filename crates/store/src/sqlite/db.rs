//! What the writing thread owns: its connection, and what it remembers between commands.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _, params};
use signoff_core::RunId;
use signoff_core::time::Timestamp;

use super::error::{read, stored};
use super::nodes::{DeadNode, find_dead};
use crate::{Claim, NodeId};

/// How many runs are remembered.
const MAX_KNOWN: usize = 4_096;
/// How often dead nodes are looked for, at most.
const REAP_EVERY: Duration = Duration::from_millis(200);

/// The writing connection and its memory. The methods run inside a transaction, except the three
/// that begin and end it.
#[derive(Debug)]
pub(super) struct Db {
    pub(super) connection: Connection,
    path: PathBuf,
    node: NodeId,
    known: HashMap<RunId, KnownRun>,
    commits: Arc<AtomicU64>,
    changes_before: u64,
    reaped_at: Option<Instant>,
    dead: Vec<DeadNode>,
}

/// What never changes of a run, or only grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownRun {
    /// The run's number in this database.
    pub(super) no: i64,
    /// Inputs up to here are deleted.
    pub(super) consumed: u64,
}

impl Db {
    pub(super) fn new(
        connection: Connection,
        path: PathBuf,
        node: NodeId,
        commits: Arc<AtomicU64>,
    ) -> Self {
        Self {
            connection,
            path,
            node,
            known: HashMap::new(),
            commits,
            changes_before: 0,
            reaped_at: None,
            dead: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self) -> rusqlite::Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.changes_before = self.connection.total_changes();
        Ok(())
    }

    pub(super) fn commit(&mut self) -> rusqlite::Result<()> {
        let changed = self.connection.total_changes() != self.changes_before;
        #[cfg(feature = "failpoints")]
        if changed {
            crate::failpoint::before_commit();
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        if changed {
            self.commits.fetch_add(1, Ordering::SeqCst);
            #[cfg(feature = "failpoints")]
            crate::failpoint::after_commit();
        }
        for dead in self.dead.drain(..) {
            dead.bury();
        }
        Ok(())
    }

    /// Ends the transaction, if there is one, and forgets what was learned in it.
    pub(super) fn rollback(&mut self) {
        self.known.clear();
        self.dead.clear();
        self.reaped_at = None;
        if !self.connection.is_autocommit() {
            // Where this fails, the next `BEGIN` does too, and its callers are told.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    /// A run by its id.
    pub(super) fn find(&mut self, id: &RunId) -> rusqlite::Result<Option<KnownRun>> {
        if let Some(known) = self.known.get(id) {
            return Ok(Some(*known));
        }
        let no: Option<i64> = self
            .connection
            .prepare_cached("SELECT no FROM runs WHERE id = ?1")?
            .query_row(params![id.as_str()], |row| row.get(0))
            .optional()?;
        Ok(no.map(|no| self.remember(id, KnownRun { no, consumed: 0 })))
    }

    /// Remembers what is known of a run.
    pub(super) fn remember(&mut self, id: &RunId, known: KnownRun) -> KnownRun {
        if self.known.len() >= MAX_KNOWN && !self.known.contains_key(id) {
            self.known.clear();
        }
        self.known.insert(id.clone(), known);
        known
    }

    /// A run is over: nobody asks for it soon.
    pub(super) fn forget(&mut self, id: &RunId) {
        self.known.remove(id);
    }

    /// Puts an input before a run and makes it ready. False if the run is over.
    pub(super) fn give_input(&self, run: i64, body: &str) -> rusqlite::Result<bool> {
        let number: Option<i64> = self
            .connection
            .prepare_cached(
                "UPDATE runs SET next_input = next_input + 1, ready = 1
                 WHERE no = ?1 AND status NOT IN ('completed', 'failed', 'cancelled')
                 RETURNING next_input - 1",
            )?
            .query_row(params![run], |row| row.get(0))
            .optional()?;
        let Some(number) = number else { return Ok(false) };
        self.insert_input(run, number, body)?;
        Ok(true)
    }

    /// The same, and leases the run, on which nobody holds a lease. The lease's epoch.
    pub(super) fn give_input_and_lease(
        &self,
        run: i64,
        body: &str,
        claim: &Claim,
    ) -> rusqlite::Result<Option<u64>> {
        let given: Option<(i64, i64)> = self
            .connection
            .prepare_cached(
                "UPDATE runs SET next_input = next_input + 1, ready = 1,
                     lease_node = ?2, lease_until = ?3, epoch = epoch + 1
                 WHERE no = ?1 AND status NOT IN ('completed', 'failed', 'cancelled')
                 RETURNING next_input - 1, epoch",
            )?
            .query_row(params![run, &*claim.node, claim.until.0], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((number, epoch)) = given else { return Ok(None) };
        self.insert_input(run, number, body)?;
        Ok(Some(read(epoch)))
    }

    fn insert_input(&self, run: i64, number: i64, body: &str) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("INSERT INTO inputs (run, no, body) VALUES (?1, ?2, ?3)")?
            .execute(params![run, number, body])
            .map(drop)
    }

    /// Leases a run unless somebody holds a live lease on it or it is over. The lease's epoch.
    ///
    /// The run becomes ready, so that it is found again if the one who holds it dies.
    pub(super) fn take_lease(
        &self,
        run: i64,
        claim: &Claim,
        now: Timestamp,
    ) -> rusqlite::Result<Option<u64>> {
        self.connection
            .prepare_cached(
                "UPDATE runs SET lease_node = ?2, lease_until = ?3, epoch = epoch + 1, ready = 1
                 WHERE no = ?1 AND (lease_node IS NULL OR lease_until <= ?4)
                   AND status NOT IN ('completed', 'failed', 'cancelled')
                 RETURNING epoch",
            )?
            .query_row(params![run, &*claim.node, claim.until.0, now.0], |row| row.get(0))
            .optional()
            .map(|epoch| epoch.map(read))
    }

    /// Deletes inputs that are in the journal.
    pub(super) fn consume_inputs(
        &mut self,
        id: &RunId,
        known: KnownRun,
        consumed: u64,
    ) -> rusqlite::Result<()> {
        if consumed > known.consumed {
            self.connection
                .prepare_cached("DELETE FROM inputs WHERE run = ?1 AND no <= ?2")?
                .execute(params![known.no, stored(consumed)])?;
            self.remember(id, KnownRun { consumed, ..known });
        }
        Ok(())
    }

    /// Ends the leases of nodes of this machine that died.
    pub(super) fn reap(&mut self) -> rusqlite::Result<()> {
        if self.reaped_at.is_some_and(|at| at.elapsed() < REAP_EVERY) {
            return Ok(());
        }
        self.reaped_at = Some(Instant::now());
        for dead in find_dead(&self.path, &self.node) {
            self.connection
                .prepare_cached(
                    "UPDATE runs SET lease_node = NULL, lease_until = 0
                     WHERE ready = 1 AND lease_node = ?1",
                )?
                .execute(params![dead.node])?;
            self.connection
                .prepare_cached("UPDATE webhooks SET lease_node = NULL WHERE lease_node = ?1")?
                .execute(params![dead.node])?;
            self.connection
                .prepare_cached(
                    "UPDATE pushes SET lease_node = NULL, lease_until = 0 WHERE lease_node = ?1",
                )?
                .execute(params![dead.node])?;
            self.connection
                .prepare_cached("UPDATE duties SET lease_node = NULL WHERE lease_node = ?1")?
                .execute(params![dead.node])?;
            self.dead.push(dead);
        }
        Ok(())
    }
}
