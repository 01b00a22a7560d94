//! What is kept of conversations besides their runs.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use signoff_core::id::{ConversationId, Tenant};
use signoff_core::time::Timestamp;

use super::clauses::Clauses;
use super::db::Db;
use super::error::{json, parse};
use super::page::{List, Order};
use super::writer::{Command, Stop};
use crate::{ChangeConversation, ConversationFilter, ConversationRecord, Page, StoreError};

const SELECT: &str = "SELECT no, tenant, id, metadata, added, deleted, created_at, updated_at
    FROM conversations";
const INSERT: &str = "INSERT INTO conversations
        (tenant, id, metadata, added, deleted, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

impl Command for ChangeConversation {
    type Output = ConversationRecord;

    fn apply(&self, db: &mut Db) -> Result<ConversationRecord, Stop> {
        let before = by_id(&db.connection, &self.tenant, &self.id)?;
        let record = ChangeConversation::apply(self, before);
        let known = "DO UPDATE SET metadata = ?3, added = ?4, deleted = ?5, updated_at = ?7";
        insert(&db.connection, &record, known)?;
        Ok(record)
    }
}

/// Keeps a conversation of which nothing was kept until now; one that is known stays as it is.
pub(super) fn keep_new(connection: &Connection, record: &ConversationRecord) -> Result<(), Stop> {
    insert(connection, record, "DO NOTHING")
}

fn insert(connection: &Connection, record: &ConversationRecord, known: &str) -> Result<(), Stop> {
    connection.prepare_cached(&format!("{INSERT} ON CONFLICT (tenant, id) {known}"))?.execute(
        params![
            record.tenant.as_str(),
            record.id.as_str(),
            json(&record.metadata)?,
            json(&record.added)?,
            record.deleted,
            record.created_at.0,
            record.updated_at.0,
        ],
    )?;
    Ok(())
}

/// One conversation, deleted or not.
pub(super) fn by_id(
    connection: &Connection,
    tenant: &Tenant,
    id: &ConversationId,
) -> Result<Option<ConversationRecord>, StoreError> {
    let found = connection
        .prepare_cached(&format!("{SELECT} WHERE tenant = ?1 AND id = ?2"))?
        .query_row(params![tenant.as_str(), id.as_str()], |row| Ok(from_row(row)))
        .optional()?
        .transpose()?;
    Ok(found.map(|(_, record)| record))
}

/// A page of conversations, newest first.
pub(super) fn page(
    connection: &Connection,
    filter: &ConversationFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<ConversationRecord>, StoreError> {
    let mut clauses = Clauses::default();
    clauses.and("deleted = 0", [] as [i64; 0]);
    clauses.and_if("tenant = ?", filter.tenant.as_ref().map(Tenant::as_str));
    for (name, value) in &filter.metadata {
        // Quoted, so that a name is only a name.
        let path = format!("$.{}", serde_json::Value::from(name.as_str()));
        clauses.and("metadata ->> ? = ?", [path, value.clone()]);
    }
    let order = Order::Newest { before: "no < ?", by: "no" };
    let list = List { select: SELECT.to_owned(), clauses, order, cursor: 'c' };
    list.page(connection, cursor, limit, from_row)
}

fn from_row(row: &Row<'_>) -> Result<(i64, ConversationRecord), StoreError> {
    let id: String = row.get(2)?;
    let record = ConversationRecord {
        tenant: Tenant::new(row.get::<_, String>(1)?),
        metadata: parse(&id, &row.get::<_, String>(3)?)?,
        added: parse(&id, &row.get::<_, String>(4)?)?,
        deleted: row.get(5)?,
        created_at: Timestamp(row.get(6)?),
        updated_at: Timestamp(row.get(7)?),
        id: ConversationId::new(id),
    };
    Ok((row.get(0)?, record))
}
