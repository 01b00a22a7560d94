//! What follows from journal entries in other tables: requests and timers.

use rusqlite::params;
use signoff_core::journal::{Entry, Event};
use signoff_core::request::{RequestKind, Risk};
use signoff_core::time::{Span, Timestamp};
use signoff_core::{ActivationId, Actor, Key, Name, RequestId, RequestNo, RunId, Tenant};

use super::db::Db;
use super::decide::add_audit_line;
use super::error::json;
use super::events::tell;
use super::timers::{drop_timer, set_timer};
use crate::audit::{executed, judged, policy_actor, requested, system_actor, withdrawn};
use crate::events::{audited, begin_a_run, brought_along};
use crate::{Due, Happened, StoreError};

/// A change that an entry brings with it, encoded by the caller so that the writer need not.
#[derive(Debug)]
pub(crate) enum Change {
    Asked {
        number: RequestNo,
        kind: RequestKind,
        agent: Option<Name>,
        expires_at: Option<Timestamp>,
        remind: Option<Span>,
        risk: Option<Risk>,
        prompt: String,
        turn: Option<Name>,
        at: Timestamp,
        body: String,
        /// What the audit says of it, if people hear of it.
        told: Option<String>,
    },
    Decided {
        number: RequestNo,
        decision: String,
        by: Actor,
        at: Timestamp,
        sent: Option<String>,
    },
    Expired {
        number: RequestNo,
    },
    Withdrawn {
        number: RequestNo,
        /// Whose decision left no place for it, and why.
        why: Option<(Actor, String)>,
        at: Timestamp,
        /// Whether people hear of it.
        told: bool,
    },
    /// A line of the audit about the run.
    Audited {
        at: Timestamp,
        by: Actor,
        line: String,
        /// The number by which others are told of it.
        told: Option<RequestNo>,
    },
    TimerSet {
        activation: ActivationId,
        key: Key,
        due: Timestamp,
    },
    TimerFired {
        activation: ActivationId,
        key: Key,
    },
}

/// The changes that `entries` bring with them.
pub(crate) fn changes_of(entries: &[Entry]) -> Result<Vec<Change>, StoreError> {
    let brought = brought_along(entries);
    let forked = begin_a_run(entries);
    let mut changes = Vec::new();
    for entry in entries {
        changes.push(match &entry.event {
            Event::Asked { request, body, .. } => {
                let stored = json(body)?;
                Change::Asked {
                    number: *request,
                    kind: body.kind,
                    agent: body.agent_path.last().cloned(),
                    expires_at: body.expires_at,
                    remind: body.remind,
                    risk: body.risk,
                    prompt: body.prompt.clone(),
                    turn: body.turn.clone(),
                    at: entry.at,
                    told: (!brought.contains(request)).then(|| requested(body, &stored)),
                    body: stored,
                }
            }
            Event::Decided { request, decision, by, sent } => Change::Decided {
                number: *request,
                decision: json(decision)?,
                by: by.clone(),
                at: entry.at,
                sent: sent.as_ref().map(json).transpose()?,
            },
            Event::Expired { request } => Change::Expired { number: *request },
            Event::Withdrawn { request, by, reason } => Change::Withdrawn {
                number: *request,
                why: by.clone().zip(reason.clone()),
                at: entry.at,
                told: !brought.contains(request),
            },
            Event::Gated(gated) if !forked => match judged(gated) {
                Some(line) => {
                    let told = audited(entries, entry, gated);
                    Change::Audited { at: entry.at, by: policy_actor(), line, told }
                }
                None => continue,
            },
            Event::Effect { audited: Some(_), .. } if !forked => match executed(&entry.event) {
                Some(line) => {
                    Change::Audited { at: entry.at, by: system_actor(), line, told: None }
                }
                None => continue,
            },
            Event::TimerSet { activation, key, due } => {
                Change::TimerSet { activation: *activation, key: key.clone(), due: *due }
            }
            Event::TimerFired { activation, key } => {
                Change::TimerFired { activation: *activation, key: key.clone() }
            }
            _ => continue,
        });
    }
    Ok(changes)
}

/// Writes the changes of run number `run`. Its row is there.
pub(super) fn apply(db: &Db, run: i64, changes: &[Change]) -> rusqlite::Result<()> {
    for change in changes {
        match change {
            Change::Asked { number, kind, agent, expires_at, remind, at, body, told, .. } => {
                db.connection
                    .prepare_cached(
                        "INSERT INTO requests (run, number, root, tenant, kind, agent, status,
                             created_at, expires_at, body)
                         SELECT no, ?2, root, tenant, ?3, ?4, 'pending', ?5, ?6, ?7
                         FROM runs WHERE no = ?1",
                    )?
                    .execute(params![
                        run,
                        number,
                        kind.as_str(),
                        agent,
                        at.0,
                        expires_at.map(|at| at.0),
                        body
                    ])?;
                if let Some(line) = told {
                    let (id, tenant) = whose(db, run)?;
                    let (subject, by) = (id.request(*number), system_actor());
                    add_audit_line(db, *at, by, subject, tenant, line.clone())?;
                    tell(db, run, *number, Happened::Requested, *at)?;
                }
                if let Some(due) = expires_at {
                    set_timer(db, run, &Due::Request { request: *number }, *due)?;
                }
                if let Some(every) = remind {
                    set_timer(db, run, &Due::Reminder { request: *number }, at.plus(*every))?;
                }
            }
            // As a rule it was decided, or expired, before its run heard of it. A fork brings its
            // answered requests along.
            Change::Decided { number, decision, by, at, sent } => {
                let closed = db
                    .connection
                    .prepare_cached(
                        "UPDATE requests SET status = 'decided', version = version + 1,
                             decision = ?3, decided_by = ?4, decided_at = ?5, sent = ?6
                         WHERE run = ?1 AND number = ?2 AND status = 'pending'",
                    )?
                    .execute(params![run, number, decision, by.as_str(), at.0, sent])?;
                if closed > 0 {
                    drop_timer(db, run, &Due::Request { request: *number })?;
                }
            }
            Change::Expired { number } => {
                close(db, run, *number, "expired")?;
            }
            Change::Withdrawn { number, why, at, told } => {
                let why = why.as_ref().map(|(by, reason)| (by, reason.as_str()));
                withdraw(db, run, *number, why, *at, *told)?;
            }
            Change::Audited { at, by, line, told } => {
                let (id, tenant) = whose(db, run)?;
                let subject = RequestId::new(id.as_str());
                add_audit_line(db, *at, by.clone(), subject, tenant, line.clone())?;
                if let Some(number) = told {
                    tell(db, run, *number, Happened::Audited, *at)?;
                }
            }
            Change::TimerSet { activation, key, due } => {
                let timer = Due::Timer { activation: *activation, key: key.clone() };
                set_timer(db, run, &timer, *due)?;
            }
            Change::TimerFired { activation, key } => {
                let timer = Due::Timer { activation: *activation, key: key.clone() };
                drop_timer(db, run, &timer)?;
            }
        }
    }
    Ok(())
}

/// The id of a run, and whose it is.
fn whose(db: &Db, run: i64) -> rusqlite::Result<(RunId, Tenant)> {
    db.connection
        .prepare_cached("SELECT id, tenant FROM runs WHERE no = ?1")?
        .query_row(params![run], |row| {
            Ok((RunId::new(row.get::<_, String>(0)?), Tenant::new(row.get::<_, String>(1)?)))
        })
}

/// Takes a request back, if it is still pending; with a line, if somebody's decision is why.
pub(super) fn withdraw(
    db: &Db,
    run: i64,
    number: RequestNo,
    why: Option<(&Actor, &str)>,
    at: Timestamp,
    told: bool,
) -> rusqlite::Result<()> {
    if !close(db, run, number, "cancelled")? {
        return Ok(());
    }
    if let Some((by, reason)) = why {
        db.connection
            .prepare_cached("UPDATE requests SET withdrawn = ?3 WHERE run = ?1 AND number = ?2")?
            .execute(params![run, number, reason])?;
        let (id, tenant) = whose(db, run)?;
        add_audit_line(db, at, by.clone(), id.request(number), tenant, withdrawn(reason))?;
    }
    if told {
        tell(db, run, number, Happened::Cancelled, at)?;
    }
    Ok(())
}

/// Ends a request that is pending, and its deadline. False if it was not.
fn close(db: &Db, run: i64, number: RequestNo, status: &str) -> rusqlite::Result<bool> {
    let closed = db
        .connection
        .prepare_cached(
            "UPDATE requests SET status = ?3, version = version + 1
             WHERE run = ?1 AND number = ?2 AND status = 'pending'",
        )?
        .execute(params![run, number, status])?;
    if closed > 0 {
        drop_timer(db, run, &Due::Request { request: number })?;
    }
    Ok(closed > 0)
}
