//! What happens to requests, and who has been told of it.

use std::collections::BTreeMap;

use signoff_core::time::Timestamp;
use signoff_core::{Name, RequestId, RequestNo, RunId, Tenant};

use super::tables::Tables;
use crate::events::FORGOTTEN_AFTER;
use crate::{Happened, MoveWebhook, NodeId, RequestEvent, TakeWebhook};

/// What happened, and who is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    told: Vec<RequestEvent>,
    /// The number of the last one there ever was.
    last: u64,
    webhooks: BTreeMap<Name, Webhook>,
    posts: BTreeMap<(Name, RequestId), String>,
}

#[derive(Clone, Debug)]
struct Webhook {
    cursor: u64,
    node: NodeId,
    until: Timestamp,
}

impl Webhook {
    /// Whether it is still waited for.
    fn counts(&self, now: Timestamp) -> bool {
        self.until.plus(FORGOTTEN_AFTER) > now
    }
}

impl Tables {
    /// Tells of a request, if there is anybody to be told.
    pub(super) fn tell(&mut self, place: usize, what: Happened, at: Timestamp) {
        let request = &self.requests[place].request;
        let (id, tenant) = (request.id.clone(), request.tenant.clone());
        self.events.tell(id, tenant, what, at);
    }

    /// Tells of an action, by its run and the number of its journal entry.
    pub(super) fn tell_audited(&mut self, run: usize, number: RequestNo, at: Timestamp) {
        let record = &self.runs[run].record;
        let (id, tenant) = (record.id.request(number), record.tenant.clone());
        self.events.tell(id, tenant, Happened::Audited, at);
    }
}

impl Events {
    fn tell(&mut self, request: RequestId, tenant: Tenant, what: Happened, at: Timestamp) {
        if self.webhooks.values().any(|webhook| webhook.counts(at)) {
            self.last += 1;
            self.told.push(RequestEvent { no: self.last, at, what, request, tenant });
        }
    }

    /// Whether somebody is still to be told of something in this run.
    pub(super) fn has(&self, run: &RunId) -> bool {
        let of_it = |event: &RequestEvent| event.request.split().is_some_and(|it| it.0 == *run);
        self.told.iter().any(of_it)
    }

    /// Webhooks, how much they have not been told of, and until when somebody delivers.
    pub(super) fn lags(&self) -> Vec<(Name, u64, Timestamp)> {
        let lag = |cursor: u64| self.told.iter().filter(|event| event.no > cursor).count() as u64;
        let all = self.webhooks.iter();
        all.map(|(name, it)| (name.clone(), lag(it.cursor), it.until)).collect()
    }

    pub(super) fn after(&self, after: u64, limit: usize) -> Vec<RequestEvent> {
        self.told.iter().filter(|event| event.no > after).take(limit).cloned().collect()
    }

    pub(super) fn posted(&self, webhook: &Name, request: &RequestId) -> Option<String> {
        self.posts.get(&(webhook.clone(), request.clone())).cloned()
    }

    pub(super) fn take(&mut self, take: &TakeWebhook) -> Option<u64> {
        let until = take.now.plus(take.ttl);
        let new = || Webhook { cursor: self.last, node: take.node.clone(), until };
        let webhook = self.webhooks.entry(take.name.clone()).or_insert_with(new);
        if webhook.node != take.node && webhook.until > take.now {
            return None;
        }
        webhook.node.clone_from(&take.node);
        webhook.until = until;
        Some(webhook.cursor)
    }

    pub(super) fn pass(&mut self, passed: &MoveWebhook) -> bool {
        let own = self.webhooks.get_mut(&passed.name).filter(|it| it.node == passed.node);
        let Some(webhook) = own else { return false };
        webhook.cursor = webhook.cursor.max(passed.to);
        if let Some(posted) = &passed.posted {
            let key = (passed.name.clone(), posted.request.clone());
            match &posted.reference {
                Some(reference) => self.posts.insert(key, reference.clone()),
                None => self.posts.remove(&key),
            };
        }
        let waited_for = self.webhooks.values().filter(|webhook| webhook.counts(passed.now));
        if let Some(passed) = waited_for.map(|webhook| webhook.cursor).min() {
            self.told.retain(|event| event.no > passed);
        }
        true
    }
}
