//! Reads and writes journals, and reads what has to be put in them.

use futures_util::future::join3;
use signoff_core::RunId;
use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Input, decode};
use signoff_core::time::Timestamp;
use tokio_postgres::{Error, Row};

use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::error::{Stop, parse};
use super::runs;
use super::text::Text;
use crate::{LoadedRun, Snapshot, StoreError};

/// What is sent by one statement. PostgreSQL takes none with more than 1 GB.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Rows of the journal that a batch adds.
#[derive(Debug, Default)]
pub(super) struct JournalRows {
    runs: Vec<i64>,
    first: Vec<i64>,
    counts: Vec<i64>,
    bodies: Vec<Vec<u8>>,
    at: Vec<Option<i64>>,
}

impl JournalRows {
    pub(super) fn add(
        &mut self,
        run: i64,
        first: Seq,
        count: usize,
        body: &[u8],
        at: Option<Timestamp>,
    ) {
        self.runs.push(run);
        self.first.push(stored(first));
        self.counts.push(stored(count as u64));
        self.bodies.push(body.to_owned());
        self.at.push(at.map(|at| at.0));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) async fn write(self, conn: &Conn) -> Result<(), Error> {
        let (mut from, mut bytes) = (0, 0);
        for (n, body) in self.bodies.iter().enumerate() {
            bytes += body.len();
            if bytes >= MAX_BYTES || n + 1 == self.bodies.len() {
                conn.execute(
                    "INSERT INTO journal (run, seq, count, body, at) SELECT * FROM
                         unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[])",
                    &[
                        &&self.runs[from..=n],
                        &&self.first[from..=n],
                        &&self.counts[from..=n],
                        &&self.bodies[from..=n],
                        &&self.at[from..=n],
                    ],
                )
                .await?;
                (from, bytes) = (n + 1, 0);
            }
        }
        Ok(())
    }
}

/// Everything needed to go on with a run, as it was at one moment.
pub(super) async fn load(conn: &Conn, id: &RunId, until: Option<Seq>) -> Result<LoadedRun, Stop> {
    conn.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let loaded = load_now(conn, id, until).await;
    if !matches!(loaded, Err(Stop::Broken(_))) {
        conn.script("COMMIT").await?;
    }
    loaded
}

async fn load_now(conn: &Conn, id: &RunId, until: Option<Seq>) -> Result<LoadedRun, Stop> {
    // Sent together: one round trip for all that does not depend on the other.
    let name = Text(id.as_str());
    let (run, snapshot, inputs) = join3(
        runs::by_id(conn, id),
        async {
            let sql =
                "SELECT s.seq, s.body FROM runs u JOIN snapshots s ON s.run = u.no WHERE u.id = $1";
            conn.row(sql, &[&name]).await
        },
        inputs_of(conn, id, 0),
    )
    .await;
    let Some((no, record)) = run? else {
        return Err(StoreError::UnknownRun(id.clone()).into());
    };
    let snapshot = match snapshot?.filter(|_| until.is_none()) {
        Some(row) => Some(Snapshot { seq: row.number(0)?, body: row.try_get(1)? }),
        None => None,
    };
    let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let until = until.unwrap_or(record.head).min(record.head);
    let entries = between(conn, no, after, until).await?;
    if after.max(until) != after + entries.len() as u64 {
        let problem = format!("the journal of {id} has not all of its entries");
        return Err(StoreError::Corrupt(problem).into());
    }
    Ok(LoadedRun { record, snapshot, entries, inputs: inputs? })
}

/// Entries after a position, at most `limit`.
pub(super) async fn entries(
    conn: &Conn,
    id: &RunId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, Stop> {
    let row = conn.row("SELECT no FROM runs WHERE id = $1", &[&Text(id.as_str())]).await?;
    let Some(row) = row else { return Err(StoreError::UnknownRun(id.clone()).into()) };
    between(conn, row.int(0)?, after, after.saturating_add(limit as u64)).await
}

/// Inputs after a number, by the run's id.
pub(super) async fn inputs_of(
    conn: &Conn,
    id: &RunId,
    after: u64,
) -> Result<Vec<(u64, Input)>, Stop> {
    let rows = conn
        .rows(
            "SELECT i.no, i.body FROM runs u LEFT JOIN inputs i ON i.run = u.no AND i.no > $2
             WHERE u.id = $1 ORDER BY i.no",
            &[&Text(id.as_str()), &stored(after)],
        )
        .await?;
    if rows.is_empty() {
        return Err(StoreError::UnknownRun(id.clone()).into());
    }
    let mut inputs = Vec::new();
    for row in &rows {
        if row.int_if_any(0)?.is_some() {
            inputs.push((row.number(0)?, parse("an input", &row.text(1)?)?));
        }
    }
    Ok(inputs)
}

/// The entries at positions after `after` and up to `until`.
async fn between(conn: &Conn, run: i64, after: Seq, until: Seq) -> Result<Vec<Entry>, Stop> {
    // The first row wanted may begin before the first entry wanted.
    let rows = conn
        .rows(
            "SELECT seq, count, body FROM journal
             WHERE run = $1 AND seq <= $3 AND seq >=
                 (SELECT coalesce(max(seq), 0) FROM journal WHERE run = $1 AND seq <= $2)
             ORDER BY seq",
            &[&run, &stored(after.saturating_add(1)), &stored(until)],
        )
        .await?;
    let mut entries: Vec<Entry> = Vec::new();
    for row in &rows {
        let (first, decoded) = decoded(row)?;
        for entry in decoded.into_iter().filter(|entry| entry.seq > after && entry.seq <= until) {
            let expected = entries.last().map_or(after, |last| last.seq) + 1;
            if entry.seq != expected {
                return Err(corrupt(first, &format!("entry {expected} is missing")).into());
            }
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn decoded(row: &Row) -> Result<(Seq, Vec<Entry>), Stop> {
    let (first, count) = (row.number(0)?, row.number(1)?);
    let entries =
        decode(first, row.try_get(2)?).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    if entries.len() as u64 != count {
        let problem = format!("{count} entries expected, {} found", entries.len());
        return Err(corrupt(first, &problem).into());
    }
    Ok((first, entries))
}

fn corrupt(row: Seq, problem: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("journal row at {row}: {problem}"))
}
