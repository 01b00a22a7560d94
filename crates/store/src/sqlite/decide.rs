//! The one place where a request stops being pending: by a decision, or because its time ran out.

use rusqlite::{OptionalExtension as _, params};
use signoff_core::deciders::{Deciders, Vote};
use signoff_core::journal::Input;
use signoff_core::plan::because_rejected;
use signoff_core::request::RequestStatus;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, RequestNo, RunId, Seq, Tenant};

use super::db::Db;
use super::error::{json, read, stored};
use super::events::tell;
use super::project::withdraw;
use super::requests::{StoredRequest, by_id};
use super::rules::add_grant;
use super::timers::{drop_timer, set_timer};
use super::users::{add_note, notes};
use super::writer::{Command, Stop};
use crate::audit::{EXPIRED, REMINDED, escalated, system_actor, voted};
use crate::contract::{as_given, in_turn};
use crate::links::by_link;
use crate::people::{Noted, votes_with};
use crate::{AuditEntry, Decide, Decided, DecidedAll, Due, Happened, Lease, StoreError};

impl Command for Decide {
    type Output = Decided;

    fn apply(&self, db: &mut Db) -> Result<Decided, Stop> {
        let Some(found) = open_question(db, &self.request, self.at)? else {
            return Ok(Decided::TooLate(Box::new(self.stored(db)?.request)));
        };
        if found.expires_at.is_some_and(|at| self.at >= at) {
            expire(db, &self.stored(db)?, self.at)?;
            return Ok(Decided::TooLate(Box::new(self.stored(db)?.request)));
        }
        if self.version.is_some_and(|seen| seen != found.version) {
            let now = self.stored(db)?;
            return Ok(Decided::Stale(Box::new(now.request)));
        }
        if let Some(deciders) = &self.deciders
            && !self.vote(db, &found, deciders)?
        {
            return Ok(Decided::Voted(Box::new(self.stored(db)?.request)));
        }
        let decision = json(&self.decision)?;
        let input = json(&Input::Decided {
            request: found.number,
            decision: self.decision.clone(),
            by: self.by.clone(),
            sent: self.sent.clone(),
        })?;
        let sent = self.sent.as_ref().map(json).transpose()?;
        db.connection
            .prepare_cached(
                "UPDATE requests SET status = 'decided', version = version + 1,
                     decision = ?2, decided_by = ?3, decided_at = ?4, sent = ?5
                 WHERE no = ?1 AND status = 'pending'",
            )?
            .execute(params![found.no, decision, self.by.as_str(), self.at.0, sent])?;
        if found.expires_at.is_some() {
            drop_timer(db, found.run, &Due::Request { request: found.number })?;
        }
        let said = by_link(self.recorded.to_string(), self.link.as_ref());
        let (by, request) = (self.by.clone(), self.request.clone());
        add_audit_line(db, self.at, by, request, found.tenant, said)?;
        tell(db, found.run, found.number, Happened::Decided, self.at)?;
        if let Some(grant) = &self.grant {
            add_grant(db, grant)?;
        }
        if let Some(turn) = &self.withdraw {
            self.withdraw_others(db, (found.run, found.number), turn)?;
        }
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

/// Several decisions, all or none.
#[derive(Debug)]
pub(super) struct DecideAll(pub(super) Vec<Decide>);

impl Command for DecideAll {
    type Output = DecidedAll;

    fn apply(&self, db: &mut Db) -> Result<DecidedAll, Stop> {
        let mut refused = Vec::new();
        for (n, decide) in self.0.iter().enumerate() {
            let open = open_question(db, &decide.request, decide.at)?;
            let in_time = |found: &OpenQuestion| found.expires_at.is_none_or(|at| decide.at < at);
            match open.filter(in_time) {
                None => {
                    refused.push((n, Decided::TooLate(Box::new(decide.stored(db)?.request))));
                }
                Some(found) if decide.version.is_some_and(|seen| seen != found.version) => {
                    refused.push((n, Decided::Stale(Box::new(decide.stored(db)?.request))));
                }
                Some(_) => {}
            }
        }
        if !refused.is_empty() {
            return Ok(DecidedAll::Refused(refused));
        }
        let mut taken: Vec<(usize, Decided)> = Vec::with_capacity(self.0.len());
        for (n, decide) in in_turn(self.0.clone()) {
            taken.push((n, decide.apply(db)?));
        }
        Ok(DecidedAll::Taken(as_given(taken)))
    }
}

impl Decide {
    /// Takes back what else a turn asks.
    fn withdraw_others(&self, db: &Db, found: (i64, RequestNo), turn: &str) -> Result<(), Stop> {
        let (run, rejected) = found;
        let others: Vec<RequestNo> = db
            .connection
            .prepare_cached(
                "SELECT number FROM requests
                 WHERE run = ?1 AND status = 'pending' AND body ->> '$.turn' = ?2 ORDER BY number",
            )?
            .query_map(params![run, turn], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let reason = because_rejected(&self.by, rejected);
        for number in others {
            withdraw(db, run, number, Some((&self.by, &reason)), self.at, true)?;
        }
        Ok(())
    }

    fn stored(&self, db: &Db) -> Result<StoredRequest, Stop> {
        let found = by_id(&db.connection, &self.request)?;
        found.ok_or_else(|| StoreError::UnknownRequest(self.request.clone()).into())
    }

    /// Whether enough have decided the same, this one included. If not, it is noted.
    fn vote(&self, db: &Db, found: &OpenQuestion, deciders: &Deciders) -> Result<bool, Stop> {
        let vote = Vote {
            by: self.by.clone(),
            roles: self.roles.clone(),
            decision: self.decision.clone(),
        };
        let before = notes(&db.connection, &self.request)?;
        let Some(votes) = votes_with(&before, &vote) else { return Ok(false) };
        if deciders.decided(&votes) {
            return Ok(true);
        }
        let noted = Noted::Voted { decision: vote.decision, roles: vote.roles };
        add_note(db, found.run, found.number, self.at, &self.by, &noted)?;
        db.connection
            .prepare_cached("UPDATE requests SET version = version + 1 WHERE no = ?1")?
            .execute(params![found.no])?;
        let tenant = found.tenant.clone();
        let said = by_link(voted(&self.recorded, &self.roles), self.link.as_ref());
        add_audit_line(db, self.at, self.by.clone(), self.request.clone(), tenant, said)?;
        tell(db, found.run, found.number, Happened::Voted, self.at)?;
        Ok(false)
    }
}

/// What a decision needs to know of a pending request and its run. The request's text is not read: it
/// was checked before.
struct OpenQuestion {
    no: i64,
    run: i64,
    run_id: RunId,
    number: RequestNo,
    version: u32,
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
                 r.tenant, r.version
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
                version: row.get(6)?,
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
        add_audit_line(
            db,
            now,
            system_actor(),
            request.clone(),
            tenant.clone(),
            EXPIRED.to_owned(),
        )?;
        if let Some(said) = escalated(&found.request.body) {
            add_audit_line(db, now, system_actor(), request, tenant, said)?;
        }
        tell(db, found.run, found.number, Happened::Expired, now)?;
        db.give_input(found.run, &input)?;
    }
    Ok(())
}

/// Reminds people of a request, if it is still pending, and again after as long.
pub(super) fn remind(db: &Db, found: &StoredRequest, now: Timestamp) -> Result<(), Stop> {
    let StoredRequest { no, run, number, request } = found;
    let (RequestStatus::Pending, Some(every)) = (request.status, request.body.remind) else {
        return Ok(());
    };
    let again = Due::Reminder { request: *number };
    if request.deferred_until.is_some() {
        // Somebody knows of it, and does not want to see it now.
        set_timer(db, *run, &again, now.plus(every))?;
        return Ok(());
    }
    add_note(db, *run, *number, now, &system_actor(), &Noted::Reminded)?;
    db.connection
        .prepare_cached("UPDATE requests SET version = version + 1 WHERE no = ?1")?
        .execute(params![no])?;
    let (id, tenant) = (request.id.clone(), request.tenant.clone());
    add_audit_line(db, now, system_actor(), id, tenant, REMINDED.to_owned())?;
    tell(db, *run, *number, Happened::Reminded, now)?;
    set_timer(db, *run, &again, now.plus(every))?;
    Ok(())
}

/// Adds a line that is chained to the last one, whoever wrote that.
pub(super) fn add_audit_line(
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
