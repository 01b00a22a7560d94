//! Adds entries to runs, with all that follows from them.

use rusqlite::{OptionalExtension as _, params};
use signoff_core::RunId;
use signoff_core::id::Seq;
use signoff_core::journal::Input;
use signoff_core::time::Timestamp;

use super::db::Db;
use super::error::{json, stored};
use super::events::tell_cancelled;
use super::project;
use super::writer::{Command, Stop};
use crate::encoded::AppendEntries;
use crate::{End, Rest, StoreError};

/// Moves the run's head, if the lease is still good and the head where the writer believes it
/// to be. This is the fence.
fn pass_fence(append: &AppendEntries, db: &Db, run: i64) -> rusqlite::Result<bool> {
    let head = stored(append.expected + append.count as u64);
    let expected = stored(append.expected);
    let epoch = stored(append.lease.epoch);
    let node = &*append.lease.node;
    let status = append.status.as_str();
    let at = append.updated_at.map(|at| at.0);
    // A column that is set has its indexes rewritten, so the usual case sets as few as it can.
    let changed = match append.rest {
        Rest::Keep => db
            .connection
            .prepare_cached(
                "UPDATE runs SET head = ?5, status = ?6, updated_at = coalesce(?7, updated_at)
                 WHERE no = ?1 AND head = ?2 AND epoch = ?3 AND lease_node = ?4",
            )?
            .execute(params![run, expected, epoch, node, head, status, at])?,
        Rest::Park => db
            .connection
            .prepare_cached(
                "UPDATE runs SET head = ?5, status = ?6, updated_at = coalesce(?7, updated_at),
                     lease_node = NULL, lease_until = 0,
                     ready = EXISTS (SELECT 1 FROM inputs WHERE run = ?1 AND no > ?8)
                 WHERE no = ?1 AND head = ?2 AND epoch = ?3 AND lease_node = ?4",
            )?
            .execute(params![
                run,
                expected,
                epoch,
                node,
                head,
                status,
                at,
                stored(append.consumed)
            ])?,
        Rest::End(_) => db
            .connection
            .prepare_cached(
                "UPDATE runs SET head = ?5, status = ?6, updated_at = coalesce(?7, updated_at),
                     lease_node = NULL, lease_until = 0, ready = 0, error = ?8
                 WHERE no = ?1 AND head = ?2 AND epoch = ?3 AND lease_node = ?4",
            )?
            .execute(params![run, expected, epoch, node, head, status, at, append.error])?,
    };
    Ok(changed == 1)
}

impl Command for AppendEntries {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        let id = &self.lease.run;
        let Some(known) = db.find(id)? else {
            return Err(StoreError::UnknownRun(id.clone()).into());
        };
        if !pass_fence(self, db, known.no)? {
            return Err(StoreError::Fenced { run: id.clone() }.into());
        }
        if self.count > 0 {
            insert_entries(db, known.no, self.expected + 1, self.count, &self.body)?;
        }
        project::apply(db, known.no, &self.changes)?;
        if let Some(snapshot) = &self.snapshot {
            db.connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO snapshots (run, seq, body) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![known.no, stored(snapshot.seq), snapshot.body])?;
        }
        if let Rest::End(end) = &self.rest {
            clear(db, known.no, self.updated_at.unwrap_or(Timestamp(0)))?;
            tell_parent(db, known.no, end)?;
            tell_children(db, id)?;
            db.forget(id);
        } else {
            db.consume_inputs(id, known, self.consumed)?;
        }
        Ok(())
    }
}

/// What a run leaves behind when it is over.
pub(super) fn clear(db: &Db, run: i64, at: Timestamp) -> rusqlite::Result<()> {
    tell_cancelled(db, run, at)?;
    for sql in [
        "UPDATE requests SET status = 'cancelled', version = version + 1
         WHERE run = ?1 AND status = 'pending'",
        "DELETE FROM timers WHERE run = ?1",
        "DELETE FROM inputs WHERE run = ?1",
    ] {
        db.connection.prepare_cached(sql)?.execute(params![run])?;
    }
    Ok(())
}

fn tell_parent(db: &mut Db, run: i64, end: &End) -> Result<(), Stop> {
    let parent: Option<(String, u32, String)> = db
        .connection
        .prepare_cached(
            "SELECT parent_run, parent_activation, parent_key FROM runs
             WHERE no = ?1 AND parent_run IS NOT NULL",
        )?
        .query_row(params![run], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((parent, activation, key)) = parent else { return Ok(()) };
    let Some(parent) = db.find(&parent.as_str().into())? else { return Ok(()) };
    let input = Input::ChildEnded {
        activation,
        key: key.into(),
        outcome: end.outcome.clone(),
        stopped_by: end.stopped_by.clone(),
    };
    db.give_input(parent.no, &json(&input)?)?;
    Ok(())
}

/// Nobody waits any more for the runs that are part of this one.
fn tell_children(db: &mut Db, id: &RunId) -> Result<(), Stop> {
    let children: Vec<i64> = db
        .connection
        .prepare_cached(
            "SELECT no FROM runs
             WHERE parent_run = ?1 AND status NOT IN ('completed', 'failed', 'cancelled')",
        )?
        .query_map(params![id.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if children.is_empty() {
        return Ok(());
    }
    let input = json(&End::for_children())?;
    for child in children {
        db.give_input(child, &input)?;
    }
    Ok(())
}

/// One row of the journal.
pub(super) fn insert_entries(
    db: &Db,
    run: i64,
    first: Seq,
    count: usize,
    body: &[u8],
) -> rusqlite::Result<()> {
    db.connection
        .prepare_cached("INSERT INTO journal (run, seq, count, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![run, stored(first), i64::try_from(count).unwrap_or(i64::MAX), body])
        .map(drop)
}
