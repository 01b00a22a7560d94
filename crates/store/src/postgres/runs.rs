//! Reads runs as lists show them, and puts inputs before them.

use std::sync::LazyLock;

use signoff_core::time::Timestamp;
use signoff_core::{ConversationId, RunId, RunStatus, Tenant};
use tokio_postgres::Row;

use super::batch::Batch;
use super::clauses::Clauses;
use super::columns::{Columns as _, read};
use super::conn::Conn;
use super::error::{Stop, parse};
use super::page::{List, Order};
use super::text::Text;
use crate::{Claim, Page, RunFilter, RunRecord, StoreError};

/// The position of the last journal entry of a row of `runs`. The row of a run that somebody may hold may be behind: see
/// [`super::plain`].
pub(super) const HEAD: &str = "CASE WHEN runs.ready THEN greatest(runs.head,
    (SELECT seq + count - 1 FROM journal WHERE run = runs.no ORDER BY seq DESC LIMIT 1)) ELSE runs.head END";
/// When that was made.
pub(super) const UPDATED_AT: &str = "CASE WHEN runs.ready THEN greatest(runs.updated_at,
    (SELECT at FROM journal WHERE run = runs.no ORDER BY seq DESC LIMIT 1)) ELSE runs.updated_at END";

static SELECT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT no, id, coalesce(root, id), workflow, version, conversation, status, {HEAD},
            error, created_at, {UPDATED_AT}, tenant FROM runs"
    )
});

/// A run and its number in this database.
pub(super) async fn by_id(conn: &Conn, id: &RunId) -> Result<Option<(i64, RunRecord)>, Stop> {
    let row = conn.row(&format!("{} WHERE id = $1", *SELECT), &[&Text(id.as_str())]).await?;
    row.as_ref().map(from_row).transpose()
}

/// The latest run of a tenant's conversation that is not part of another.
pub(super) async fn latest(
    conn: &Conn,
    tenant: &Tenant,
    conversation: &ConversationId,
) -> Result<Option<RunRecord>, Stop> {
    let sql = format!(
        "{} WHERE conversation = $1 AND tenant = $2 AND root IS NULL ORDER BY no DESC LIMIT 1",
        *SELECT
    );
    let row = conn.row(&sql, &[&Text(conversation.as_str()), &Text(tenant.as_str())]).await?;
    Ok(row.as_ref().map(from_row).transpose()?.map(|(_, record)| record))
}

/// A page of runs, newest first.
pub(super) async fn page(
    conn: &Conn,
    filter: &RunFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<RunRecord>, Stop> {
    let order = Order::Newest { before: "no < ?", by: "no" };
    let clauses = conditions(filter);
    let list = List { select: SELECT.clone(), clauses, order, cursor: 'r' };
    list.page(conn, cursor, limit, from_row).await
}

fn conditions(filter: &RunFilter) -> Clauses {
    let mut clauses = Clauses::default();
    if let Some(tenant) = &filter.tenant {
        // Said, so that the index of all others serves.
        if !tenant.is_local() {
            clauses.and_so("tenant <> 'local'");
        }
        clauses.and("tenant = ?", [tenant.as_str()]);
    }
    clauses.and_if("status = ?", filter.status.map(RunStatus::as_str));
    clauses.and_if("workflow = ?", filter.workflow.as_deref());
    clauses.and_if("conversation = ?", filter.conversation.as_ref().map(ConversationId::as_str));
    if let Some(root) = &filter.root {
        clauses.and("(root = ? OR (root IS NULL AND id = ?))", [root.as_str(), root.as_str()]);
    }
    if let Some(prefix) = &filter.id_prefix {
        let prefixed = format!("{}{prefix}", RunId::PREFIX);
        let after = |text: &str| format!("{text}{}", char::MAX);
        clauses.and(
            "((id >= ? AND id < ?) OR (id >= ? AND id < ?))",
            [prefix.as_str(), &after(prefix), &prefixed, &after(&prefixed)],
        );
    }
    clauses
}

fn from_row(row: &Row) -> Result<(i64, RunRecord), Stop> {
    let id = RunId::new(row.text(1)?);
    let status = row.text(6)?;
    let status = RunStatus::from_word(&status)
        .ok_or_else(|| StoreError::Corrupt(format!("{id} has the status `{status}`")))?;
    let error = match row.text_if_any(8)? {
        Some(error) => Some(parse(id.as_str(), &error)?),
        None => None,
    };
    let record = RunRecord {
        root: RunId::new(row.text(2)?),
        workflow: row.text(3)?.into(),
        version: row.text(4)?.into(),
        conversation: ConversationId::new(row.text(5)?),
        status,
        head: row.number(7)?,
        error,
        created_at: Timestamp(row.int(9)?),
        updated_at: Timestamp(row.int(10)?),
        tenant: Tenant::new(row.text(11)?),
        id,
    };
    Ok((row.int(0)?, record))
}

/// Puts an input before a run and makes it ready. False if the run is over.
///
/// One statement, because another command may look at the run's inputs between two.
pub(super) async fn give_input(batch: &Batch<'_>, run: i64, body: &str) -> Result<bool, Stop> {
    let given = batch
        .write(
            "WITH given AS (
                 UPDATE runs SET next_input = next_input + 1, ready = true
                 WHERE no = $1 AND status NOT IN ('completed', 'failed', 'cancelled')
                 RETURNING next_input - 1 AS number)
             INSERT INTO inputs (run, no, body) SELECT $1, number, $2 FROM given",
            &[&run, &Text(body)],
        )
        .await?;
    Ok(given == 1)
}

/// The same, and leases the run, on which nobody holds a lease that is good. The lease's epoch, and whether somebody held it
/// before.
pub(super) async fn give_input_and_lease(
    batch: &Batch<'_>,
    run: i64,
    body: &str,
    claim: &Claim,
) -> Result<Option<(u64, bool)>, Stop> {
    let rows = batch
        .change(
            "WITH before AS (SELECT lease_node FROM runs WHERE no = $1),
             fenced AS (UPDATE nodes SET fence = nextval('fences') FROM before
                 WHERE nodes.id = before.lease_node),
             given AS (
                 UPDATE runs SET next_input = next_input + 1, ready = true,
                     lease_node = $3, lease_until = $4, epoch = epoch + 1
                 WHERE no = $1 AND status NOT IN ('completed', 'failed', 'cancelled')
                 RETURNING next_input - 1 AS number, epoch),
             put AS (INSERT INTO inputs (run, no, body) SELECT $1, number, $2 FROM given)
             SELECT given.epoch, before.lease_node IS NOT NULL FROM given, before",
            &[&run, &Text(body), &Text(&claim.node), &claim.until.0],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some((row.number(0)?, row.flag(1)?)))
}

/// Leases a run unless somebody holds a live lease on it or it is over. The lease's epoch.
///
/// The run becomes ready, so that it is found again if the one who holds it dies. Who held it before adds nothing any more.
pub(super) async fn take_lease(
    batch: &Batch<'_>,
    run: i64,
    claim: &Claim,
    now: Timestamp,
) -> Result<Option<u64>, Stop> {
    let rows = batch
        .change(
            "WITH fenced AS (UPDATE nodes SET fence = nextval('fences') FROM runs
                 WHERE runs.no = $1 AND runs.lease_until <= $4 AND nodes.id = runs.lease_node)
             UPDATE runs SET lease_node = $2, lease_until = $3, epoch = epoch + 1, ready = true
             WHERE no = $1 AND (lease_node IS NULL OR lease_until <= $4)
               AND status NOT IN ('completed', 'failed', 'cancelled')
             RETURNING epoch",
            &[&run, &Text(&claim.node), &claim.until.0, &now.0],
        )
        .await?;
    Ok(rows.first().map(|row| row.int(0)).transpose()?.map(read))
}
