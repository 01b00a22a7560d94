//! Who is told elsewhere how a run goes on.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use signoff_core::id::{Name, RunId, Tenant};
use signoff_core::time::Timestamp;

use super::db::Db;
use super::error::{read, stored};
use super::writer::{Command, Stop};
use crate::entries::MAX_LIMIT;
use crate::pushes::MAX_PUSHES;
use crate::{MovePush, NextPush, Push, PutPush, StoreError, TakePushes, Told};

const COLUMNS: &str = "u.id, u.tenant, p.id, p.body, p.seq, p.parts, p.of_parts, p.failed,
    p.failing_since";

fn push(row: &Row<'_>) -> rusqlite::Result<Push> {
    Ok(Push {
        run: RunId::new(row.get::<_, String>(0)?),
        tenant: Tenant::new(row.get::<_, String>(1)?),
        id: row.get::<_, String>(2)?.into(),
        body: row.get(3)?,
        told: Told {
            seq: read(row.get(4)?),
            parts: row.get(5)?,
            of_parts: row.get(6)?,
            failed: row.get(7)?,
            failing_since: row.get::<_, Option<i64>>(8)?.map(Timestamp),
        },
    })
}

/// All of a run, by their names.
pub(super) fn of_run(connection: &Connection, run: &RunId) -> Result<Vec<Push>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM runs u JOIN pushes p ON p.run = u.no WHERE u.id = ?1 ORDER BY p.id"
    ))?;
    let pushes = statement.query_map(params![run.as_str()], push)?;
    Ok(pushes.collect::<Result<_, _>>()?)
}

impl Command for PutPush {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let Some(run) = db.find(&self.run)? else {
            return Err(StoreError::UnknownRun(self.run.clone()).into());
        };
        let others: i64 = db
            .connection
            .prepare_cached("SELECT count(*) FROM pushes WHERE run = ?1 AND id <> ?2")?
            .query_row(params![run.no, &*self.id], |row| row.get(0))?;
        if others >= stored(MAX_PUSHES as u64) {
            return Ok(false);
        }
        db.connection
            .prepare_cached(
                "INSERT INTO pushes (run, id, body, seq, parts) SELECT ?1, ?2, ?3, ?4,
                     EXISTS (SELECT 1 FROM runs WHERE root = ?5) WHERE true
                 ON CONFLICT (run, id) DO UPDATE SET body = ?3, due_at = 0, failed = 0,
                     failing_since = NULL, done = 0",
            )?
            .execute(params![run.no, &*self.id, self.body, stored(self.from), self.run.as_str()])?;
        Ok(true)
    }
}

/// Somebody is told nothing more, and forgotten.
#[derive(Debug)]
pub(super) struct RemovePush {
    pub(super) run: RunId,
    pub(super) id: Name,
}

impl Command for RemovePush {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let Some(run) = db.find(&self.run)? else { return Ok(false) };
        let removed = db
            .connection
            .prepare_cached("DELETE FROM pushes WHERE run = ?1 AND id = ?2")?
            .execute(params![run.no, &*self.id])?;
        Ok(removed == 1)
    }
}

impl Command for TakePushes {
    type Output = Vec<Push>;

    fn apply(&self, db: &mut Db) -> Result<Vec<Push>, Stop> {
        db.reap()?;
        let limit = stored(self.limit.min(MAX_LIMIT) as u64);
        let mut due = db.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, p.run FROM pushes p CROSS JOIN runs u ON u.no = p.run
             WHERE p.done = 0 AND p.due_at <= ?1 AND p.lease_until <= ?1
                 AND (u.head > p.seq OR p.failed > 0 OR p.parts = 1 AND EXISTS
                     (SELECT 1 FROM runs c WHERE c.root = u.id AND c.updated_at >= p.looked_at))
             ORDER BY p.due_at LIMIT ?2"
        ))?;
        let found = due
            .query_map(params![self.now.0, limit], |row| Ok((row.get::<_, i64>(9)?, push(row)?)))?;
        let found: Vec<(i64, Push)> = found.collect::<Result<_, _>>()?;
        let until = self.now.plus(self.ttl).0;
        for (run, push) in &found {
            db.connection
                .prepare_cached(
                    "UPDATE pushes SET lease_node = ?3, lease_until = ?4
                     WHERE run = ?1 AND id = ?2",
                )?
                .execute(params![run, &*push.id, &*self.node, until])?;
        }
        Ok(found.into_iter().map(|(_, push)| push).collect())
    }
}

impl Command for MovePush {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let Some(run) = db.find(&self.run)? else { return Ok(false) };
        let (due, done) = match self.next {
            NextPush::News => (0, false),
            NextPush::Again(at) => (at.0, false),
            NextPush::Nothing => (0, true),
        };
        let told = &self.told;
        let moved: Option<i64> = db
            .connection
            .prepare_cached(
                "UPDATE pushes SET seq = max(seq, ?4), parts = ?5, of_parts = ?6, failed = ?7,
                     failing_since = ?8, looked_at = ?9, due_at = ?10, done = ?11,
                     lease_node = NULL, lease_until = 0
                 WHERE run = ?1 AND id = ?2 AND lease_node = ?3 RETURNING 1",
            )?
            .query_row(
                params![
                    run.no,
                    &*self.id,
                    &*self.node,
                    stored(told.seq),
                    told.parts,
                    told.of_parts,
                    told.failed,
                    told.failing_since.map(|at| at.0),
                    self.looked_at.0,
                    due,
                    done,
                ],
                |row| row.get(0),
            )
            .optional()?;
        Ok(moved.is_some())
    }
}
