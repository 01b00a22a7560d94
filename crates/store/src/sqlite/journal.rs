//! Reads journals, and what has to be put in them.

use rusqlite::{Connection, OptionalExtension as _, params};
use signoff_core::RunId;
use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Input, decode};

use super::error::{parse, read, stored};
use super::runs;
use crate::{LoadedRun, Snapshot, StoreError};

/// Everything needed to go on with a run, as it was at one moment.
pub(super) fn load(
    connection: &Connection,
    id: &RunId,
    until: Option<Seq>,
) -> Result<LoadedRun, StoreError> {
    // By cached statements: a transaction object prepares its own each time.
    connection.prepare_cached("BEGIN")?.execute([])?;
    let loaded = load_now(connection, id, until);
    connection.prepare_cached("COMMIT")?.execute([])?;
    loaded
}

fn load_now(
    connection: &Connection,
    id: &RunId,
    until: Option<Seq>,
) -> Result<LoadedRun, StoreError> {
    let Some((no, record)) = runs::by_id(connection, id)? else {
        return Err(StoreError::UnknownRun(id.clone()));
    };
    let snapshot = if until.is_none() { snapshot(connection, no)? } else { None };
    let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let until = until.unwrap_or(record.head).min(record.head);
    let entries = between(connection, no, after, until)?;
    if after.max(until) != after + entries.len() as u64 {
        return Err(StoreError::Corrupt(format!("the journal of {id} has not all of its entries")));
    }
    let inputs = inputs(connection, no, 0)?;
    Ok(LoadedRun { record, snapshot, entries, inputs })
}

/// Entries after a position, at most `limit`.
pub(super) fn entries(
    connection: &Connection,
    id: &RunId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    between(connection, number(connection, id)?, after, after.saturating_add(limit as u64))
}

/// Inputs after a number, by the run's id.
pub(super) fn inputs_of(
    connection: &Connection,
    id: &RunId,
    after: u64,
) -> Result<Vec<(u64, Input)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT i.no, i.body FROM runs u LEFT JOIN inputs i ON i.run = u.no AND i.no > ?2
         WHERE u.id = ?1 ORDER BY i.no",
    )?;
    let mut rows = statement.query(params![id.as_str(), stored(after)])?;
    let mut known = false;
    let mut inputs = Vec::new();
    while let Some(row) = rows.next()? {
        known = true;
        if let Some(no) = row.get::<_, Option<i64>>(0)? {
            let text = row.get_ref(1)?.as_str().unwrap_or_default();
            inputs.push((read(no), parse("an input", text)?));
        }
    }
    if known { Ok(inputs) } else { Err(StoreError::UnknownRun(id.clone())) }
}

fn number(connection: &Connection, id: &RunId) -> Result<i64, StoreError> {
    connection
        .prepare_cached("SELECT no FROM runs WHERE id = ?1")?
        .query_row(params![id.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::UnknownRun(id.clone()))
}

/// The entries at positions after `after` and up to `until`.
fn between(
    connection: &Connection,
    run: i64,
    after: Seq,
    until: Seq,
) -> Result<Vec<Entry>, StoreError> {
    // The first row wanted may begin before the first entry wanted.
    let mut statement = connection.prepare_cached(
        "SELECT seq, count, body FROM journal
         WHERE run = ?1 AND seq <= ?3 AND seq >=
             (SELECT coalesce(max(seq), 0) FROM journal WHERE run = ?1 AND seq <= ?2)
         ORDER BY seq",
    )?;
    let mut rows = statement.query(params![run, stored(after.saturating_add(1)), stored(until)])?;
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(row) = rows.next()? {
        let first = read(row.get(0)?);
        let count = read(row.get(1)?);
        let body = row.get_ref(2)?.as_blob().map_err(|error| corrupt(first, &error))?;
        let decoded =
            decode(first, body).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        if decoded.len() as u64 != count {
            return Err(corrupt(
                first,
                &format!("{count} entries expected, {} found", decoded.len()),
            ));
        }
        let wanted = decoded.into_iter().filter(|entry| entry.seq > after && entry.seq <= until);
        for entry in wanted {
            let expected = entries.last().map_or(after, |last| last.seq) + 1;
            if entry.seq != expected {
                return Err(corrupt(first, &format!("entry {expected} is missing")));
            }
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn corrupt(row: Seq, problem: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("journal row at {row}: {problem}"))
}

fn snapshot(connection: &Connection, run: i64) -> Result<Option<Snapshot>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT seq, body FROM snapshots WHERE run = ?1")?
        .query_row(params![run], |row| Ok(Snapshot { seq: read(row.get(0)?), body: row.get(1)? }))
        .optional()?)
}

fn inputs(connection: &Connection, run: i64, after: u64) -> Result<Vec<(u64, Input)>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT no, body FROM inputs WHERE run = ?1 AND no > ?2 ORDER BY no")?;
    let mut rows = statement.query(params![run, stored(after)])?;
    let mut inputs = Vec::new();
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str().unwrap_or_default();
        inputs.push((read(row.get(0)?), parse("an input", text)?));
    }
    Ok(inputs)
}
