//! Things that happen by themselves: deadlines of requests and runs, ends of sleeps.

use rusqlite::params;
use signoff_core::RunId;
use signoff_core::journal::Input;
use signoff_core::time::Timestamp;

use super::db::Db;
use super::decide::{expire, remind};
use super::error::{json, stored};
use super::requests::numbered;
use super::users::reopen;
use super::writer::{Command, Stop};
use crate::entries::MAX_LIMIT;
use crate::{Due, StoreError};

/// Remembers that `due` comes at `at`, instead of whenever it was to come before.
pub(super) fn set_timer(db: &Db, run: i64, due: &Due, at: Timestamp) -> rusqlite::Result<()> {
    let (what, number, key) = columns(due);
    db.connection
        .prepare_cached(
            "INSERT OR REPLACE INTO timers (due_at, run, what, number, key)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![at.0, run, what, number, key])
        .map(drop)
}

/// Forgets it.
pub(super) fn drop_timer(db: &Db, run: i64, due: &Due) -> rusqlite::Result<()> {
    let (what, number, key) = columns(due);
    db.connection
        .prepare_cached(
            "DELETE FROM timers WHERE run = ?1 AND what = ?2 AND number = ?3 AND key = ?4",
        )?
        .execute(params![run, what, number, key])
        .map(drop)
}

fn columns(due: &Due) -> (&'static str, u32, &str) {
    match due {
        Due::Timer { activation, key } => ("timer", *activation, key),
        Due::Request { request } => ("request", *request, ""),
        Due::Reminder { request } => ("reminder", *request, ""),
        Due::Deferral { request } => ("deferral", *request, ""),
        Due::Run => ("run", 0, ""),
    }
}

/// Fires what is due.
#[derive(Debug)]
pub(super) struct FireDue {
    pub(super) now: Timestamp,
    pub(super) limit: usize,
}

impl Command for FireDue {
    type Output = usize;

    fn apply(&self, db: &mut Db) -> Result<usize, Stop> {
        let due = due_at(db, self.now, self.limit)?;
        let fired = due.len();
        for (no, run, due) in due {
            db.connection
                .prepare_cached("DELETE FROM timers WHERE no = ?1")?
                .execute(params![no])?;
            let input = match due {
                Due::Timer { activation, key } => Input::Timer { activation, key },
                Due::Run => Input::OutOfTime {},
                Due::Request { request } => {
                    if let Some(request) = numbered(&db.connection, run, request)? {
                        expire(db, &request, self.now)?;
                    }
                    continue;
                }
                Due::Reminder { request } => {
                    if let Some(request) = numbered(&db.connection, run, request)? {
                        remind(db, &request, self.now)?;
                    }
                    continue;
                }
                Due::Deferral { request } => {
                    if let Some(request) = numbered(&db.connection, run, request)? {
                        reopen(db, &request, self.now)?;
                    }
                    continue;
                }
            };
            db.give_input(run, &json(&input)?)?;
        }
        Ok(fired)
    }
}

fn due_at(db: &Db, now: Timestamp, limit: usize) -> Result<Vec<(i64, i64, Due)>, Stop> {
    let mut statement = db.connection.prepare_cached(
        "SELECT no, run, what, number, key FROM timers WHERE due_at <= ?1
         ORDER BY due_at, no LIMIT ?2",
    )?;
    let mut rows = statement.query(params![now.0, stored(limit.min(MAX_LIMIT) as u64)])?;
    let mut due = Vec::new();
    while let Some(row) = rows.next()? {
        let what = from_row(row, 2)?;
        due.push((row.get(0)?, row.get(1)?, what));
    }
    Ok(due)
}

/// What a row says, from the column on that has its kind.
fn from_row(row: &rusqlite::Row<'_>, column: usize) -> Result<Due, StoreError> {
    Ok(match row.get_ref(column)?.as_str().unwrap_or_default() {
        "timer" => {
            let key: String = row.get(column + 2)?;
            Due::Timer { activation: row.get(column + 1)?, key: key.into() }
        }
        "request" => Due::Request { request: row.get(column + 1)? },
        "reminder" => Due::Reminder { request: row.get(column + 1)? },
        "deferral" => Due::Deferral { request: row.get(column + 1)? },
        "run" => Due::Run,
        other => return Err(StoreError::Corrupt(format!("a timer for `{other}`"))),
    })
}

/// What is to come in a run.
pub(super) fn of_run(
    connection: &rusqlite::Connection,
    run: &RunId,
) -> Result<Vec<(Due, Timestamp)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT t.due_at, t.what, t.number, t.key FROM runs u JOIN timers t ON t.run = u.no
         WHERE u.id = ?1 ORDER BY t.due_at, t.no",
    )?;
    let mut rows = statement.query(params![run.as_str()])?;
    let mut timers = Vec::new();
    while let Some(row) = rows.next()? {
        timers.push((from_row(row, 1)?, Timestamp(row.get(0)?)));
    }
    Ok(timers)
}
