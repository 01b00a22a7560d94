//! Takes in runs from other stores, and ends those that go on elsewhere.

use rusqlite::{OptionalExtension as _, params};
use signoff_core::journal::{Entry, encode};
use signoff_core::{RequestId, RequestNo};

use super::append::{clear, insert_entries};
use super::conversations;
use super::db::{Db, KnownRun};
use super::decide::add_audit_line;
use super::error::{json, read, stored};
use super::events::tell;
use super::journal;
use super::timers::set_timer;
use super::users::add_note;
use super::writer::{Command, Stop};
use crate::audit::{MOVED_OUT, taken_in};
use crate::entries::started_by;
use crate::exported::ROW;
use crate::{ExportedRequest, ExportedRun, Happened, MoveOut, SeenRun, TakeIn, TakenIn};

impl Command for TakeIn {
    type Output = TakenIn;

    fn apply(&self, db: &mut Db) -> Result<TakenIn, Stop> {
        let mut new = Vec::new();
        for run in &self.exported.runs {
            started_by(&run.entries)?;
            db.forget(&run.id);
            if db.find(&run.id)?.is_none() {
                new.push(run);
                continue;
            }
            let there = journal::entries(&db.connection, &run.id, 0, run.entries.len())?;
            if there != run.entries {
                return Ok(TakenIn::Differs(run.id.clone()));
            }
        }
        if new.is_empty() {
            return Ok(TakenIn::Known);
        }
        for definition in &self.exported.definitions {
            definition.apply(db)?;
        }
        if let Some(conversation) = &self.exported.conversation {
            conversations::keep_new(&db.connection, conversation)?;
        }
        for run in &new {
            self.insert(db, run)?;
        }
        Ok(TakenIn::New(new.len()))
    }
}

impl TakeIn {
    fn insert(&self, db: &mut Db, run: &ExportedRun) -> Result<(), Stop> {
        let started = started_by(&run.entries)?;
        let parent = started.parent.as_ref();
        let at = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.at.0);
        let error = run.error.as_ref().map(json).transpose()?;
        let next_input = run.inputs.last().map_or(1, |(no, _)| no + 1);
        db.connection
            .prepare_cached(
                "INSERT INTO runs (id, root, workflow, version, conversation, status, head, ready,
                     next_input, parent_run, parent_activation, parent_key, error, created_at,
                     updated_at, tenant)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )?
            .execute(params![
                run.id.as_str(),
                parent.map(|parent| parent.root.as_str()),
                &*started.workflow,
                &*started.version,
                started.conversation.as_str(),
                run.status.as_str(),
                stored(run.entries.len() as u64),
                run.is_ready(),
                stored(next_input),
                parent.map(|parent| parent.run.as_str()),
                parent.map(|parent| parent.activation),
                parent.map(|parent| &*parent.key),
                error,
                at(run.entries.first()),
                at(run.entries.last()),
                started.tenant.as_str(),
            ])?;
        let no = db.connection.last_insert_rowid();
        db.remember(&run.id, KnownRun { no, consumed: 0 });
        for row in run.entries.chunks(ROW) {
            let first = row.first().map_or(1, |entry| entry.seq);
            insert_entries(db, no, first, row.len(), &encode(row))?;
        }
        let root = parent.map(|parent| parent.root.as_str());
        for request in &run.requests {
            ask(db, no, (root, started.tenant.as_str()), request)?;
            for note in &request.notes {
                add_note(db, no, request.number, note.at, &note.by, &note.what)?;
            }
            if request.is_pending() {
                tell(db, no, request.number, Happened::Requested, self.at)?;
            }
        }
        for (number, input) in &run.inputs {
            db.connection
                .prepare_cached("INSERT INTO inputs (run, no, body) VALUES (?1, ?2, ?3)")?
                .execute(params![no, stored(*number), json(input)?])?;
        }
        for (due, at) in &run.timers {
            set_timer(db, no, due, *at)?;
        }
        let (subject, tenant) = (RequestId::new(run.id.as_str()), started.tenant.clone());
        let said = taken_in(run.entries.len());
        add_audit_line(db, self.at, self.by.clone(), subject, tenant, said)?;
        Ok(())
    }
}

fn ask(
    db: &Db,
    run: i64,
    (root, tenant): (Option<&str>, &str),
    request: &ExportedRequest,
) -> Result<(), Stop> {
    let decided = request.decided.as_ref();
    let sent = decided.and_then(|it| it.sent.as_ref()).map(json).transpose()?;
    let number: RequestNo = request.number;
    db.connection
        .prepare_cached(
            "INSERT INTO requests (run, number, root, tenant, kind, agent, status, version,
                 created_at, expires_at, decision, decided_by, decided_at, body, assignee, sent,
                 withdrawn, deferred_until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            run,
            number,
            root,
            tenant,
            request.body.kind.as_str(),
            request.body.agent_path.last().map(|agent| &**agent),
            request.status.as_str(),
            request.version,
            request.created_at.0,
            request.body.expires_at.map(|at| at.0),
            decided.map(|it| json(&it.decision)).transpose()?,
            decided.map(|it| it.by.as_str()),
            decided.map(|it| it.at.0),
            json(&request.body)?,
            request.assignee.as_ref().map(signoff_core::Actor::as_str),
            sent,
            request.withdrawn,
            request.deferred_until.map(|at| at.0),
        ])?;
    Ok(())
}

impl Command for MoveOut {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        db.reap()?;
        let mut found = Vec::new();
        for seen in &self.runs {
            let Some((no, tenant)) = self.as_seen(db, seen)? else { return Ok(false) };
            found.push((no, tenant, seen));
        }
        for (no, tenant, seen) in found {
            let last = self.last_entry(seen.head);
            db.connection
                .prepare_cached(
                    "UPDATE runs SET head = head + 1, status = 'cancelled', updated_at = ?2,
                         ready = 0, lease_node = NULL, lease_until = 0, epoch = epoch + 1
                     WHERE no = ?1",
                )?
                .execute(params![no, self.at.0])?;
            insert_entries(db, no, last.seq, 1, &encode(&[last]))?;
            clear(db, no, self.at)?;
            let subject = RequestId::new(seen.run.as_str());
            let (by, tenant) = (self.by.clone(), signoff_core::Tenant::new(tenant));
            add_audit_line(db, self.at, by, subject, tenant, MOVED_OUT.to_owned())?;
            db.forget(&seen.run);
        }
        Ok(true)
    }
}

impl MoveOut {
    /// The number of a run that nobody works on and that is as it was seen, and whose it is.
    fn as_seen(&self, db: &Db, seen: &SeenRun) -> Result<Option<(i64, String)>, Stop> {
        let found: Option<(i64, String, i64, i64, i64)> = db
            .connection
            .prepare_cached(
                "SELECT no, tenant, head, (SELECT count(*) FROM inputs WHERE run = u.no),
                     (SELECT coalesce(sum(version), 0) FROM requests WHERE run = u.no)
                     + (SELECT count(*) FROM notes WHERE run = u.no)
                 FROM runs u WHERE id = ?1 AND (lease_node IS NULL OR lease_until <= ?2)
                     AND status NOT IN ('completed', 'failed', 'cancelled')",
            )?
            .query_row(params![seen.run.as_str(), self.at.0], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()?;
        Ok(found.and_then(|(no, tenant, head, inputs, marks)| {
            let now = (read(head), read(inputs), read(marks));
            (now == (seen.head, seen.inputs, seen.marks)).then_some((no, tenant))
        }))
    }
}
