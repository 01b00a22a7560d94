//! What is kept of a conversation besides its runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use signoff_core::Message;
use signoff_core::id::{ConversationId, Tenant};
use signoff_core::time::Timestamp;

use crate::{NewRun, StoreError, entries};

/// A conversation that somebody made or said something about. One that is only named by a run has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationRecord {
    /// Its id, among those of its tenant.
    pub id: ConversationId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What clients note on it.
    pub metadata: Map<String, Value>,
    /// What was put into it, in order, besides what its runs said. The runs tell how much of it they took up.
    pub added: Vec<Message>,
    /// Whether somebody deleted it.
    pub deleted: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this was last changed.
    pub updated_at: Timestamp,
}

/// A change of a conversation. One that is not there yet is made; one that was deleted stays as it is.
#[derive(Clone, Debug)]
pub struct ChangeConversation {
    /// Whose.
    pub tenant: Tenant,
    /// Which.
    pub id: ConversationId,
    /// Now.
    pub at: Timestamp,
    /// The new metadata, if it changes.
    pub metadata: Option<Map<String, Value>>,
    /// What is put into it.
    pub add: Vec<Message>,
    /// Whether it is deleted.
    pub delete: bool,
}

impl ConversationRecord {
    /// The conversation that a new run makes known, if it does.
    pub(crate) fn made_by(run: &NewRun) -> Result<Option<Self>, StoreError> {
        let Some(metadata) = &run.about else { return Ok(None) };
        let started = entries::started(run)?;
        let at = run.entries.first().map_or(Timestamp(0), |first| first.at);
        let new = ChangeConversation::new(started.tenant.clone(), started.conversation.clone(), at);
        Ok(Some(ChangeConversation { metadata: Some(metadata.clone()), ..new }.apply(None)))
    }
}

impl ChangeConversation {
    /// A change that only makes it.
    pub fn new(tenant: Tenant, id: ConversationId, at: Timestamp) -> Self {
        Self { tenant, id, at, metadata: None, add: Vec::new(), delete: false }
    }

    /// What the change makes of a conversation.
    pub(crate) fn apply(&self, before: Option<ConversationRecord>) -> ConversationRecord {
        let mut record = before.unwrap_or_else(|| ConversationRecord {
            id: self.id.clone(),
            tenant: self.tenant.clone(),
            metadata: Map::new(),
            added: Vec::new(),
            deleted: false,
            created_at: self.at,
            updated_at: self.at,
        });
        if record.deleted {
            return record;
        }
        if let Some(metadata) = &self.metadata {
            record.metadata.clone_from(metadata);
        }
        record.added.extend(self.add.iter().cloned());
        if self.delete {
            record.deleted = true;
            record.metadata = Map::new();
            record.added = Vec::new();
        }
        record.updated_at = self.at;
        record
    }
}

/// Which conversations to list. Deleted ones are never listed.
#[derive(Clone, Debug, Default)]
pub struct ConversationFilter {
    /// Whose.
    pub tenant: Option<Tenant>,
    /// What texts their metadata must have.
    pub metadata: Vec<(String, String)>,
}
