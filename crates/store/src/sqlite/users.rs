//! Users, and what they note on requests.

use rusqlite::{Connection, OptionalExtension as _, params};
use signoff_core::id::Tenant;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, RequestNo, RunId};

use super::db::Db;
use super::decide::add_audit_line;
use super::error::{json, parse, read, stored};
use super::events::tell;
use super::requests::{StoredRequest, by_id};
use super::timers::set_timer;
use super::writer::{Command, Stop};
use crate::audit::{noted as noted_line, system_actor};
use crate::people::assignee_after;
use crate::{Due, Happened, Mark, Marked, Note, NoteLine, Noted, StoreError, User};

/// A user to add; one of that name is replaced only if that is wanted.
#[derive(Debug)]
pub(super) struct PutUser {
    pub(super) user: User,
    pub(super) replace: bool,
}

impl Command for PutUser {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let User { name, tenant, roles, token, created_at } = &self.user;
        let found: Option<i64> = db
            .connection
            .prepare_cached("SELECT 1 FROM users WHERE name = ?1")?
            .query_row(params![name.as_str()], |row| row.get(0))
            .optional()?;
        if found.is_some() && !self.replace {
            return Ok(false);
        }
        db.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO users (name, tenant, roles, token, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![name.as_str(), tenant.as_str(), json(roles)?, token, created_at.0])?;
        Ok(true)
    }
}

/// A user to remove.
#[derive(Debug)]
pub(super) struct RemoveUser(pub(super) String);

impl Command for RemoveUser {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let mut statement = db.connection.prepare_cached("DELETE FROM users WHERE name = ?1")?;
        Ok(statement.execute(params![self.0])? > 0)
    }
}

/// All users, by name.
pub(super) fn all(connection: &Connection) -> Result<Vec<User>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT name, tenant, roles, token, created_at FROM users ORDER BY name")?;
    let mut rows = statement.query([])?;
    let mut users = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        users.push(User {
            tenant: Tenant::new(row.get::<_, String>(1)?),
            roles: parse(&name, &row.get::<_, String>(2)?)?,
            token: row.get(3)?,
            created_at: Timestamp(row.get(4)?),
            name: Actor::new(name),
        });
    }
    Ok(users)
}

impl Command for Mark {
    type Output = Marked;

    fn apply(&self, db: &mut Db) -> Result<Marked, Stop> {
        let Some(mut found) = by_id(&db.connection, &self.request)? else {
            return Err(StoreError::UnknownRequest(self.request.clone()).into());
        };
        match assignee_after(&found.request, self) {
            Err(stands) => return Ok(stands),
            Ok(assignee) => found.request.assignee = assignee,
        }
        db.connection
            .prepare_cached("UPDATE requests SET assignee = ?2 WHERE no = ?1")?
            .execute(params![found.no, found.request.assignee.as_ref().map(Actor::as_str)])?;
        add_note(db, found.run, found.number, self.at, &self.by, &self.what)?;
        if let Some(said) = noted_line(&self.what) {
            let (request, tenant) = (self.request.clone(), found.request.tenant.clone());
            add_audit_line(db, self.at, self.by.clone(), request, tenant, said)?;
        }
        if let Noted::Deferred { until, .. } = &self.what {
            put_off(db, found.no, Some(*until))?;
            found.request.deferred_until = Some(*until);
            set_timer(db, found.run, &Due::Deferral { request: found.number }, *until)?;
            tell(db, found.run, found.number, Happened::Deferred, self.at)?;
        }
        Ok(Marked::Done(Box::new(found.request)))
    }
}

fn put_off(db: &Db, request: i64, until: Option<Timestamp>) -> rusqlite::Result<()> {
    db.connection
        .prepare_cached("UPDATE requests SET deferred_until = ?2 WHERE no = ?1")?
        .execute(params![request, until.map(|until| until.0)])
        .map(drop)
}

/// Puts a request that was put off in sight again, if it still waits.
pub(super) fn reopen(db: &Db, found: &StoredRequest, now: Timestamp) -> Result<(), Stop> {
    if found.request.deferred_until.is_none() {
        return Ok(());
    }
    put_off(db, found.no, None)?;
    add_note(db, found.run, found.number, now, &system_actor(), &Noted::Reopened)?;
    tell(db, found.run, found.number, Happened::Reopened, now)?;
    Ok(())
}

/// Notes something on a request.
pub(super) fn add_note(
    db: &Db,
    run: i64,
    number: RequestNo,
    at: Timestamp,
    by: &Actor,
    what: &Noted,
) -> Result<(), Stop> {
    db.connection
        .prepare_cached(
            "INSERT INTO notes (run, number, at, by, what) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![run, number, at.0, by.as_str(), json(what)?])?;
    Ok(())
}

/// What was noted on all requests after a number, in order.
pub(super) fn noted(
    connection: &Connection,
    after: u64,
    limit: usize,
) -> Result<Vec<NoteLine>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT n.no, u.id, n.number, n.at, n.by, n.what FROM notes n CROSS JOIN runs u ON u.no = n.run
         WHERE n.no > ?1 ORDER BY n.no LIMIT ?2",
    )?;
    let mut rows = statement.query(params![stored(after), stored(limit as u64)])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let request = RunId::new(row.get::<_, String>(1)?).request(row.get(2)?);
        let note = Note {
            at: Timestamp(row.get(3)?),
            by: Actor::new(row.get::<_, String>(4)?),
            what: parse(request.as_str(), &row.get::<_, String>(5)?)?,
        };
        lines.push(NoteLine { no: read(row.get(0)?), request, note });
    }
    Ok(lines)
}

/// What was noted on a request, in order.
pub(super) fn notes(connection: &Connection, id: &RequestId) -> Result<Vec<Note>, StoreError> {
    let Some((run, number)) = id.split() else { return Ok(Vec::new()) };
    let mut statement = connection.prepare_cached(
        "SELECT n.at, n.by, n.what FROM runs u CROSS JOIN notes n
             ON n.run = u.no AND n.number = ?2
         WHERE u.id = ?1 ORDER BY n.no",
    )?;
    let mut rows = statement.query(params![run.as_str(), number])?;
    let mut notes = Vec::new();
    while let Some(row) = rows.next()? {
        notes.push(Note {
            at: Timestamp(row.get(0)?),
            by: Actor::new(row.get::<_, String>(1)?),
            what: parse(id.as_str(), &row.get::<_, String>(2)?)?,
        });
    }
    Ok(notes)
}
