//! What is kept of conversations besides their runs.

use serde_json::{Map, Value};
use signoff_core::id::{ConversationId, Tenant};
use signoff_core::time::Timestamp;
use tokio_postgres::Row;

use super::batch::Batch;
use super::clauses::{self, Clauses};
use super::columns::Columns as _;
use super::conn::Conn;
use super::error::{Stop, json, parse};
use super::job::Command;
use super::numbers::Numbered;
use super::page::{List, Order};
use super::text::Text;
use super::touches::Touches;
use crate::{ChangeConversation, ConversationFilter, ConversationRecord, Page};

const SELECT: &str = "SELECT no, tenant, id, metadata, added, deleted, created_at, updated_at
    FROM conversations";
const INSERT: &str = "INSERT INTO conversations
        (no, tenant, id, metadata, texts, added, deleted, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (tenant, id)";

impl Command for ChangeConversation {
    type Output = ConversationRecord;

    fn touches(&self, touches: &mut Touches) {
        touches.conversation(&self.tenant, &self.id);
    }

    async fn apply(&self, batch: &Batch<'_>) -> Result<ConversationRecord, Stop> {
        let before = by_id(batch.conn(), &self.tenant, &self.id).await?;
        let record = ChangeConversation::apply(self, before);
        let known = "DO UPDATE SET metadata = $4, texts = $5, added = $6, deleted = $7,
            updated_at = $9";
        insert(batch, &record, known).await?;
        Ok(record)
    }
}

/// Keeps a conversation of which nothing was kept until now; one that is known stays as it is.
pub(super) async fn keep_new(batch: &Batch<'_>, record: &ConversationRecord) -> Result<(), Stop> {
    insert(batch, record, "DO NOTHING").await
}

async fn insert(batch: &Batch<'_>, record: &ConversationRecord, known: &str) -> Result<(), Stop> {
    let texts = texts(&record.metadata);
    let texts: Vec<Text<'_>> = texts.iter().map(|text| Text(text)).collect();
    batch
        .write(
            &format!("{INSERT} {known}"),
            &[
                &batch.number(Numbered::Conversation),
                &Text(record.tenant.as_str()),
                &Text(record.id.as_str()),
                &Text(&json(&record.metadata)?),
                &texts,
                &Text(&json(&record.added)?),
                &record.deleted,
                &record.created_at.0,
                &record.updated_at.0,
            ],
        )
        .await?;
    Ok(())
}

/// What metadata is searched by.
pub(super) fn texts(metadata: &Map<String, Value>) -> Vec<String> {
    let text = |(name, value): (&String, &Value)| value.as_str().map(|value| pair(name, value));
    metadata.iter().filter_map(text).collect()
}

/// Written as JSON, so that no two pairs look the same.
fn pair(name: &str, value: &str) -> String {
    format!("{}:{}", Value::from(name), Value::from(value))
}

/// One conversation, deleted or not.
pub(super) async fn by_id(
    conn: &Conn,
    tenant: &Tenant,
    id: &ConversationId,
) -> Result<Option<ConversationRecord>, Stop> {
    let sql = format!("{SELECT} WHERE tenant = $1 AND id = $2");
    let row = conn.row(&sql, &[&Text(tenant.as_str()), &Text(id.as_str())]).await?;
    Ok(row.as_ref().map(from_row).transpose()?.map(|(_, record)| record))
}

/// A page of conversations, newest first.
pub(super) async fn page(
    conn: &Conn,
    filter: &ConversationFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Page<ConversationRecord>, Stop> {
    let mut clauses = Clauses::default();
    clauses.and_so("NOT deleted");
    clauses.and_if("tenant = ?", filter.tenant.as_ref().map(Tenant::as_str));
    if !filter.metadata.is_empty() {
        let wanted = filter.metadata.iter().map(|(name, value)| pair(name, value)).collect();
        clauses.and("texts @> ?", [clauses::Value::Texts(wanted)]);
    }
    let order = Order::Newest { before: "no < ?", by: "no" };
    let list = List { select: SELECT.to_owned(), clauses, order, cursor: 'c' };
    list.page(conn, cursor, limit, from_row).await
}

fn from_row(row: &Row) -> Result<(i64, ConversationRecord), Stop> {
    let id = row.text(2)?;
    let record = ConversationRecord {
        tenant: Tenant::new(row.text(1)?),
        metadata: parse(&id, &row.text(3)?)?,
        added: parse(&id, &row.text(4)?)?,
        deleted: row.flag(5)?,
        created_at: Timestamp(row.int(6)?),
        updated_at: Timestamp(row.int(7)?),
        id: ConversationId::new(id),
    };
    Ok((row.int(0)?, record))
}
