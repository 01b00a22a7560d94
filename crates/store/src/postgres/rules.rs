//! Policies that were set, and decisions that are remembered.

use signoff_core::id::{RequestId, Tenant};
use signoff_core::policy::Grant;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, Name};

use super::audit::add_line;
use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::error::{Stop, json, parse};
use super::job::Command;
use super::numbers::Numbered;
use super::text::Text;
use super::touches::Touches;
use crate::audit::{POLICY, ended, granted, policy_set};
use crate::{EndGrant, PolicyPut, PolicyRecord, PutPolicy};

impl Command for PutPolicy {
    type Output = PolicyPut;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<PolicyPut, Stop> {
        let record = match self.after(policy(batch.conn(), &self.tenant).await?) {
            Ok(record) => record,
            Err(stands) => return Ok(stands),
        };
        batch
            .write(
                "INSERT INTO policies (tenant, version, body, by, at) VALUES ($1, $2, $3, $4, $5)",
                &[
                    &Text(self.tenant.as_str()),
                    &stored(record.version),
                    &record.body.as_deref().map(Text),
                    &Text(record.by.as_str()),
                    &record.at.0,
                ],
            )
            .await?;
        let (by, tenant) = (self.by.clone(), self.tenant.clone());
        add_line(batch, self.at, by, RequestId::new(POLICY), tenant, policy_set(&record));
        Ok(PolicyPut::Done(record))
    }
}

/// The policy that a tenant has set, or has taken back.
pub(super) async fn policy(conn: &Conn, tenant: &Tenant) -> Result<Option<PolicyRecord>, Stop> {
    let row = conn
        .row(
            "SELECT version, body, by, at FROM policies WHERE tenant = $1
             ORDER BY version DESC LIMIT 1",
            &[&Text(tenant.as_str())],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(PolicyRecord {
        version: row.number(0)?,
        body: row.text_if_any(1)?,
        by: Actor::new(row.text(2)?),
        at: Timestamp(row.int(3)?),
    }))
}

/// A decision to remember.
#[derive(Debug)]
pub(super) struct AddGrant(pub(super) Grant);

impl Command for AddGrant {
    type Output = ();

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<(), Stop> {
        add_grant(batch, &self.0).await
    }
}

/// Remembers a decision.
pub(super) async fn add_grant(batch: &Batch<'_>, grant: &Grant) -> Result<(), Stop> {
    let (no, body) = (batch.number(Numbered::Grant), json(grant)?);
    let times = grant.times.map(i64::from);
    let sql = "INSERT INTO grants (no, id, tenant, body, times) VALUES ($1, $2, $3, $4, $5)";
    let tenant = Text(grant.tenant.as_str());
    batch.write(sql, &[&no, &Text(&grant.id), &tenant, &Text(&body), &times]).await?;
    let subject = grant.request.clone().unwrap_or_else(|| RequestId::new(&*grant.id));
    let (by, tenant) = (grant.by.clone(), grant.tenant.clone());
    add_line(batch, grant.at, by, subject, tenant, granted(grant));
    Ok(())
}

/// What is remembered and can still be used.
pub(super) async fn grants(conn: &Conn, tenant: &Tenant) -> Result<Vec<Grant>, Stop> {
    let sql = "SELECT id, body, times FROM grants WHERE tenant = $1 AND NOT ended ORDER BY no";
    let mut grants = Vec::new();
    for row in conn.rows(sql, &[&Text(tenant.as_str())]).await? {
        let mut grant: Grant = parse(&row.text(0)?, &row.text(1)?)?;
        grant.times = row.int_if_any(2)?.map(|times| u32::try_from(times).unwrap_or(0));
        grants.push(grant);
    }
    Ok(grants)
}

impl Command for EndGrant {
    type Output = bool;

    fn touches(&self, touches: &mut Touches) {
        touches.everything();
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let sql = "UPDATE grants SET ended = true WHERE id = $1 AND tenant = $2 AND NOT ended";
        let changed = batch.write(sql, &[&Text(&self.id), &Text(self.tenant.as_str())]).await?;
        if changed == 1 {
            let (subject, tenant) = (RequestId::new(&*self.id), self.tenant.clone());
            add_line(batch, self.at, self.by.clone(), subject, tenant, ended());
        }
        Ok(changed == 1)
    }
}

/// One use of something that is remembered.
#[derive(Debug)]
pub(super) struct UseGrant(pub(super) Name);

impl Command for UseGrant {
    type Output = bool;

    /// One statement decides: it goes together with anything.
    fn touches(&self, _: &mut Touches) {}

    async fn apply(&self, batch: &Batch<'_>) -> Result<bool, Stop> {
        let sql = "UPDATE grants SET times = times - 1, ended = (times = 1)
            WHERE id = $1 AND NOT ended AND times > 0";
        Ok(batch.write(sql, &[&Text(&self.0)]).await? == 1)
    }
}
