//! What follows from journal entries in other tables: requests and timers.

use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, RequestNo, RunId, Tenant};

use super::audit::add_line;
use super::batch::Batch;
use super::columns::Columns as _;
use super::error::Stop;
use super::events::tell;
use super::numbers::Numbered;
use super::requests::searched;
use super::text::Text;
use super::timers::{drop_timer, set_timer};
use crate::audit::{system_actor, withdrawn};
use crate::sqlite::project::Change;
use crate::{Due, Happened};

/// Writes the changes of run number `run`. Its row is there.
pub(super) async fn apply(batch: &Batch<'_>, run: i64, changes: &[Change]) -> Result<(), Stop> {
    for change in changes {
        match change {
            Change::Asked { .. } => ask(batch, run, change).await?,
            // As a rule it was decided, or expired, before its run heard of it. A fork brings its
            // answered requests along.
            Change::Decided { number, decision, by, at, sent } => {
                let sql = "UPDATE requests SET status = 'decided', version = version + 1,
                        decision = $3, decided_by = $4, decided_at = $5, sent = $6
                    WHERE run = $1 AND number = $2 AND status = 'pending'";
                let (by, no) = (Text(by.as_str()), i64::from(*number));
                let sent = sent.as_deref().map(Text);
                let bound: super::conn::Bound<'_> =
                    &[&run, &no, &Text(decision), &by, &at.0, &sent];
                let closed = batch.write(sql, bound).await?;
                if closed > 0 {
                    drop_timer(batch, run, &Due::Request { request: *number }).await?;
                }
            }
            Change::Expired { number } => {
                close(batch, run, *number, "expired").await?;
            }
            Change::Withdrawn { number, why, at, told } => {
                let why = why.as_ref().map(|(by, reason)| (by, reason.as_str()));
                withdraw(batch, run, *number, why, *at, *told).await?;
            }
            Change::Audited { at, by, line, told } => {
                if let Some((id, tenant)) = whose(batch, run).await? {
                    let subject = RequestId::new(id.as_str());
                    add_line(batch, *at, by.clone(), subject, tenant, line.clone());
                }
                if let Some(number) = told {
                    tell(batch, run, *number, Happened::Audited, *at);
                }
            }
            Change::TimerSet { activation, key, due } => {
                let timer = Due::Timer { activation: *activation, key: key.clone() };
                set_timer(batch, run, &timer, *due).await?;
            }
            Change::TimerFired { activation, key } => {
                let timer = Due::Timer { activation: *activation, key: key.clone() };
                drop_timer(batch, run, &timer).await?;
            }
        }
    }
    Ok(())
}

async fn ask(batch: &Batch<'_>, run: i64, change: &Change) -> Result<(), Stop> {
    let Change::Asked {
        number,
        kind,
        agent,
        expires_at,
        remind,
        risk,
        prompt,
        turn,
        at,
        body,
        told,
    } = change
    else {
        return Ok(());
    };
    // What the audit needs comes back with it.
    let asked = batch
        .change(
            "INSERT INTO requests (no, run, number, root, tenant, kind, agent, risk, prompt, turn, status,
                 created_at, expires_at, body)
             SELECT $1, no, $3, root, tenant, $4, $5, $6, $7, $11, 'pending', $8, $9, $10
             FROM runs WHERE no = $2
             RETURNING (SELECT id FROM runs WHERE no = $2), tenant",
            &[
                &batch.number(Numbered::Request),
                &run,
                &i64::from(*number),
                &Text(kind.as_str()),
                &agent.as_deref().map(Text),
                &risk.map(|risk| Text(risk.as_str())),
                &Text(&searched(prompt)),
                &at.0,
                &expires_at.map(|at| at.0),
                &Text(body),
                &turn.as_deref().map(Text),
            ],
        )
        .await?;
    if let (Some(line), Some(row)) = (told, asked.first()) {
        let (id, tenant) = (RunId::new(row.text(0)?), Tenant::new(row.text(1)?));
        add_line(batch, *at, system_actor(), id.request(*number), tenant, line.clone());
        tell(batch, run, *number, Happened::Requested, *at);
    }
    if let Some(due) = expires_at {
        set_timer(batch, run, &Due::Request { request: *number }, *due).await?;
    }
    if let Some(every) = remind {
        set_timer(batch, run, &Due::Reminder { request: *number }, at.plus(*every)).await?;
    }
    Ok(())
}

/// The id of a run, and whose it is.
async fn whose(batch: &Batch<'_>, run: i64) -> Result<Option<(RunId, Tenant)>, Stop> {
    let row = batch.conn().row("SELECT id, tenant FROM runs WHERE no = $1", &[&run]).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some((RunId::new(row.text(0)?), Tenant::new(row.text(1)?))))
}

/// Takes a request back, if it is still pending; with a line, if somebody's decision is why.
pub(super) async fn withdraw(
    batch: &Batch<'_>,
    run: i64,
    number: RequestNo,
    why: Option<(&Actor, &str)>,
    at: Timestamp,
    told: bool,
) -> Result<(), Stop> {
    if !close(batch, run, number, "cancelled").await? {
        return Ok(());
    }
    if let Some((by, reason)) = why {
        let sql = "UPDATE requests SET withdrawn = $3 WHERE run = $1 AND number = $2";
        batch.write(sql, &[&run, &i64::from(number), &Text(reason)]).await?;
        if let Some((id, tenant)) = whose(batch, run).await? {
            add_line(batch, at, by.clone(), id.request(number), tenant, withdrawn(reason));
        }
    }
    if told {
        tell(batch, run, number, Happened::Cancelled, at);
    }
    Ok(())
}

/// Ends a request that is pending, and its deadline. False if it was not.
async fn close(batch: &Batch<'_>, run: i64, number: RequestNo, status: &str) -> Result<bool, Stop> {
    let sql = "UPDATE requests SET status = $3, version = version + 1
        WHERE run = $1 AND number = $2 AND status = 'pending'";
    let closed = batch.write(sql, &[&run, &i64::from(number), &Text(status)]).await?;
    if closed > 0 {
        drop_timer(batch, run, &Due::Request { request: number }).await?;
    }
    Ok(closed > 0)
}
