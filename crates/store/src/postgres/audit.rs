//! The audit: one chain over all nodes, because one batch at a time is committed.

use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, Tenant};
use tokio_postgres::Error;

use super::batch::Batch;
use super::columns::{Columns as _, stored};
use super::conn::Conn;
use super::error::Stop;
use super::text::Text;
use crate::AuditEntry;

/// Lines that a batch adds.
#[derive(Debug, Default)]
pub(super) struct AuditRows(Vec<AuditEntry>);

impl AuditRows {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) async fn write(self, conn: &Conn) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let texts = |of: fn(&AuditEntry) -> &str| -> Vec<Text<'_>> {
            self.0.iter().map(|line| Text(of(line))).collect()
        };
        let numbers: Vec<i64> = self.0.iter().map(|line| stored(line.no)).collect();
        let times: Vec<i64> = self.0.iter().map(|line| line.at.0).collect();
        conn.execute(
            "INSERT INTO audit (no, at, by, request, tenant, decision, hash)
             SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[],
                 $6::text[], $7::text[])",
            &[
                &numbers,
                &times,
                &texts(|line| line.by.as_str()),
                &texts(|line| line.request.as_str()),
                &texts(|line| line.tenant.as_str()),
                &texts(|line| &line.decision),
                &texts(|line| &line.hash),
            ],
        )
        .await
        .map(drop)
    }
}

/// Adds a line that is chained to the last one, whoever wrote that.
pub(super) fn add_line(
    batch: &Batch<'_>,
    at: Timestamp,
    by: Actor,
    request: RequestId,
    tenant: Tenant,
    decision: String,
) {
    let line = batch.chain(|last| {
        let line = AuditEntry::next(last, at, by, request, tenant, decision);
        (line.no, line.hash.clone(), line)
    });
    batch.audit.borrow_mut().0.push(line);
}

/// Lines after a number, in order.
pub(super) async fn lines(
    conn: &Conn,
    tenant: Option<&Tenant>,
    after: u64,
    limit: usize,
) -> Result<Vec<AuditEntry>, Stop> {
    select(conn, tenant, "no > $1", "no", stored(after), limit).await
}

/// Lines before a number, or the last ones, newest first.
pub(super) async fn lines_back(
    conn: &Conn,
    tenant: Option<&Tenant>,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<AuditEntry>, Stop> {
    let before = before.map_or(i64::MAX, stored);
    select(conn, tenant, "no < $1", "no DESC", before, limit).await
}

async fn select(
    conn: &Conn,
    tenant: Option<&Tenant>,
    which: &str,
    order: &str,
    from: i64,
    limit: usize,
) -> Result<Vec<AuditEntry>, Stop> {
    let columns = "SELECT no, at, by, request, decision, hash, tenant FROM audit";
    let limit = stored(limit as u64);
    let rows = match tenant {
        None => {
            let sql = format!("{columns} WHERE {which} ORDER BY {order} LIMIT $2");
            conn.rows(&sql, &[&from, &limit]).await?
        }
        Some(tenant) => {
            // Said, so that the index of all others serves.
            let others = if tenant.is_local() { "" } else { " AND tenant <> 'local'" };
            let sql = format!(
                "{columns} WHERE {which} AND tenant = $3{others} ORDER BY {order} LIMIT $2"
            );
            conn.rows(&sql, &[&from, &limit, &Text(tenant.as_str())]).await?
        }
    };
    let mut lines = Vec::with_capacity(rows.len());
    for row in &rows {
        lines.push(AuditEntry {
            no: row.number(0)?,
            at: Timestamp(row.int(1)?),
            by: Actor::new(row.text(2)?),
            request: RequestId::new(row.text(3)?),
            decision: row.text(4)?,
            hash: row.text(5)?,
            tenant: Tenant::new(row.text(6)?),
        });
    }
    Ok(lines)
}
