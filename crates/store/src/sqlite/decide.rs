//! The one place where a request stops being pending: by a decision, or because its time ran out.

use rusqlite::{OptionalExtension as _, params};
use signoff_core::journal::Input;
use signoff_core::request::RequestStatus;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId};

use super::db::Db;
use super::error::{json, read, stored};
use super::requests::{StoredRequest, by_id};
use super::timers::drop_timer;
use super::writer::{Command, Stop};
use crate::audit::{EXPIRED, clock_actor};
use crate::{AuditEntry, Decide, Decided, Due, Lease, StoreError};

impl Command for Decide {
    type Output = Decided;

    fn apply(&self, db: &mut Db) -> Result<Decided, Stop> {
        let Some(found) = by_id(&db.connection, &self.request)? else {
            return Err(StoreError::UnknownRequest(self.request.clone()).into());
        };
        if found.request.status != RequestStatus::Pending {
            return Ok(Decided::TooLate(Box::new(found.request)));
        }
        if found.request.body.expires_at.is_some_and(|at| self.at >= at) {
            expire(db, &found, self.at)?;
            let now = by_id(&db.connection, &self.request)?.unwrap_or(found);
            return Ok(Decided::TooLate(Box::new(now.request)));
        }
        let decision = json(&self.decision)?;
        let input = json(&Input::Decided {
            request: found.number,
            decision: self.decision.clone(),
            by: self.by.clone(),
        })?;
        db.connection
            .prepare_cached(
                "UPDATE requests SET status = 'decided', version = version + 1,
                     decision = ?2, decided_by = ?3, decided_at = ?4
                 WHERE no = ?1 AND status = 'pending'",
            )?
            .execute(params![found.no, decision, self.by.as_str(), self.at.0])?;
        drop_timer(db, found.run, &Due::Request { request: found.number })?;
        add_audit_line(db, self.at, self.by.clone(), self.request.clone(), decision)?;
        db.give_input(found.run, &input)?;
        let Some(claim) = &self.claim else { return Ok(Decided::Taken(None)) };
        let epoch = db.take_lease(found.run, claim, self.at)?;
        Ok(Decided::Taken(epoch.map(|epoch| Lease {
            run: found.request.run,
            node: claim.node.clone(),
            epoch,
        })))
    }
}

/// Lets a request expire, if it is still pending.
pub(super) fn expire(db: &Db, found: &StoredRequest, now: Timestamp) -> Result<(), Stop> {
    let input = json(&Input::Expired { request: found.number })?;
    let changed = db
        .connection
        .prepare_cached(
            "UPDATE requests SET status = 'expired', version = version + 1
             WHERE no = ?1 AND status = 'pending'",
        )?
        .execute(params![found.no])?;
    if changed == 1 {
        drop_timer(db, found.run, &Due::Request { request: found.number })?;
        let request = found.request.id.clone();
        add_audit_line(db, now, clock_actor(), request, EXPIRED.to_owned())?;
        db.give_input(found.run, &input)?;
    }
    Ok(())
}

/// Adds a line that is chained to the last one, whoever wrote that.
fn add_audit_line(
    db: &Db,
    at: Timestamp,
    by: Actor,
    request: RequestId,
    decision: String,
) -> rusqlite::Result<()> {
    let last: Option<(i64, String)> = db
        .connection
        .prepare_cached("SELECT no, hash FROM audit ORDER BY no DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let last = last.as_ref().map(|(no, hash)| (read(*no), hash.as_str()));
    let line = AuditEntry::next(last, at, by, request, decision);
    db.connection
        .prepare_cached(
            "INSERT INTO audit (no, at, by, request, decision, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            stored(line.no),
            line.at.0,
            line.by.as_str(),
            line.request.as_str(),
            line.decision,
            line.hash
        ])
        .map(drop)
}
