//! Takes in runs from other stores, and ends those that go on elsewhere.

use signoff_core::journal::{Entry, encode};
use signoff_core::{RequestId, Tenant};

use super::append::clear;
use super::audit::add_line;
use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::conversations;
use super::error::{Stop, json};
use super::events::tell;
use super::job::Command;
use super::journal;
use super::memory::KnownRun;
use super::numbers::Numbered;
use super::requests::searched;
use super::runs::HEAD;
use super::text::Text;
use super::timers::set_timer;
use super::touches::Touches;
use super::users::add_note;
use crate::audit::{MOVED_OUT, taken_in};
use crate::entries::started_by;
use crate::exported::ROW;
use crate::{ExportedRequest, ExportedRun, Happened, MoveOut, SeenRun, TakeIn, TakenIn};

impl Command for TakeIn {
    type Output = TakenIn;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<TakenIn, Stop> {
        let mut new = Vec::new();
        for run in &self.exported.runs {
            started_by(&run.entries)?;
            batch.forget(&run.id);
            if batch.find(&run.id).await?.is_none() {
                new.push(run);
                continue;
            }
            let there = journal::entries(batch.conn(), &run.id, 0, run.entries.len()).await?;
            if there != run.entries {
                return Ok(TakenIn::Differs(run.id.clone()));
            }
        }
        if new.is_empty() {
            return Ok(TakenIn::Known);
        }
        for definition in &self.exported.definitions {
            definition.apply(batch).await?;
        }
        if let Some(conversation) = &self.exported.conversation {
            conversations::keep_new(batch, conversation).await?;
        }
        for run in &new {
            insert(self, batch, run).await?;
        }
        Ok(TakenIn::New(new.len()))
    }
}

async fn insert(take: &TakeIn, batch: &Batch<'_>, run: &ExportedRun) -> Result<(), Stop> {
    let started = started_by(&run.entries)?;
    let parent = started.parent.as_ref();
    let at = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.at.0);
    let error = run.error.as_ref().map(json).transpose()?;
    let next_input = run.inputs.last().map_or(1, |(no, _)| no + 1);
    let no = batch.number(Numbered::Run);
    let root = parent.map(|parent| Text(parent.root.as_str()));
    batch
            .write(
                "INSERT INTO runs (no, id, root, workflow, version, conversation, status, head, ready,
                     next_input, parent_run, parent_activation, parent_key, error, created_at,
                     updated_at, tenant)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
                &[
                    &no,
                    &Text(run.id.as_str()),
                    &root,
                    &Text(&started.workflow),
                    &Text(&started.version),
                    &Text(started.conversation.as_str()),
                    &Text(run.status.as_str()),
                    &stored(run.entries.len() as u64),
                    &run.is_ready(),
                    &stored(next_input),
                    &parent.map(|parent| Text(parent.run.as_str())),
                    &parent.map(|parent| i64::from(parent.activation)),
                    &parent.map(|parent| Text(&parent.key)),
                    &error.as_deref().map(Text),
                    &at(run.entries.first()),
                    &at(run.entries.last()),
                    &Text(started.tenant.as_str()),
                ],
            )
            .await?;
    batch.remember(&run.id, KnownRun::numbered(no));
    for row in run.entries.chunks(ROW) {
        let first = row.first().map_or(1, |entry| entry.seq);
        batch.journal.borrow_mut().add(
            no,
            first,
            row.len(),
            &encode(row),
            row.last().map(|entry| entry.at),
        );
    }
    for request in &run.requests {
        ask(batch, no, (root, &started.tenant), request).await?;
        for note in &request.notes {
            add_note(batch, no, request.number, note.at, &note.by, &note.what).await?;
        }
        if request.is_pending() {
            tell(batch, no, request.number, Happened::Requested, take.at);
        }
    }
    for (number, input) in &run.inputs {
        let sql = "INSERT INTO inputs (run, no, body) VALUES ($1, $2, $3)";
        batch.write(sql, &[&no, &stored(*number), &Text(&json(input)?)]).await?;
    }
    for (due, at) in &run.timers {
        set_timer(batch, no, due, *at).await?;
    }
    let (subject, tenant) = (RequestId::new(run.id.as_str()), started.tenant.clone());
    let said = taken_in(run.entries.len());
    add_line(batch, take.at, take.by.clone(), subject, tenant, said);
    Ok(())
}

async fn ask(
    batch: &Batch<'_>,
    run: i64,
    (root, tenant): (Option<Text<'_>>, &Tenant),
    request: &ExportedRequest,
) -> Result<(), Stop> {
    let (body, decided) = (&request.body, request.decided.as_ref());
    let decision = decided.map(|it| json(&it.decision)).transpose()?;
    let sent = decided.and_then(|it| it.sent.as_ref()).map(json).transpose()?;
    batch
        .write(
            "INSERT INTO requests (no, run, number, root, tenant, kind, agent, risk, turn, prompt, status,
                 version, assignee, created_at, expires_at, decision, decided_by, decided_at, sent,
                 withdrawn, deferred_until, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
                 $20, $21, $22)",
            &[
                &batch.number(Numbered::Request),
                &run,
                &i64::from(request.number),
                &root,
                &Text(tenant.as_str()),
                &Text(body.kind.as_str()),
                &body.agent_path.last().map(|agent| Text(agent)),
                &body.risk.map(|risk| Text(risk.as_str())),
                &body.turn.as_deref().map(Text),
                &Text(&searched(&body.prompt)),
                &Text(request.status.as_str()),
                &i64::from(request.version),
                &request.assignee.as_ref().map(|it| Text(it.as_str())),
                &request.created_at.0,
                &body.expires_at.map(|at| at.0),
                &decision.as_deref().map(Text),
                &decided.map(|it| Text(it.by.as_str())),
                &decided.map(|it| it.at.0),
                &sent.as_deref().map(Text),
                &request.withdrawn.as_deref().map(Text),
                &request.deferred_until.map(|at| at.0),
                &Text(&json(body)?),
            ],
        )
        .await?;
    Ok(())
}

impl Command for MoveOut {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        super::nodes::reap(batch).await?;
        let mut found = Vec::new();
        for seen in &self.runs {
            let Some((no, tenant)) = as_seen(self, batch, seen).await? else { return Ok(false) };
            found.push((no, tenant, seen));
        }
        for (no, tenant, seen) in found {
            let last = self.last_entry(seen.head);
            batch
                .write(
                    "UPDATE runs SET head = $3, status = 'cancelled', updated_at = $2,
                         ready = false, lease_node = NULL, lease_until = 0, epoch = epoch + 1
                     WHERE no = $1",
                    &[&no, &self.at.0, &stored(last.seq)],
                )
                .await?;
            batch.journal.borrow_mut().add(no, last.seq, 1, &encode(&[last]), Some(self.at));
            clear(batch, no, self.at).await?;
            let subject = RequestId::new(seen.run.as_str());
            add_line(batch, self.at, self.by.clone(), subject, tenant, MOVED_OUT.to_owned());
            batch.forget(&seen.run);
        }
        Ok(true)
    }
}

/// The number of a run that nobody works on and that is as it was seen, and whose it is.
async fn as_seen(
    out: &MoveOut,
    batch: &Batch<'_>,
    seen: &SeenRun,
) -> Result<Option<(i64, Tenant)>, Stop> {
    // Whoever held it and is slow adds nothing any more.
    let sql = "UPDATE nodes SET fence = nextval('fences') FROM runs
        WHERE runs.id = $1 AND runs.lease_until <= $2 AND nodes.id = runs.lease_node";
    batch.write(sql, &[&Text(seen.run.as_str()), &out.at.0]).await?;
    let row = batch
        .conn()
        .row(
            &format!(
                "SELECT no, tenant, {HEAD}, (SELECT count(*) FROM inputs WHERE run = runs.no),
                     (SELECT coalesce(sum(version), 0)::bigint FROM requests WHERE run = runs.no)
                     + (SELECT count(*) FROM notes WHERE run = runs.no)
                 FROM runs WHERE id = $1 AND (lease_node IS NULL OR lease_until <= $2)
                     AND status NOT IN ('completed', 'failed', 'cancelled')"
            ),
            &[&Text(seen.run.as_str()), &out.at.0],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let now = (row.number(2)?, row.number(3)?, row.number(4)?);
    let same = now == (seen.head, seen.inputs, seen.marks);
    Ok(same.then_some((row.int(0)?, Tenant::new(row.text(1)?))))
}
