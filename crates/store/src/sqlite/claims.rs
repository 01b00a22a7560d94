//! Who may write which run: takes, prolongs and gives back leases.

use rusqlite::params;
use signoff_core::RunId;
use signoff_core::time::Timestamp;

use super::db::Db;
use super::error::stored;
use super::writer::{Command, Stop};
use crate::entries::MAX_LIMIT;
use crate::{Claim, Lease, Scope, StoreError};

/// Leases runs that are ready.
#[derive(Debug)]
pub(super) struct ClaimReady {
    pub(super) scope: Scope,
    pub(super) claim: Claim,
    pub(super) now: Timestamp,
    pub(super) limit: usize,
}

const READY: &str = "SELECT no, id FROM runs WHERE ready = 1 AND lease_until <= ?1
    ORDER BY lease_until, no LIMIT ?2";
const READY_IN_TREE: &str = "WITH RECURSIVE tree (id) AS (
        SELECT ?3 UNION SELECT runs.id FROM tree JOIN runs ON runs.parent_run = tree.id)
    SELECT runs.no, runs.id FROM tree JOIN runs ON runs.id = tree.id
    WHERE runs.ready = 1 AND runs.lease_until <= ?1
    ORDER BY runs.lease_until, runs.no LIMIT ?2";

impl ClaimReady {
    fn find(&self, db: &Db) -> rusqlite::Result<Vec<(i64, String)>> {
        let limit = stored(self.limit.min(MAX_LIMIT) as u64);
        let pair = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        match &self.scope {
            Scope::All => db
                .connection
                .prepare_cached(READY)?
                .query_map(params![self.now.0, limit], pair)?
                .collect(),
            Scope::Tree(run) => db
                .connection
                .prepare_cached(READY_IN_TREE)?
                .query_map(params![self.now.0, limit, run.as_str()], pair)?
                .collect(),
        }
    }
}

impl Command for ClaimReady {
    type Output = Vec<Lease>;

    fn apply(&self, db: &mut Db) -> Result<Vec<Lease>, Stop> {
        db.reap()?;
        let mut leases = Vec::new();
        for (no, id) in self.find(db)? {
            if let Some(epoch) = db.take_lease(no, &self.claim, self.now)? {
                leases.push(Lease { run: RunId::new(id), node: self.claim.node.clone(), epoch });
            }
        }
        Ok(leases)
    }
}

/// Leases one run.
#[derive(Debug)]
pub(super) struct ClaimRun {
    pub(super) run: RunId,
    pub(super) claim: Claim,
    pub(super) now: Timestamp,
}

impl Command for ClaimRun {
    type Output = Option<Lease>;

    fn apply(&self, db: &mut Db) -> Result<Option<Lease>, Stop> {
        let Some(known) = db.find(&self.run)? else {
            return Err(StoreError::UnknownRun(self.run.clone()).into());
        };
        db.reap()?;
        let epoch = db.take_lease(known.no, &self.claim, self.now)?;
        Ok(epoch.map(|epoch| Lease { run: self.run.clone(), node: self.claim.node.clone(), epoch }))
    }
}

/// Prolongs leases.
#[derive(Debug)]
pub(super) struct Renew {
    pub(super) leases: Vec<Lease>,
    pub(super) until: Timestamp,
}

impl Command for Renew {
    type Output = Vec<Lease>;

    fn apply(&self, db: &mut Db) -> Result<Vec<Lease>, Stop> {
        let mut held = Vec::with_capacity(self.leases.len());
        for lease in &self.leases {
            let Some(known) = db.find(&lease.run)? else { continue };
            let changed = db
                .connection
                .prepare_cached(
                    "UPDATE runs SET lease_until = ?4
                     WHERE no = ?1 AND epoch = ?2 AND lease_node = ?3",
                )?
                .execute(params![known.no, stored(lease.epoch), &*lease.node, self.until.0])?;
            if changed == 1 {
                held.push(lease.clone());
            }
        }
        Ok(held)
    }
}

/// Gives a lease back.
#[derive(Debug)]
pub(super) struct Release(pub(super) Lease);

impl Command for Release {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        let Some(known) = db.find(&self.0.run)? else { return Ok(()) };
        db.connection
            .prepare_cached(
                "UPDATE runs SET lease_node = NULL, lease_until = 0
                 WHERE no = ?1 AND epoch = ?2 AND lease_node = ?3",
            )?
            .execute(params![known.no, stored(self.0.epoch), &*self.0.node])?;
        Ok(())
    }
}

/// Ends the leases of dead nodes.
#[derive(Debug)]
pub(super) struct Reap;

impl Command for Reap {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        Ok(db.reap()?)
    }
}
