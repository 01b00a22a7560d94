//! Things that happen by themselves: deadlines of requests and runs, ends of sleeps.

use signoff_core::RunId;
use signoff_core::journal::Input;
use signoff_core::time::Timestamp;
use tokio_postgres::Row;

use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::decide::{expire, remind};
use super::error::{Stop, json};
use super::job::Command;
use super::numbers::Numbered;
use super::requests::numbered;
use super::runs::give_input;
use super::text::Text;
use super::touches::Touches;
use super::users::reopen;
use crate::entries::MAX_LIMIT;
use crate::{Due, StoreError};

/// Remembers that `due` comes at `at`, instead of whenever it was to come before.
pub(super) async fn set_timer(
    batch: &Batch<'_>,
    run: i64,
    due: &Due,
    at: Timestamp,
) -> Result<(), Stop> {
    let (what, number, key) = columns(due);
    batch
        .write(
            "INSERT INTO timers (no, due_at, run, what, number, key) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (run, what, number, key) DO UPDATE SET no = $1, due_at = $2",
            &[&batch.number(Numbered::Timer), &at.0, &run, &Text(what), &number, &Text(key)],
        )
        .await?;
    Ok(())
}

/// Forgets it.
pub(super) async fn drop_timer(batch: &Batch<'_>, run: i64, due: &Due) -> Result<(), Stop> {
    let (what, number, key) = columns(due);
    let sql = "DELETE FROM timers WHERE run = $1 AND what = $2 AND number = $3 AND key = $4";
    batch.write(sql, &[&run, &Text(what), &number, &Text(key)]).await?;
    Ok(())
}

fn columns(due: &Due) -> (&'static str, i64, &str) {
    match due {
        Due::Timer { activation, key } => ("timer", i64::from(*activation), key),
        Due::Request { request } => ("request", i64::from(*request), ""),
        Due::Reminder { request } => ("reminder", i64::from(*request), ""),
        Due::Deferral { request } => ("deferral", i64::from(*request), ""),
        Due::Run => ("run", 0, ""),
    }
}

/// When the next thing is due.
pub(super) async fn next_due(conn: &Conn) -> Result<Option<Timestamp>, Stop> {
    let row = conn.row("SELECT min(due_at) FROM timers", &[]).await?;
    let due = row.map_or(Ok(None), |row| row.int_if_any(0))?;
    Ok(due.map(Timestamp))
}

/// Fires what is due.
#[derive(Debug)]
pub(super) struct FireDue {
    pub(super) now: Timestamp,
    pub(super) limit: usize,
}

impl Command for FireDue {
    type Output = usize;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<usize, Stop> {
        let due = due_at(batch.conn(), self.now, self.limit).await?;
        let fired = due.len();
        if fired == 0 {
            return Ok(0);
        }
        let numbers: Vec<i64> = due.iter().map(|(no, ..)| *no).collect();
        batch.write("DELETE FROM timers WHERE no = ANY($1)", &[&numbers]).await?;
        for (_, run, due) in due {
            let input = match due {
                Due::Timer { activation, key } => Input::Timer { activation, key },
                Due::Run => Input::OutOfTime {},
                Due::Request { request } => {
                    if let Some(request) = numbered(batch.conn(), run, request).await? {
                        expire(batch, &request, self.now).await?;
                    }
                    continue;
                }
                Due::Reminder { request } => {
                    if let Some(request) = numbered(batch.conn(), run, request).await? {
                        remind(batch, &request, self.now).await?;
                    }
                    continue;
                }
                Due::Deferral { request } => {
                    if let Some(request) = numbered(batch.conn(), run, request).await? {
                        reopen(batch, &request, self.now).await?;
                    }
                    continue;
                }
            };
            give_input(batch, run, &json(&input)?).await?;
        }
        Ok(fired)
    }
}

async fn due_at(conn: &Conn, now: Timestamp, limit: usize) -> Result<Vec<(i64, i64, Due)>, Stop> {
    let rows = conn
        .rows(
            "SELECT no, run, what, number, key FROM timers WHERE due_at <= $1
             ORDER BY due_at, no LIMIT $2",
            &[&now.0, &stored(limit.min(MAX_LIMIT) as u64)],
        )
        .await?;
    let mut due = Vec::with_capacity(rows.len());
    for row in &rows {
        let what = from_row(row, 2)?;
        due.push((row.int(0)?, row.int(1)?, what));
    }
    Ok(due)
}

/// What a row says, from the column on that has its kind.
fn from_row(row: &Row, column: usize) -> Result<Due, Stop> {
    let number = row.small(column + 1)?;
    Ok(match row.text(column)?.as_str() {
        "timer" => Due::Timer { activation: number, key: row.text(column + 2)?.into() },
        "request" => Due::Request { request: number },
        "reminder" => Due::Reminder { request: number },
        "deferral" => Due::Deferral { request: number },
        "run" => Due::Run,
        other => return Err(StoreError::Corrupt(format!("a timer for `{other}`")).into()),
    })
}

/// What is to come in a run.
pub(super) async fn of_run(conn: &Conn, run: &RunId) -> Result<Vec<(Due, Timestamp)>, Stop> {
    let rows = conn
        .rows(
            "SELECT t.due_at, t.what, t.number, t.key FROM runs u JOIN timers t ON t.run = u.no
             WHERE u.id = $1 ORDER BY t.due_at, t.no",
            &[&Text(run.as_str())],
        )
        .await?;
    rows.iter().map(|row| Ok((from_row(row, 1)?, Timestamp(row.int(0)?)))).collect()
}
