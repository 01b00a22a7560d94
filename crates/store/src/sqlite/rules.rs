//! Policies that were set, and decisions that are remembered.

use rusqlite::{Connection, OptionalExtension as _, params};
use signoff_core::id::{RequestId, Tenant};
use signoff_core::policy::Grant;
use signoff_core::time::Timestamp;
use signoff_core::{Actor, Name};

use super::db::Db;
use super::decide::add_audit_line;
use super::error::{json, parse, read, stored};
use super::writer::{Command, Stop};
use crate::audit::{POLICY, ended, granted, policy_set};
use crate::{EndGrant, PolicyPut, PolicyRecord, PutPolicy, StoreError};

impl Command for PutPolicy {
    type Output = PolicyPut;

    fn apply(&self, db: &mut Db) -> Result<PolicyPut, Stop> {
        let record = match self.after(policy(&db.connection, &self.tenant)?) {
            Ok(record) => record,
            Err(stands) => return Ok(stands),
        };
        db.connection
            .prepare_cached(
                "INSERT INTO policies (tenant, version, body, by, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                self.tenant.as_str(),
                stored(record.version),
                record.body,
                record.by.as_str(),
                record.at.0
            ])?;
        let (by, tenant) = (self.by.clone(), self.tenant.clone());
        add_audit_line(db, self.at, by, RequestId::new(POLICY), tenant, policy_set(&record))?;
        Ok(PolicyPut::Done(record))
    }
}

/// The policy that a tenant has set, or has taken back.
pub(super) fn policy(
    connection: &Connection,
    tenant: &Tenant,
) -> Result<Option<PolicyRecord>, StoreError> {
    let found = connection
        .prepare_cached(
            "SELECT version, body, by, at FROM policies WHERE tenant = ?1
             ORDER BY version DESC LIMIT 1",
        )?
        .query_row(params![tenant.as_str()], |row| {
            Ok(PolicyRecord {
                version: read(row.get(0)?),
                body: row.get(1)?,
                by: Actor::new(row.get::<_, String>(2)?),
                at: Timestamp(row.get(3)?),
            })
        });
    Ok(found.optional()?)
}

/// A decision to remember.
#[derive(Debug)]
pub(super) struct AddGrant(pub(super) Grant);

impl Command for AddGrant {
    type Output = ();

    fn apply(&self, db: &mut Db) -> Result<(), Stop> {
        add_grant(db, &self.0)
    }
}

/// Remembers a decision.
pub(super) fn add_grant(db: &Db, grant: &Grant) -> Result<(), Stop> {
    let body = json(grant)?;
    db.connection
        .prepare_cached("INSERT INTO grants (id, tenant, body, times) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![&*grant.id, grant.tenant.as_str(), body, grant.times])?;
    let subject = grant.request.clone().unwrap_or_else(|| RequestId::new(&*grant.id));
    let (by, tenant) = (grant.by.clone(), grant.tenant.clone());
    add_audit_line(db, grant.at, by, subject, tenant, granted(grant))?;
    Ok(())
}

/// What is remembered and can still be used.
pub(super) fn grants(connection: &Connection, tenant: &Tenant) -> Result<Vec<Grant>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, body, times FROM grants WHERE tenant = ?1 AND ended = 0 ORDER BY no",
    )?;
    let mut rows = statement.query(params![tenant.as_str()])?;
    let mut grants = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let mut grant: Grant = parse(&id, row.get_ref(1)?.as_str().unwrap_or_default())?;
        grant.times = row.get(2)?;
        grants.push(grant);
    }
    Ok(grants)
}

impl Command for EndGrant {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let changed = db
            .connection
            .prepare_cached(
                "UPDATE grants SET ended = 1 WHERE id = ?1 AND tenant = ?2 AND ended = 0",
            )?
            .execute(params![&*self.id, self.tenant.as_str()])?;
        if changed == 1 {
            let (subject, tenant) = (RequestId::new(&*self.id), self.tenant.clone());
            add_audit_line(db, self.at, self.by.clone(), subject, tenant, ended())?;
        }
        Ok(changed == 1)
    }
}

/// One use of something that is remembered.
#[derive(Debug)]
pub(super) struct UseGrant(pub(super) Name);

impl Command for UseGrant {
    type Output = bool;

    fn apply(&self, db: &mut Db) -> Result<bool, Stop> {
        let used = db
            .connection
            .prepare_cached(
                "UPDATE grants SET times = times - 1, ended = times = 1
                 WHERE id = ?1 AND ended = 0 AND times > 0",
            )?
            .execute(params![&*self.0])?;
        Ok(used == 1)
    }
}
