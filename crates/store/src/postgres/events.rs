//! What happens to requests, and who has been told of it.

use signoff_core::id::{Name, RequestId, Tenant};
use signoff_core::time::Timestamp;
use signoff_core::{RequestNo, RunId};
use tokio_postgres::Error;

use super::audit::add_line;
use super::batch::Batch;
use super::columns::{Columns as _, read, stored};
use super::conn::Conn;
use super::error::Stop;
use super::job::Command;
use super::nodes::reap;
use super::numbers::Numbered;
use super::text::Text;
use super::touches::Touches;
use crate::events::FORGOTTEN_AFTER;
use crate::{Happened, MoveWebhook, Notified, Posted, RequestEvent, StoreError, TakeWebhook};

/// Events that a batch adds.
#[derive(Debug, Default)]
pub(super) struct EventRows {
    numbers: Vec<i64>,
    times: Vec<i64>,
    what: Vec<&'static str>,
    runs: Vec<i64>,
    requests: Vec<i64>,
}

impl EventRows {
    pub(super) async fn write(self, conn: &Conn) -> Result<(), Error> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        conn.execute(
            "INSERT INTO events (no, at, what, run, number)
             SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[])",
            &[&self.numbers, &self.times, &self.what, &self.runs, &self.requests],
        )
        .await
        .map(drop)
    }
}

/// Tells of a request, if there is anybody to be told.
pub(super) fn tell(batch: &Batch<'_>, run: i64, number: RequestNo, what: Happened, at: Timestamp) {
    if !batch.has_webhook(forgotten_at(at)) {
        return;
    }
    let no = batch.number(Numbered::Event);
    let mut rows = batch.events.borrow_mut();
    rows.numbers.push(no);
    rows.times.push(at.0);
    rows.what.push(what.as_str());
    rows.runs.push(run);
    rows.requests.push(i64::from(number));
}

/// Tells that what a run still asked is taken back.
pub(super) async fn tell_cancelled(batch: &Batch<'_>, run: i64, at: Timestamp) -> Result<(), Stop> {
    if !batch.has_webhook(forgotten_at(at)) {
        return Ok(());
    }
    let sql = "SELECT number FROM requests WHERE run = $1 AND status = 'pending' ORDER BY number";
    for row in batch.conn().rows(sql, &[&run]).await? {
        tell(batch, run, row.small(0)?, Happened::Cancelled, at);
    }
    Ok(())
}

fn forgotten_at(now: Timestamp) -> i64 {
    now.0.saturating_sub(stored(FORGOTTEN_AFTER.0))
}

/// What happened after a number, in order.
pub(super) async fn after(
    conn: &Conn,
    after: u64,
    limit: usize,
) -> Result<Vec<RequestEvent>, Stop> {
    let rows = conn
        .rows(
            "SELECT e.no, e.at, e.what, u.id, e.number, u.tenant
             FROM events e JOIN runs u ON u.no = e.run
             WHERE e.no > $1 ORDER BY e.no LIMIT $2",
            &[&stored(after), &stored(limit as u64)],
        )
        .await?;
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        let what = row.text(2)?;
        let Some(what) = Happened::from_word(&what) else {
            return Err(StoreError::Corrupt(format!("an event called `{what}`")).into());
        };
        events.push(RequestEvent {
            no: row.number(0)?,
            at: Timestamp(row.int(1)?),
            what,
            request: RunId::new(row.text(3)?).request(row.small(4)?),
            tenant: Tenant::new(row.text(5)?),
        });
    }
    Ok(events)
}

/// What a request is known by where a webhook was told of it.
pub(super) async fn posted(
    conn: &Conn,
    webhook: &Name,
    request: &RequestId,
) -> Result<Option<String>, Stop> {
    let sql = "SELECT reference FROM posts WHERE webhook = $1 AND request = $2";
    let row = conn.row(sql, &[&Text(webhook), &Text(request.as_str())]).await?;
    row.map(|row| row.text(0)).transpose().map_err(Into::into)
}

async fn keep(batch: &Batch<'_>, webhook: &Name, posted: &Posted) -> Result<(), Stop> {
    let (webhook, request) = (Text(webhook), Text(posted.request.as_str()));
    if let Some(reference) = &posted.reference {
        let sql = "INSERT INTO posts (webhook, request, reference) VALUES ($1, $2, $3)
            ON CONFLICT (webhook, request) DO UPDATE SET reference = excluded.reference";
        batch.write(sql, &[&webhook, &request, &Text(reference)]).await?;
    } else {
        let sql = "DELETE FROM posts WHERE webhook = $1 AND request = $2";
        batch.write(sql, &[&webhook, &request]).await?;
    }
    Ok(())
}

impl Command for TakeWebhook {
    type Output = Option<u64>;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Option<u64>, Stop> {
        reap(batch).await?;
        let until = self.now.plus(self.ttl).0;
        let (name, node) = (Text(&self.name), Text(&self.node));
        // A new one begins with what happens from now on.
        let sql = "INSERT INTO webhooks (name, cursor, lease_node, lease_until)
            VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        batch.write(sql, &[&name, &batch.last_event(), &node, &until]).await?;
        let taken = batch
            .change(
                "UPDATE webhooks SET lease_node = $2, lease_until = $3
                 WHERE name = $1 AND (lease_node IS NULL OR lease_node = $2 OR lease_until <= $4)
                 RETURNING cursor",
                &[&name, &node, &until, &self.now.0],
            )
            .await?;
        let Some(row) = taken.first() else { return Ok(None) };
        batch.saw_webhook(until);
        Ok(Some(row.int(0).map(read)?))
    }
}

impl Command for MoveWebhook {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let sql = "UPDATE webhooks SET cursor = greatest(cursor, $3)
            WHERE name = $1 AND lease_node = $2";
        let bound: super::conn::Bound<'_> =
            &[&Text(&self.name), &Text(&self.node), &stored(self.to)];
        let moved = batch.write(sql, bound).await?;
        if moved == 1 {
            if let Some(posted) = &self.posted {
                keep(batch, &self.name, posted).await?;
            }
            if let Some(told) = &self.told {
                let (request, tenant) = (told.request.clone(), told.tenant.clone());
                let teller = Notified::teller(&self.name);
                add_line(batch, self.now, teller, request, tenant, told.said());
            }
            let sql = "DELETE FROM events WHERE no <=
                (SELECT min(cursor) FROM webhooks WHERE lease_until > $1)";
            batch.write(sql, &[&forgotten_at(self.now)]).await?;
        }
        Ok(moved == 1)
    }
}
