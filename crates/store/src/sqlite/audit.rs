//! Reading the audit: from any line on, or from any line back.

use rusqlite::{Connection, params};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, Tenant};

use super::error::{read, stored};
use crate::{AuditEntry, StoreError};

/// Lines after a number, in order.
pub(super) fn lines(
    db: &Connection,
    tenant: Option<&Tenant>,
    after: u64,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    select(db, tenant, ["no > ?1", "no"], stored(after), limit)
}

/// Lines before a number, or the last ones, newest first.
pub(super) fn lines_back(
    db: &Connection,
    tenant: Option<&Tenant>,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    select(db, tenant, ["no < ?1", "no DESC"], before.map_or(i64::MAX, stored), limit)
}

fn select(
    db: &Connection,
    tenant: Option<&Tenant>,
    [which, order]: [&str; 2],
    from: i64,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    // Said of all others, so that their index serves.
    let whose = match tenant {
        Some(tenant) if !tenant.is_local() => "tenant = ?3 AND tenant <> 'local'",
        _ => "(?3 IS NULL OR tenant = ?3)",
    };
    let mut statement = db.prepare_cached(&format!(
        "SELECT no, at, by, request, decision, hash, tenant FROM audit
         WHERE {which} AND {whose} ORDER BY {order} LIMIT ?2"
    ))?;
    let bounds = params![from, stored(limit as u64), tenant.map(Tenant::as_str)];
    let lines = statement.query_map(bounds, |row| {
        Ok(AuditEntry {
            no: read(row.get(0)?),
            at: Timestamp(row.get(1)?),
            by: Actor::new(row.get::<_, String>(2)?),
            request: RequestId::new(row.get::<_, String>(3)?),
            decision: row.get(4)?,
            hash: row.get(5)?,
            tenant: Tenant::new(row.get::<_, String>(6)?),
        })
    })?;
    Ok(lines.collect::<Result<_, _>>()?)
}
