//! Reads runs as lists show them.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use signoff_core::time::Timestamp;
use signoff_core::{ConversationId, RunId, RunStatus, Tenant};

use super::clauses::Clauses;
use super::error::{parse, read};
use super::page::{List, Order};
use crate::{Page, RunFilter, RunRecord, StoreError};

const SELECT: &str =
    "SELECT no, id, coalesce(root, id), workflow, version, conversation, status, head,
    error, created_at, updated_at, tenant FROM runs";

/// A run and its number in this database.
pub(super) fn by_id(
    connection: &Connection,
    id: &RunId,
) -> Result<Option<(i64, RunRecord)>, StoreError> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE id = ?1"))?
        .query_row(params![id.as_str()], |row| Ok(from_row(row)))
        .optional()?
        .transpose()
}

/// The latest run of a tenant's conversation that is not part of another.
pub(super) fn latest(
    connection: &Connection,
    tenant: &Tenant,
    conversation: &ConversationId,
) -> Result<Option<RunRecord>, StoreError> {
    let sql = format!(
        "{SELECT} INDEXED BY runs_conversation WHERE conversation = ?1 AND tenant = ?2
             AND root IS NULL
         ORDER BY no DESC LIMIT 1"
    );
    let found = connection
        .prepare_cached(&sql)?
        .query_row(params![conversation.as_str(), tenant.as_str()], |row| Ok(from_row(row)))
        .optional()?
        .transpose()?;
    Ok(found.map(|(_, record)| record))
}

/// A page of runs, newest first.
pub(super) fn page(
    connection: &Connection,
    filter: &RunFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<RunRecord>, StoreError> {
    let order = Order::Newest { before: "no < ?", by: "no" };
    let clauses = conditions(filter);
    let list = List { select: SELECT.to_owned(), clauses, order, cursor: 'r' };
    list.page(connection, cursor, limit, from_row)
}

fn conditions(filter: &RunFilter) -> Clauses {
    let mut clauses = Clauses::default();
    if let Some(tenant) = &filter.tenant {
        // Said, so that the index of all others serves.
        if !tenant.is_local() {
            clauses.and("tenant <> 'local'", [] as [i64; 0]);
        }
        clauses.and("tenant = ?", [tenant.as_str().to_owned()]);
    }
    clauses.and_if("status = ?", filter.status.map(RunStatus::as_str));
    clauses.and_if("workflow = ?", filter.workflow.as_deref());
    clauses.and_if("conversation = ?", filter.conversation.as_ref().map(ConversationId::as_str));
    if let Some(root) = &filter.root {
        let root = root.as_str().to_owned();
        clauses.and("(root = ? OR (root IS NULL AND id = ?))", [root.clone(), root]);
    }
    if let Some(prefix) = &filter.id_prefix {
        let prefixed = format!("{}{prefix}", RunId::PREFIX);
        let after = |text: &str| format!("{text}{}", char::MAX);
        clauses.and(
            "((id >= ? AND id < ?) OR (id >= ? AND id < ?))",
            [prefix.clone(), after(prefix), prefixed.clone(), after(&prefixed)],
        );
    }
    clauses
}

fn from_row(row: &Row<'_>) -> Result<(i64, RunRecord), StoreError> {
    let text = |column| row.get::<_, String>(column);
    let id = RunId::new(text(1)?);
    let status = text(6)?;
    let status = RunStatus::from_word(&status)
        .ok_or_else(|| StoreError::Corrupt(format!("{id} has the status `{status}`")))?;
    let error = match row.get::<_, Option<String>>(8)? {
        Some(error) => Some(parse(id.as_str(), &error)?),
        None => None,
    };
    let record = RunRecord {
        root: RunId::new(text(2)?),
        workflow: text(3)?.into(),
        version: text(4)?.into(),
        conversation: ConversationId::new(text(5)?),
        status,
        head: read(row.get(7)?),
        error,
        created_at: Timestamp(row.get(9)?),
        updated_at: Timestamp(row.get(10)?),
        tenant: Tenant::new(text(11)?),
        id,
    };
    Ok((row.get(0)?, record))
}
