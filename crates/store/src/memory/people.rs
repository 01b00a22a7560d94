//! Users, notes on requests, and what is kept of conversations.

use signoff_core::id::RequestId;
use signoff_core::policy::Grant;

use crate::audit::{POLICY, ended, granted, noted, policy_set};
use crate::people::assignee_after;
use crate::{
    AddLink, ChangeConversation, ConversationFilter, ConversationRecord, Due, EndGrant, Happened,
    Mark, Marked, Note, NoteLine, Noted, PolicyPut, PutPolicy, StoreError, User, View,
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
        let deferred = match &mark.what {
            Noted::Deferred { until, .. } => Some(*until),
            _ => None,
        };
        stored.request.deferred_until = deferred.or(stored.request.deferred_until);
        let (run, request) = (stored.run, stored.number);
        let marked = Marked::Done(Box::new(stored.request.clone()));
        let tenant = stored.request.tenant.clone();
        if let Some(said) = noted(&mark.what) {
            self.add_audit_line(mark.at, mark.by.clone(), mark.request, tenant, said);
        }
        let note = Note { at: mark.at, by: mark.by, what: mark.what };
        self.add_note(place, note);
        if let Some(until) = deferred {
            self.set_timer(run, Due::Deferral { request }, until);
            self.tell(place, Happened::Deferred, mark.at);
        }
        Ok(marked)
    }

    pub(super) fn add_note(&mut self, place: usize, note: Note) {
        let stored = &mut self.requests[place];
        stored.notes.push(note.clone());
        let no = self.notes.len() as u64 + 1;
        self.notes.push(NoteLine { no, request: stored.request.id.clone(), note });
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

    pub(super) fn put_policy(&mut self, put: &PutPolicy) -> PolicyPut {
        let record = match put.after(self.policies.get(&put.tenant).cloned()) {
            Ok(record) => record,
            Err(stands) => return stands,
        };
        self.policies.insert(put.tenant.clone(), record.clone());
        let (by, tenant) = (put.by.clone(), put.tenant.clone());
        self.add_audit_line(put.at, by, RequestId::new(POLICY), tenant, policy_set(&record));
        PolicyPut::Done(record)
    }

    pub(super) fn add_grant(&mut self, grant: Grant) {
        let subject = grant.request.clone().unwrap_or_else(|| RequestId::new(&*grant.id));
        let (by, tenant) = (grant.by.clone(), grant.tenant.clone());
        self.add_audit_line(grant.at, by, subject, tenant, granted(&grant));
        self.grants.push(grant);
    }

    pub(super) fn end_grant(&mut self, end: &EndGrant) -> bool {
        let before = self.grants.len();
        self.grants.retain(|grant| grant.id != end.id || grant.tenant != end.tenant);
        let found = self.grants.len() < before;
        if found {
            let (subject, tenant) = (RequestId::new(&*end.id), end.tenant.clone());
            self.add_audit_line(end.at, end.by.clone(), subject, tenant, ended());
        }
        found
    }

    pub(super) fn use_grant(&mut self, id: &str) -> bool {
        let found = self.grants.iter_mut().find(|grant| &*grant.id == id);
        let Some(times) = found.and_then(|grant| grant.times.as_mut()).filter(|it| **it > 0) else {
            return false;
        };
        *times -= 1;
        self.grants.retain(|grant| grant.times != Some(0));
        true
    }

    pub(super) fn add_link(&mut self, link: AddLink) -> Result<(), StoreError> {
        let Some(&place) = self.request_places.get(&link.request) else {
            return Err(StoreError::UnknownRequest(link.request));
        };
        let (tenant, said) = (self.requests[place].request.tenant.clone(), link.said());
        self.add_audit_line(link.at, link.by, link.request, tenant, said);
        Ok(())
    }

    pub(super) fn view(&mut self, view: View) -> Result<bool, StoreError> {
        let Some(&place) = self.request_places.get(&view.request) else {
            return Err(StoreError::UnknownRequest(view.request));
        };
        let key = (view.request.clone(), view.by.as_str().to_owned());
        if self.views.get(&key).is_some_and(|seen| *seen >= view.version) {
            return Ok(false);
        }
        self.views.insert(key, view.version);
        let (tenant, said) = (self.requests[place].request.tenant.clone(), view.said());
        self.add_audit_line(view.at, view.by, view.request, tenant, said);
        Ok(true)
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
