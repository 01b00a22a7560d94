//! The one place where a request stops being pending: by a decision, or because its time ran out.

use rusqlite::{OptionalExtension as _, params};
use signoff_core::journal::Input;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, RequestNo, RunId, Seq, Tenant};

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
        let Some(found) = open_question(db, &self.request, self.at)? else {
            return match by_id(&db.connection, &self.request)? {
                Some(found) => Ok(Decided::TooLate(Box::new(found.request))),
                None => Err(StoreError::UnknownRequest(self.request.clone()).into()),
            };
        };
        if found.expires_at.is_some_and(|at| self.at >= at) {
            let Some(question) = by_id(&db.connection, &self.request)? else {
                return Err(StoreError::UnknownRequest(self.request.clone()).into());
            };
            expire(db, &question, self.at)?;
            let now = by_id(&db.connection, &self.request)?.unwrap_or(question);
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
        if found.expires_at.is_some() {
            drop_timer(db, found.run, &Due::Request { request: found.number })?;
        }
        add_audit_line(db, self.at, self.by.clone(), self.request.clone(), found.tenant, decision)?;
        let lease = match &self.claim {
            Some(claim) if found.free => db
                .give_input_and_lease(found.run, &input, claim)?
                .map(|epoch| Lease { run: found.run_id, node: claim.node.clone(), epoch }),
            _ => {
                db.give_input(found.run, &input)?;
                None
            }
        };
        Ok(Decided::Taken { lease, head: found.head })
    }
}

/// What a decision needs to know of a pending request and its run. The request's text is not read: it
/// was checked before.
struct OpenQuestion {
    no: i64,
    run: i64,
    run_id: RunId,
    number: RequestNo,
    expires_at: Option<Timestamp>,
    tenant: Tenant,
    head: Seq,
    /// Nobody holds a lease on the run.
    free: bool,
}

fn open_question(
    db: &Db,
    id: &RequestId,
    now: Timestamp,
) -> rusqlite::Result<Option<OpenQuestion>> {
    let Some((run_id, number)) = id.split() else { return Ok(None) };
    db.connection
        .prepare_cached(
            "SELECT r.no, r.run, r.expires_at, u.head, u.lease_node IS NULL OR u.lease_until <= ?3,
                 r.tenant
             FROM runs u CROSS JOIN requests r ON r.run = u.no AND r.number = ?2
             WHERE u.id = ?1 AND r.status = 'pending'",
        )?
        .query_row(params![run_id.as_str(), number, now.0], |row| {
            Ok(OpenQuestion {
                no: row.get(0)?,
                run: row.get(1)?,
                expires_at: row.get::<_, Option<i64>>(2)?.map(Timestamp),
                head: read(row.get(3)?),
                free: row.get(4)?,
                tenant: Tenant::new(row.get::<_, String>(5)?),
                run_id: run_id.clone(),
                number,
            })
        })
        .optional()
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
        let tenant = found.request.tenant.clone();
        add_audit_line(db, now, clock_actor(), request, tenant, EXPIRED.to_owned())?;
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
    tenant: Tenant,
    decision: String,
) -> rusqlite::Result<()> {
    let last: Option<(i64, String)> = db
        .connection
        .prepare_cached("SELECT no, hash FROM audit ORDER BY no DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let last = last.as_ref().map(|(no, hash)| (read(*no), hash.as_str()));
    let line = AuditEntry::next(last, at, by, request, tenant, decision);
    db.connection
        .prepare_cached(
            "INSERT INTO audit (no, at, by, request, decision, hash, tenant)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            stored(line.no),
            line.at.0,
            line.by.as_str(),
            line.request.as_str(),
            line.decision,
            line.hash,
            line.tenant.as_str(),
        ])
        .map(drop)
}
