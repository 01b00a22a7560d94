//! How the database is.

use rusqlite::{Connection, params};
use signoff_core::RunId;
use signoff_core::time::Timestamp;

use super::error::{read, stored};
use crate::upkeep::{A_WHILE, MAX_NAMED, SOUND, WRONG_LENGTH};
use crate::{Examined, StoreError};

const LENGTHS: &str = "SELECT count(*) FROM runs u WHERE u.head <>
    (SELECT coalesce(sum(j.count), 0) FROM journal j WHERE j.run = u.no)";

/// All of it, read once.
pub(super) fn examine(connection: &Connection, now: Timestamp) -> Result<Examined, StoreError> {
    let count = |sql: &str| -> Result<u64, StoreError> {
        Ok(read(connection.query_row(sql, [], |row| row.get(0))?))
    };
    let pages = count("PRAGMA page_count")?;
    let (page, free) = (count("PRAGMA page_size")?, count("PRAGMA freelist_count")?);
    let long_ago = now.0.saturating_sub(A_WHILE);
    let stuck = "FROM runs WHERE ready = 1 AND lease_until <= ?1 AND updated_at <= ?1";
    let counted = |from: &str| -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) {from}");
        Ok(read(connection.query_row(&sql, params![long_ago], |row| row.get(0))?))
    };
    Ok(Examined {
        kind: "sqlite",
        schema: connection.query_row(
            "SELECT coalesce(max(version), 0) FROM schema_migrations",
            [],
            |row| row.get(0),
        )?,
        bytes: pages * page,
        free_bytes: free * page,
        problems: problems(connection)?,
        clock: None,
        runs: count("SELECT count(*) FROM runs")?,
        over: count(
            "SELECT count(*) FROM runs WHERE status IN ('completed', 'failed', 'cancelled')",
        )?,
        pending: count("SELECT count(*) FROM requests WHERE status = 'pending'")?,
        stuck: connection
            .prepare(&format!("SELECT id {stuck} ORDER BY updated_at LIMIT ?2"))?
            .query_map(params![long_ago, stored(MAX_NAMED as u64)], |row| {
                Ok(RunId::new(row.get::<_, String>(0)?))
            })?
            .collect::<Result<_, _>>()?,
        stuck_count: counted(stuck)?,
        overdue: counted("FROM timers WHERE due_at <= ?1")?,
        failing_pushes: connection
            .prepare(
                "SELECT u.id, p.id, p.failed FROM pushes p JOIN runs u ON u.no = p.run
                 WHERE p.done = 0 AND p.failed > 0 ORDER BY p.failed DESC LIMIT ?1",
            )?
            .query_map(params![stored(MAX_NAMED as u64)], |row| {
                let (run, name): (String, String) = (row.get(0)?, row.get(1)?);
                Ok((RunId::new(run), name.into(), row.get(2)?))
            })?
            .collect::<Result<_, _>>()?,
        webhooks: connection
            .prepare(
                "SELECT name, (SELECT count(*) FROM events WHERE no > cursor), lease_until
                 FROM webhooks ORDER BY name",
            )?
            .query_map([], |row| {
                let name: String = row.get(0)?;
                Ok((name.into(), read(row.get(1)?), Timestamp(row.get(2)?)))
            })?
            .collect::<Result<_, _>>()?,
    })
}

fn problems(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut problems: Vec<String> = connection
        .prepare("PRAGMA quick_check(5)")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    problems.retain(|line| line != "ok");
    for (what, sql) in [(WRONG_LENGTH, LENGTHS)].iter().chain(SOUND) {
        let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count > 0 {
            problems.push(format!("{count} {what}"));
        }
    }
    Ok(problems)
}
