//! What happens to requests, and who has been told of it.

use rusqlite::{Connection, OptionalExtension as _, params};
use signoff_core::id::{Name, RequestId, Tenant};
use signoff_core::time::Timestamp;
use signoff_core::{RequestNo, RunId};

use super::db::Db;
use super::decide::add_audit_line;
use super::error::{read, stored};
use super::writer::{Command, Stop};
use crate::events::FORGOTTEN_AFTER;
use crate::{Happened, MoveWebhook, Notified, Posted, RequestEvent, StoreError, TakeWebhook};

/// Tells of a request, if there is anybody to be told.
pub(super) fn tell(
    db: &Db,
    run: i64,
    number: RequestNo,
    what: Happened,
    at: Timestamp,
) -> rusqlite::Result<()> {
    db.connection
        .prepare_cached(
            "INSERT INTO events (at, what, run, number) SELECT ?1, ?2, ?3, ?4
             WHERE EXISTS (SELECT 1 FROM webhooks WHERE lease_until > ?5)",
        )?
        .execute(params![at.0, what.as_str(), run, number, forgotten_at(at)])
        .map(drop)
}

/// Tells that what a run still asked is taken back.
pub(super) fn tell_cancelled(db: &Db, run: i64, at: Timestamp) -> rusqlite::Result<()> {
    db.connection
        .prepare_cached(
            "INSERT INTO events (at, what, run, number)
             SELECT ?1, 'cancelled', run, number FROM requests
             WHERE run = ?2 AND status = 'pending'
                 AND EXISTS (SELECT 1 FROM webhooks WHERE lease_until > ?3)
             ORDER BY number",
        )?
        .execute(params![at.0, run, forgotten_at(at)])
        .map(drop)
}

fn forgotten_at(now: Timestamp) -> i64 {
    now.0.saturating_sub(stored(FORGOTTEN_AFTER.0))
}

/// What happened after a number, in order.
pub(super) fn after(
    connection: &Connection,
    after: u64,
    limit: usize,
) -> Result<Vec<RequestEvent>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT e.no, e.at, e.what, u.id, e.number, u.tenant
         FROM events e CROSS JOIN runs u ON u.no = e.run
         WHERE e.no > ?1 ORDER BY e.no LIMIT ?2",
    )?;
    let mut rows = statement.query(params![stored(after), stored(limit as u64)])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let what: String = row.get(2)?;
        let Some(what) = Happened::from_word(&what) else {
            return Err(StoreError::Corrupt(format!("an event called `{what}`")));
        };
        events.push(RequestEvent {
            no: read(row.get(0)?),
            at: Timestamp(row.get(1)?),
            what,
            request: RunId::new(row.get::<_, String>(3)?).request(row.get(4)?),
            tenant: Tenant::new(row.get::<_, String>(5)?),
        });
    }
    Ok(events)
}

/// What a request is known by where a webhook was told of it.
pub(super) fn posted(
    connection: &Connection,
    webhook: &Name,
    request: &RequestId,
) -> Result<Option<String>, StoreError> {
    let sql = "SELECT reference FROM posts WHERE webhook = ?1 AND request = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![&**webhook, request.as_str()], |row| row.get(0)).optional()?)
}

fn keep(db: &Db, webhook: &Name, posted: &Posted) -> rusqlite::Result<()> {
    let (connection, request) = (&db.connection, posted.request.as_str());
    let changed = match &posted.reference {
        Some(reference) => connection
            .prepare_cached("INSERT OR REPLACE INTO posts VALUES (?1, ?2, ?3)")?
            .execute(params![&**webhook, request, reference]),
        None => connection
            .prepare_cached("DELETE FROM posts WHERE webhook = ?1 AND request = ?2")?
            .execute(params![&**webhook, request]),
    };
    changed.map(drop)
}

impl Command for TakeWebhook {
    type Output = Option<u64>;

    fn apply(&self, db: &mut Db) -> Result<Option<u64>, Stop> {
        db.reap()?;
        let until = self.now.plus(self.ttl).0;
        // A new one begins with what happens from now on.
        db.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO webhooks (name, cursor, lease_node, lease_until)
                 SELECT ?1, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0),
                     ?2, ?3",
            )?
            .execute(params![&*self.name, &*self.node, until])?;
        let cursor: Option<i64> = db
            .connection
            .prepare_cached(
                "UPDATE webhooks SET lease_node = ?2, lease_until = ?3
                 WHERE name = ?1 AND (lease_node IS NULL OR lease_node = ?2 OR lease_until <= ?4)
                 RETURNING cursor",
            )?
            .query_row(params![&*self.name, &*self.node, until, self.now.0], |row| row.get(0))
            .optional()?;
        Ok(cursor.map(read))
    }
}

impl Command for MoveWebhook {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let moved = db
            .connection
            .prepare_cached(
                "UPDATE webhooks SET cursor = max(cursor, ?3)
                 WHERE name = ?1 AND lease_node = ?2",
            )?
            .execute(params![&*self.name, &*self.node, stored(self.to)])?;
        if moved == 1 {
            if let Some(posted) = &self.posted {
                keep(db, &self.name, posted)?;
            }
            if let Some(told) = &self.told {
                let (request, tenant) = (told.request.clone(), told.tenant.clone());
                let teller = Notified::teller(&self.name);
                add_audit_line(db, self.now, teller, request, tenant, told.said())?;
            }
            db.connection
                .prepare_cached(
                    "DELETE FROM events WHERE no <=
                         (SELECT min(cursor) FROM webhooks WHERE lease_until > ?1)",
                )?
                .execute(params![forgotten_at(self.now)])?;
        }
        Ok(moved == 1)
    }
}
