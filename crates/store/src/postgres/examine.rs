//! How the database is.

use signoff_core::RunId;
use signoff_core::time::Timestamp;

use super::columns::{Columns as _, stored};
use super::conn::{Bound, Conn};
use super::error::Stop;
use super::runs::UPDATED_AT;
use crate::upkeep::{A_WHILE, MAX_NAMED, SOUND, WRONG_LENGTH};
use crate::{Examined, StoreError};

/// The tables whose rows are numbered, and where the last number is kept.
const NUMBERED: [&str; 8] =
    ["runs", "requests", "notes", "events", "timers", "conversations", "grants", "audit"];

/// No journal has a gap, nor fewer entries than its run says. A run that is not held says exactly how many.
const LENGTHS: &str = "SELECT count(*) FROM runs u LEFT JOIN
        (SELECT run, sum(count) AS entries, max(seq + count - 1) AS last FROM journal GROUP BY run) j
        ON j.run = u.no
    WHERE coalesce(j.entries, 0) <> coalesce(j.last, 0) OR coalesce(j.last, 0) < u.head
        OR (NOT u.ready AND coalesce(j.last, 0) <> u.head)";

/// All of it, read once.
pub(super) async fn examine(conn: &Conn, now: Timestamp) -> Result<Examined, Stop> {
    let long_ago = now.0.saturating_sub(A_WHILE);
    let named = stored(MAX_NAMED as u64);
    let stuck = format!("FROM runs WHERE ready AND lease_until <= $1 AND {UPDATED_AT} <= $1");
    let mut examined = Examined {
        kind: "postgres",
        schema: signed(conn, "SELECT coalesce(max(version), 0) FROM schema_migrations").await?,
        bytes: count(conn, "SELECT pg_database_size(current_database())", &[]).await?,
        free_bytes: 0,
        problems: problems(conn).await?,
        clock: Some(Timestamp(
            signed(conn, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").await?,
        )),
        runs: count(conn, "SELECT count(*) FROM runs", &[]).await?,
        over: count(
            conn,
            "SELECT count(*) FROM runs WHERE status IN ('completed', 'failed', 'cancelled')",
            &[],
        )
        .await?,
        pending: count(conn, "SELECT count(*) FROM requests WHERE status = 'pending'", &[]).await?,
        stuck: Vec::new(),
        stuck_count: count(conn, &format!("SELECT count(*) {stuck}"), &[&long_ago]).await?,
        overdue: count(conn, "SELECT count(*) FROM timers WHERE due_at <= $1", &[&long_ago])
            .await?,
        failing_pushes: Vec::new(),
        webhooks: Vec::new(),
    };
    let sql = format!("SELECT id {stuck} ORDER BY updated_at LIMIT $2");
    for row in conn.rows(&sql, &[&long_ago, &named]).await? {
        examined.stuck.push(RunId::new(row.text(0)?));
    }
    let sql = "SELECT u.id, p.id, p.failed FROM pushes p JOIN runs u ON u.no = p.run
        WHERE NOT p.done AND p.failed > 0 ORDER BY p.failed DESC LIMIT $1";
    for row in conn.rows(sql, &[&named]).await? {
        let (run, name) = (RunId::new(row.text(0)?), row.text(1)?.into());
        examined.failing_pushes.push((run, name, row.small(2)?));
    }
    let sql = "SELECT name, (SELECT count(*) FROM events WHERE no > cursor), lease_until
        FROM webhooks ORDER BY name";
    for row in conn.rows(sql, &[]).await? {
        examined.webhooks.push((row.text(0)?.into(), row.number(1)?, Timestamp(row.int(2)?)));
    }
    Ok(examined)
}

async fn signed(conn: &Conn, sql: &str) -> Result<i64, Stop> {
    let Some(row) = conn.row(sql, &[]).await? else {
        return Err(StoreError::Corrupt("a count has no row".to_owned()).into());
    };
    Ok(row.int(0)?)
}

async fn count(conn: &Conn, sql: &str, bound: Bound<'_>) -> Result<u64, Stop> {
    Ok(conn.row(sql, bound).await?.map_or(Ok(0), |row| row.number(0))?)
}

async fn problems(conn: &Conn) -> Result<Vec<String>, Stop> {
    let mut problems = Vec::new();
    for (what, sql) in [(WRONG_LENGTH, LENGTHS)].iter().chain(SOUND) {
        let count = count(conn, sql, &[]).await?;
        if count > 0 {
            problems.push(format!("{count} {what}"));
        }
    }
    for table in NUMBERED {
        let sql = format!("SELECT count(*) FROM {table} WHERE no > (SELECT {table} FROM state)");
        let count = count(conn, &sql, &[]).await?;
        if count > 0 {
            problems.push(format!("{count} rows of {table} have numbers that were never given"));
        }
    }
    Ok(problems)
}
