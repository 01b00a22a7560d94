//! Users, and what they note on requests.

use signoff_core::id::Tenant;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, RequestNo, RunId};
use tokio_postgres::Row;

use super::audit::add_line;
use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::error::{Stop, json, parse};
use super::events::tell;
use super::job::Command;
use super::numbers::Numbered;
use super::requests::{StoredRequest, by_id};
use super::text::Text;
use super::timers::set_timer;
use super::touches::Touches;
use crate::audit::{noted as noted_line, system_actor};
use crate::people::assignee_after;
use crate::{Due, Happened, Mark, Marked, Note, NoteLine, Noted, StoreError, User};

/// A user to add; one of that name is replaced only if that is wanted.
#[derive(Debug)]
pub(super) struct PutUser {
    pub(super) user: User,
    pub(super) replace: bool,
}

impl Command for PutUser {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let User { name, tenant, roles, token, created_at } = &self.user;
        let name: super::conn::Bound<'_> = &[&Text(name.as_str())];
        let found = batch.conn().row("SELECT 1 FROM users WHERE name = $1", name).await?;
        if found.is_some() && !self.replace {
            return Ok(false);
        }
        // A token opens one door: whoever had this one before has none now.
        let sql = "DELETE FROM users WHERE name = $1 OR token = $2";
        batch.write(sql, &[name[0], &Text(token)]).await?;
        batch
            .write(
                "INSERT INTO users (name, tenant, roles, token, created_at)
                 VALUES ($1, $2, $3, $4, $5)",
                &[
                    name[0],
                    &Text(tenant.as_str()),
                    &Text(&json(roles)?),
                    &Text(token),
                    &created_at.0,
                ],
            )
            .await?;
        Ok(true)
    }
}

/// A user to remove.
#[derive(Debug)]
pub(super) struct RemoveUser(pub(super) String);

impl Command for RemoveUser {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        Ok(batch.write("DELETE FROM users WHERE name = $1", &[&Text(&self.0)]).await? > 0)
    }
}

/// All users, by name.
pub(super) async fn all(conn: &Conn) -> Result<Vec<User>, Stop> {
    let sql = "SELECT name, tenant, roles, token, created_at FROM users ORDER BY name";
    let mut users = Vec::new();
    for row in conn.rows(sql, &[]).await? {
        let name = row.text(0)?;
        users.push(User {
            tenant: Tenant::new(row.text(1)?),
            roles: parse(&name, &row.text(2)?)?,
            token: row.text(3)?,
            created_at: Timestamp(row.int(4)?),
            name: Actor::new(name),
        });
    }
    Ok(users)
}

impl Command for Mark {
    type Output = Marked;

    fn touches(&self, touches: &mut Touches) {
        touches.request(&self.request);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<Marked, Stop> {
        let Some(mut found) = by_id(batch.conn(), &self.request).await? else {
            return Err(StoreError::UnknownRequest(self.request.clone()).into());
        };
        match assignee_after(&found.request, self) {
            Err(stands) => return Ok(stands),
            Ok(assignee) => found.request.assignee = assignee,
        }
        let assignee = found.request.assignee.as_ref().map(|actor| Text(actor.as_str()));
        let sql = "UPDATE requests SET assignee = $2 WHERE no = $1";
        batch.write(sql, &[&found.no, &assignee]).await?;
        add_note(batch, found.run, found.number, self.at, &self.by, &self.what).await?;
        if let Some(said) = noted_line(&self.what) {
            let (request, tenant) = (self.request.clone(), found.request.tenant.clone());
            add_line(batch, self.at, self.by.clone(), request, tenant, said);
        }
        if let Noted::Deferred { until, .. } = &self.what {
            put_off(batch, found.no, Some(*until)).await?;
            found.request.deferred_until = Some(*until);
            let timer = Due::Deferral { request: found.number };
            set_timer(batch, found.run, &timer, *until).await?;
            tell(batch, found.run, found.number, Happened::Deferred, self.at);
        }
        Ok(Marked::Done(Box::new(found.request)))
    }
}

async fn put_off(batch: &Batch<'_>, request: i64, until: Option<Timestamp>) -> Result<(), Stop> {
    let until = until.map(|until| until.0);
    let sql = "UPDATE requests SET deferred_until = $2 WHERE no = $1";
    batch.write(sql, &[&request, &until]).await?;
    Ok(())
}

/// Puts a request that was put off in sight again, if it still waits.
pub(super) async fn reopen(
    batch: &Batch<'_>,
    found: &StoredRequest,
    now: Timestamp,
) -> Result<(), Stop> {
    if found.request.deferred_until.is_none() {
        return Ok(());
    }
    put_off(batch, found.no, None).await?;
    add_note(batch, found.run, found.number, now, &system_actor(), &Noted::Reopened).await?;
    tell(batch, found.run, found.number, Happened::Reopened, now);
    Ok(())
}

/// Notes something on a request.
pub(super) async fn add_note(
    batch: &Batch<'_>,
    run: i64,
    number: RequestNo,
    at: Timestamp,
    by: &Actor,
    what: &Noted,
) -> Result<(), Stop> {
    let (no, number) = (batch.number(Numbered::Note), i64::from(number));
    let sql = "INSERT INTO notes (no, run, number, at, by, what) VALUES ($1, $2, $3, $4, $5, $6)";
    let what = json(what)?;
    batch.write(sql, &[&no, &run, &number, &at.0, &Text(by.as_str()), &Text(&what)]).await?;
    Ok(())
}

/// What was noted on all requests after a number, in order.
pub(super) async fn noted(conn: &Conn, after: u64, limit: usize) -> Result<Vec<NoteLine>, Stop> {
    let rows = conn
        .rows(
            "SELECT n.at, n.by, n.what, n.no, u.id, n.number FROM notes n JOIN runs u ON u.no = n.run
             WHERE n.no > $1 ORDER BY n.no LIMIT $2",
            &[&stored(after), &stored(limit as u64)],
        )
        .await?;
    let mut lines = Vec::with_capacity(rows.len());
    for row in &rows {
        let request = RunId::new(row.text(4)?).request(row.small(5)?);
        let note = note(row, &request)?;
        lines.push(NoteLine { no: row.number(3)?, request, note });
    }
    Ok(lines)
}

/// What was noted on a request, in order.
pub(super) async fn notes(conn: &Conn, id: &RequestId) -> Result<Vec<Note>, Stop> {
    let Some((run, number)) = id.split() else { return Ok(Vec::new()) };
    let rows = conn
        .rows(
            "SELECT n.at, n.by, n.what FROM runs u JOIN notes n ON n.run = u.no AND n.number = $2
             WHERE u.id = $1 ORDER BY n.no",
            &[&Text(run.as_str()), &i64::from(number)],
        )
        .await?;
    rows.iter().map(|row| note(row, id)).collect()
}

fn note(row: &Row, request: &RequestId) -> Result<Note, Stop> {
    Ok(Note {
        at: Timestamp(row.int(0)?),
        by: Actor::new(row.text(1)?),
        what: parse(request.as_str(), &row.text(2)?)?,
    })
}
