//! Users, notes on requests, and what is kept of conversations.

use crate::people::assignee_after;
use crate::{
    ChangeConversation, ConversationFilter, ConversationRecord, Mark, Marked, Note, NoteLine,
    StoreError, User,
};

use super::tables::Tables;

impl Tables {
    pub(super) fn mark(&mut self, mark: Mark) -> Result<Marked, StoreError> {
        let Some(&place) = self.request_places.get(&mark.request) else {
            return Err(StoreError::UnknownRequest(mark.request));
        };
        let stored = &mut self.requests[place];
        match assignee_after(&stored.request, &mark) {
            Err(stands) => return Ok(stands),
            Ok(assignee) => stored.request.assignee = assignee,
        }
        let note = Note { at: mark.at, by: mark.by, what: mark.what };
        stored.notes.push(note.clone());
        let marked = Marked::Done(Box::new(stored.request.clone()));
        let no = self.notes.len() as u64 + 1;
        self.notes.push(NoteLine { no, request: mark.request, note });
        Ok(marked)
    }

    pub(super) fn change_conversation(
        &mut self,
        change: &ChangeConversation,
    ) -> ConversationRecord {
        let place = self
            .conversations
            .iter()
            .position(|known| known.tenant == change.tenant && known.id == change.id);
        let record = change.apply(place.map(|place| self.conversations[place].clone()));
        match place {
            Some(place) => self.conversations[place] = record.clone(),
            None => self.conversations.push(record.clone()),
        }
        record
    }

    /// Keeps a conversation of which nothing was kept until now.
    pub(super) fn keep_new_conversation(&mut self, new: ConversationRecord) {
        let is_new =
            |known: &ConversationRecord| (&known.tenant, &known.id) != (&new.tenant, &new.id);
        if self.conversations.iter().all(is_new) {
            self.conversations.push(new);
        }
    }

    pub(super) fn put_user(&mut self, user: User, replace: bool) -> bool {
        let name = user.name.as_str().to_owned();
        let new = replace || !self.users.contains_key(&name);
        if new {
            self.users.insert(name, user);
        }
        new
    }
}

pub(super) fn conversation_matches(
    filter: &ConversationFilter,
    record: &ConversationRecord,
) -> bool {
    let has = |(name, value): &(String, String)| {
        record.metadata.get(name).and_then(serde_json::Value::as_str) == Some(value)
    };
    !record.deleted
        && filter.tenant.as_ref().is_none_or(|tenant| *tenant == record.tenant)
        && filter.metadata.iter().all(has)
}
