//! The one place where a request stops being pending: by a decision, or because its time ran out.

use signoff_core::deciders::{Deciders, Vote};
use signoff_core::journal::Input;
use signoff_core::plan::because_rejected;
use signoff_core::request::RequestStatus;
use signoff_core::time::Timestamp;
use signoff_core::{RequestId, RequestNo, RunId, Seq, Tenant};

use super::audit::add_line;
use super::batch::Batch;
use super::columns::Columns as _;
use super::error::{Stop, json};
use super::events::tell;
use super::job::Command;
use super::project::withdraw;
use super::requests::{StoredRequest, by_id};
use super::rules::add_grant;
use super::runs::{HEAD, give_input, give_input_and_lease};
use super::text::Text;
use super::timers::{drop_timer, set_timer};
use super::touches::Touches;
use super::users::{add_note, notes};
use crate::audit::{EXPIRED, REMINDED, escalated, system_actor, voted};
use crate::contract::{as_given, in_turn};
use crate::links::by_link;
use crate::people::{Noted, votes_with};
use crate::{Decide, Decided, DecidedAll, Due, Happened, Lease, StoreError};

impl Command for Decide {
    type Output = Decided;

    fn touches(&self, touches: &mut Touches) {
        touches.request(&self.request);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Decided, Stop> {
        let Some(found) = open_question(batch, &self.request, self.at).await? else {
            return Ok(Decided::TooLate(Box::new(stored(self, batch).await?.request)));
        };
        if found.expires_at.is_some_and(|at| self.at >= at) {
            expire(batch, &stored(self, batch).await?, self.at).await?;
            return Ok(Decided::TooLate(Box::new(stored(self, batch).await?.request)));
        }
        if self.version.is_some_and(|seen| seen != found.version) {
            return Ok(Decided::Stale(Box::new(stored(self, batch).await?.request)));
        }
        if let Some(deciders) = &self.deciders
            && !vote(self, batch, &found, deciders).await?
        {
            return Ok(Decided::Voted(Box::new(stored(self, batch).await?.request)));
        }
        take(self, batch, found).await
    }
}

/// The decision counts.
async fn take(decide: &Decide, batch: &Batch<'_>, found: OpenQuestion) -> Result<Decided, Stop> {
    let decision = json(&decide.decision)?;
    let input = json(&Input::Decided {
        request: found.number,
        decision: decide.decision.clone(),
        by: decide.by.clone(),
        sent: decide.sent.clone(),
    })?;
    let sent = decide.sent.as_ref().map(json).transpose()?;
    batch
        .write(
            "UPDATE requests SET status = 'decided', version = version + 1,
                 decision = $2, decided_by = $3, decided_at = $4, sent = $5
             WHERE no = $1 AND status = 'pending'",
            &[
                &found.no,
                &Text(&decision),
                &Text(decide.by.as_str()),
                &decide.at.0,
                &sent.as_deref().map(Text),
            ],
        )
        .await?;
    if found.expires_at.is_some() {
        drop_timer(batch, found.run, &Due::Request { request: found.number }).await?;
    }
    let said = by_link(decide.recorded.to_string(), decide.link.as_ref());
    let (by, request) = (decide.by.clone(), decide.request.clone());
    add_line(batch, decide.at, by, request, found.tenant, said);
    tell(batch, found.run, found.number, Happened::Decided, decide.at);
    if let Some(grant) = &decide.grant {
        add_grant(batch, grant).await?;
    }
    if let Some(turn) = &decide.withdraw {
        withdraw_others(decide, batch, (found.run, found.number), turn).await?;
    }
    let Some(claim) = decide.claim.as_ref().filter(|_| found.free) else {
        give_input(batch, found.run, &input).await?;
        return Ok(Decided::Taken { lease: None, head: found.head });
    };
    let given = give_input_and_lease(batch, found.run, &input, claim).await?;
    batch.memory.let_go(&found.run_id);
    let Some((epoch, taken)) = given else {
        return Ok(Decided::Taken { lease: None, head: found.head });
    };
    let lease = Lease { run: found.run_id, node: claim.node.clone(), epoch };
    // Who held it may have added something since it was looked at: then it must be read.
    let head = if taken { 0 } else { found.head };
    Ok(Decided::Taken { lease: Some(lease), head })
}

/// Several decisions, all or none.
#[derive(Debug)]
pub(super) struct DecideAll(pub(super) Vec<Decide>);

impl Command for DecideAll {
    type Output = DecidedAll;

    fn touches(&self, touches: &mut Touches) {
        self.0.iter().for_each(|decide| decide.touches(touches));
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<DecidedAll, Stop> {
        let mut refused = Vec::new();
        for (n, decide) in self.0.iter().enumerate() {
            let open = open_question(batch, &decide.request, decide.at).await?;
            let in_time = |found: &OpenQuestion| found.expires_at.is_none_or(|at| decide.at < at);
            match open.filter(in_time) {
                None => {
                    let stands = stored(decide, batch).await?.request;
                    refused.push((n, Decided::TooLate(Box::new(stands))));
                }
                Some(found) if decide.version.is_some_and(|seen| seen != found.version) => {
                    let stands = stored(decide, batch).await?.request;
                    refused.push((n, Decided::Stale(Box::new(stands))));
                }
                Some(_) => {}
            }
        }
        if !refused.is_empty() {
            return Ok(DecidedAll::Refused(refused));
        }
        let mut taken = Vec::with_capacity(self.0.len());
        for (n, decide) in in_turn(self.0.clone()) {
            taken.push((n, decide.apply(batch).await?));
        }
        Ok(DecidedAll::Taken(as_given(taken)))
    }
}

/// Takes back what else a turn asks.
async fn withdraw_others(
    decide: &Decide,
    batch: &Batch<'_>,
    found: (i64, RequestNo),
    turn: &str,
) -> Result<(), Stop> {
    let (run, rejected) = found;
    let sql = "SELECT number FROM requests
        WHERE run = $1 AND status = 'pending' AND turn = $2 ORDER BY number";
    let others = batch.conn().rows(sql, &[&run, &Text(turn)]).await?;
    let reason = because_rejected(&decide.by, rejected);
    for other in &others {
        let why = Some((&decide.by, reason.as_str()));
        withdraw(batch, run, other.small(0)?, why, decide.at, true).await?;
    }
    Ok(())
}

async fn stored(decide: &Decide, batch: &Batch<'_>) -> Result<StoredRequest, Stop> {
    let found = by_id(batch.conn(), &decide.request).await?;
    found.ok_or_else(|| StoreError::UnknownRequest(decide.request.clone()).into())
}

/// Whether enough have decided the same, this one included. If not, it is noted.
async fn vote(
    decide: &Decide,
    batch: &Batch<'_>,
    found: &OpenQuestion,
    deciders: &Deciders,
) -> Result<bool, Stop> {
    let vote = Vote {
        by: decide.by.clone(),
        roles: decide.roles.clone(),
        decision: decide.decision.clone(),
    };
    let before = notes(batch.conn(), &decide.request).await?;
    let Some(votes) = votes_with(&before, &vote) else { return Ok(false) };
    if deciders.decided(&votes) {
        return Ok(true);
    }
    let noted = Noted::Voted { decision: vote.decision, roles: vote.roles };
    add_note(batch, found.run, found.number, decide.at, &decide.by, &noted).await?;
    change_version(batch, found.no).await?;
    let said = by_link(voted(&decide.recorded, &decide.roles), decide.link.as_ref());
    let (by, request) = (decide.by.clone(), decide.request.clone());
    add_line(batch, decide.at, by, request, found.tenant.clone(), said);
    tell(batch, found.run, found.number, Happened::Voted, decide.at);
    Ok(false)
}

async fn change_version(batch: &Batch<'_>, request: i64) -> Result<(), Stop> {
    let sql = "UPDATE requests SET version = version + 1 WHERE no = $1";
    batch.write(sql, &[&request]).await?;
    Ok(())
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

async fn open_question(
    batch: &Batch<'_>,
    id: &RequestId,
    now: Timestamp,
) -> Result<Option<OpenQuestion>, Stop> {
    let Some((run_id, number)) = id.split() else { return Ok(None) };
    let row = batch
        .conn()
        .row(
            &format!(
                "SELECT r.no, r.run, r.expires_at, {HEAD},
                     runs.lease_node IS NULL OR runs.lease_until <= $3, r.tenant, r.version
                 FROM runs JOIN requests r ON r.run = runs.no AND r.number = $2
                 WHERE runs.id = $1 AND r.status = 'pending'"
            ),
            &[&Text(run_id.as_str()), &i64::from(number), &now.0],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(OpenQuestion {
        no: row.int(0)?,
        run: row.int(1)?,
        expires_at: row.int_if_any(2)?.map(Timestamp),
        head: row.number(3)?,
        free: row.flag(4)?,
        tenant: Tenant::new(row.text(5)?),
        version: row.small(6)?,
        run_id: run_id.clone(),
        number,
    }))
}

/// Lets a request expire, if it is still pending.
pub(super) async fn expire(
    batch: &Batch<'_>,
    found: &StoredRequest,
    now: Timestamp,
) -> Result<(), Stop> {
    let input = json(&Input::Expired { request: found.number })?;
    let sql = "UPDATE requests SET status = 'expired', version = version + 1
        WHERE no = $1 AND status = 'pending'";
    if batch.write(sql, &[&found.no]).await? == 1 {
        drop_timer(batch, found.run, &Due::Request { request: found.number }).await?;
        let (request, tenant) = (found.request.id.clone(), found.request.tenant.clone());
        let (of, whose) = (request.clone(), tenant.clone());
        add_line(batch, now, system_actor(), of, whose, EXPIRED.to_owned());
        if let Some(said) = escalated(&found.request.body) {
            add_line(batch, now, system_actor(), request, tenant, said);
        }
        tell(batch, found.run, found.number, Happened::Expired, now);
        give_input(batch, found.run, &input).await?;
    }
    Ok(())
}

/// Reminds people of a request, if it is still pending, and again after as long.
pub(super) async fn remind(
    batch: &Batch<'_>,
    found: &StoredRequest,
    now: Timestamp,
) -> Result<(), Stop> {
    let StoredRequest { no, run, number, request } = found;
    let (RequestStatus::Pending, Some(every)) = (request.status, request.body.remind) else {
        return Ok(());
    };
    let again = Due::Reminder { request: *number };
    if request.deferred_until.is_some() {
        // Somebody knows of it, and does not want to see it now.
        return set_timer(batch, *run, &again, now.plus(every)).await;
    }
    add_note(batch, *run, *number, now, &system_actor(), &Noted::Reminded).await?;
    change_version(batch, *no).await?;
    let (id, tenant) = (request.id.clone(), request.tenant.clone());
    add_line(batch, now, system_actor(), id, tenant, REMINDED.to_owned());
    tell(batch, *run, *number, Happened::Reminded, now);
    set_timer(batch, *run, &again, now.plus(every)).await
}
