//! Runs for the length of a process: for tests, and for work that need not outlive it.

mod events;
mod people;
mod pushes;
mod tables;
mod upkeep;
mod write;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Input};
use signoff_core::policy::Grant;
use signoff_core::request::{Request, RequestStatus};
use signoff_core::time::{Span, Timestamp};
use signoff_core::{ConversationId, Name, RequestId, RunId, Tenant};

use self::tables::Tables;
use crate::audit::steered;
use crate::entries::{page_limit, read_cursor, write_cursor};
use crate::{
    AddLink, Append, Assigned, AuditEntry, BoxFuture, ChangeConversation, Claim,
    ConversationFilter, ConversationRecord, Created, Decide, Decided, DecidedAll, Definition, Due,
    EndGrant, Ends, Examined, Lease, LoadedRun, Mark, Marked, MoveOut, MovePush, MoveWebhook,
    NewRun, NodeId, Note, NoteLine, Notified, Page, PolicyPut, PolicyRecord, Prune, Pruned, Push,
    PutPolicy, PutPush, RequestEvent, RequestFilter, RunFilter, RunRecord, Scope, Store,
    StoreError, TakeDuty, TakeIn, TakePushes, TakeWebhook, TakenIn, User, View,
};

/// Runs in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// All of it as it is now.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self { tables: Mutex::new(self.tables().clone()) }
    }

    /// Makes all of it what it was when it was copied: what happens to a disk that lost what it had not written yet.
    pub fn go_back_to(&self, copy: &Self) {
        let then = copy.tables().clone();
        *self.tables() = then;
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change at once; the future only carries the answer.
    fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Tables) -> T,
    ) -> BoxFuture<'static, T> {
        let mut tables = self.tables();
        let answer = change(&mut tables);
        tables.changes += 1;
        Box::pin(std::future::ready(answer))
    }
}

impl Store for MemoryStore {
    fn put_definition(&self, definition: Definition) -> BoxFuture<'static, Result<(), StoreError>> {
        self.change(|tables| {
            tables.definitions.entry(definition.hash.clone()).or_insert(definition);
            Ok(())
        })
    }

    fn definition(&self, hash: &str) -> Result<Option<Definition>, StoreError> {
        Ok(self.tables().definitions.get(hash).cloned())
    }

    fn create_run(&self, run: NewRun) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        self.change(|tables| tables.create(run))
    }

    fn load(&self, run: &RunId, until: Option<Seq>) -> Result<LoadedRun, StoreError> {
        let tables = self.tables();
        let run = &tables.runs[tables.find(run)?];
        let snapshot = run.snapshot.clone().filter(|_| until.is_none());
        let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
        let until = until.unwrap_or(run.record.head);
        Ok(LoadedRun {
            record: run.record.clone(),
            entries: slice(&run.entries, after, until).to_vec(),
            inputs: run.inputs.iter().cloned().collect(),
            snapshot,
        })
    }

    fn entries(&self, run: &RunId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let tables = self.tables();
        let run = &tables.runs[tables.find(run)?];
        Ok(slice(&run.entries, after, after.saturating_add(limit as u64)).to_vec())
    }

    fn inputs(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Input)>, StoreError> {
        let tables = self.tables();
        let run = &tables.runs[tables.find(run)?];
        Ok(run.inputs.iter().filter(|(no, _)| *no > after).cloned().collect())
    }

    fn append(&self, append: Append) -> BoxFuture<'static, Result<(), StoreError>> {
        self.change(|tables| tables.append(append))
    }

    fn deliver(
        &self,
        run: &RunId,
        input: Input,
        at: Timestamp,
    ) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| {
            let place = tables.find(run)?;
            let line = steered(&input);
            let given = tables.give_input(place, input);
            if let Some((by, said)) = line.filter(|_| given) {
                let tenant = tables.runs[place].record.tenant.clone();
                tables.add_audit_line(at, by, RequestId::new(run.as_str()), tenant, said);
            }
            Ok(given)
        })
    }

    fn decide(&self, decide: Decide) -> BoxFuture<'static, Result<Decided, StoreError>> {
        self.change(|tables| tables.decide(decide))
    }

    fn claim(
        &self,
        scope: Scope,
        node: &NodeId,
        now: Timestamp,
        ttl: Span,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>> {
        let claim = Claim { node: node.clone(), until: now.plus(ttl) };
        self.change(|tables| Ok(tables.claim(&scope, &claim, now, limit)))
    }

    fn claim_run(
        &self,
        run: &RunId,
        node: &NodeId,
        now: Timestamp,
        ttl: Span,
    ) -> BoxFuture<'static, Result<Option<Lease>, StoreError>> {
        let claim = Claim { node: node.clone(), until: now.plus(ttl) };
        self.change(|tables| {
            let place = tables.find(run)?;
            Ok(tables.take_lease(place, &claim, now))
        })
    }

    fn renew(
        &self,
        leases: Vec<Lease>,
        until: Timestamp,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>> {
        self.change(|tables| Ok(tables.renew(leases, until)))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'static, Result<(), StoreError>> {
        self.change(|tables| {
            tables.release(&lease);
            Ok(())
        })
    }

    fn fire_due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'static, Result<usize, StoreError>> {
        self.change(|tables| Ok(tables.fire_due(now, limit)))
    }

    fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.tables().due.first_key_value().map(|((at, _), _)| *at))
    }

    fn changes(&self) -> Result<u64, StoreError> {
        Ok(self.tables().changes)
    }

    fn request(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        let tables = self.tables();
        Ok(tables.request_places.get(id).map(|&place| tables.requests[place].request.clone()))
    }

    fn requests(
        &self,
        filter: &RequestFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<Request>, StoreError> {
        let limit = page_limit(limit);
        let after = read_cursor('q', cursor)?.unwrap_or(0);
        let tables = self.tables();
        let matching = tables.matching(filter, usize::try_from(after).unwrap_or(usize::MAX));
        let found: Vec<usize> = matching.take(limit + 1).collect();
        let items: Vec<Request> =
            found.iter().take(limit).map(|&place| tables.requests[place].request.clone()).collect();
        let next = (found.len() > limit).then(|| write_cursor('q', found[limit - 1] as u64 + 1));
        Ok(Page { items, next })
    }

    fn count_requests(&self, filter: &RequestFilter) -> Result<u64, StoreError> {
        Ok(self.tables().matching(filter, 0).count() as u64)
    }

    fn run(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let tables = self.tables();
        Ok(tables.run_places.get(id).map(|&place| tables.runs[place].record.clone()))
    }

    fn runs(
        &self,
        filter: &RunFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<RunRecord>, StoreError> {
        let limit = page_limit(limit);
        let tables = self.tables();
        let before = read_cursor('r', cursor)?
            .map_or(tables.runs.len(), |before| usize::try_from(before).unwrap_or(0));
        let before = before.saturating_sub(usize::from(cursor.is_some())).min(tables.runs.len());
        let mut items = Vec::new();
        let mut last = 0;
        for (place, run) in tables.runs[..before].iter().enumerate().rev() {
            if !tables.has_run(place) || !run_matches(filter, &run.record) {
                continue;
            }
            if items.len() == limit {
                return Ok(Page { items, next: Some(write_cursor('r', last)) });
            }
            items.push(run.record.clone());
            last = place as u64 + 1;
        }
        Ok(Page { items, next: None })
    }

    fn latest_run(
        &self,
        tenant: &Tenant,
        conversation: &ConversationId,
    ) -> Result<Option<RunRecord>, StoreError> {
        Ok(self.tables().latest_run(tenant, conversation).cloned())
    }

    fn audit(
        &self,
        tenant: Option<&Tenant>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let tables = self.tables();
        let lines = tables.audit.iter().skip(after);
        let own = lines.filter(|line| tenant.is_none_or(|tenant| line.tenant == *tenant));
        Ok(own.take(limit).cloned().collect())
    }

    fn audit_back(
        &self,
        tenant: Option<&Tenant>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let tables = self.tables();
        let lines = tables.audit.iter().rev();
        let earlier = lines.filter(|line| before.is_none_or(|before| line.no < before));
        let own = earlier.filter(|line| tenant.is_none_or(|tenant| line.tenant == *tenant));
        Ok(own.take(limit).cloned().collect())
    }

    fn mark(&self, mark: Mark) -> BoxFuture<'static, Result<Marked, StoreError>> {
        self.change(|tables| tables.mark(mark))
    }

    fn notes(&self, request: &RequestId) -> Result<Vec<Note>, StoreError> {
        let tables = self.tables();
        let place = tables.request_places.get(request);
        Ok(place.map(|&place| tables.requests[place].notes.clone()).unwrap_or_default())
    }

    fn change_conversation(
        &self,
        change: ChangeConversation,
    ) -> BoxFuture<'static, Result<ConversationRecord, StoreError>> {
        self.change(|tables| Ok(tables.change_conversation(&change)))
    }

    fn conversation(
        &self,
        tenant: &Tenant,
        id: &ConversationId,
    ) -> Result<Option<ConversationRecord>, StoreError> {
        let tables = self.tables();
        let mut all = tables.conversations.iter();
        Ok(all.find(|known| known.tenant == *tenant && known.id == *id).cloned())
    }

    fn conversations(
        &self,
        filter: &ConversationFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ConversationRecord>, StoreError> {
        let limit = page_limit(limit);
        let before = read_cursor('c', cursor)?.unwrap_or(u64::MAX);
        let tables = self.tables();
        let all = tables.conversations.iter().enumerate().rev();
        let matching = all
            .map(|(place, record)| (place as u64 + 1, record))
            .filter(|(no, record)| *no < before && people::conversation_matches(filter, record));
        let found: Vec<(u64, &ConversationRecord)> = matching.take(limit + 1).collect();
        let next = (found.len() > limit).then(|| write_cursor('c', found[limit - 1].0));
        let items = found.into_iter().take(limit).map(|(_, record)| record.clone()).collect();
        Ok(Page { items, next })
    }

    fn decide_all(
        &self,
        decides: Vec<Decide>,
    ) -> BoxFuture<'static, Result<DecidedAll, StoreError>> {
        self.change(|tables| tables.decide_all(decides))
    }

    fn put_policy(&self, put: PutPolicy) -> BoxFuture<'static, Result<PolicyPut, StoreError>> {
        self.change(|tables| Ok(tables.put_policy(&put)))
    }

    fn policy(&self, tenant: &Tenant) -> Result<Option<PolicyRecord>, StoreError> {
        Ok(self.tables().policies.get(tenant).cloned())
    }

    fn add_grant(&self, grant: Grant) -> BoxFuture<'static, Result<(), StoreError>> {
        self.change(|tables| {
            tables.add_grant(grant);
            Ok(())
        })
    }

    fn grants(&self, tenant: &Tenant) -> Result<Vec<Grant>, StoreError> {
        let tables = self.tables();
        Ok(tables.grants.iter().filter(|grant| grant.tenant == *tenant).cloned().collect())
    }

    fn end_grant(&self, end: EndGrant) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| Ok(tables.end_grant(&end)))
    }

    fn use_grant(&self, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| Ok(tables.use_grant(id)))
    }

    fn put_user(&self, user: User, replace: bool) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| Ok(tables.put_user(user, replace)))
    }

    fn remove_user(&self, name: &str) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| Ok(tables.users.remove(name).is_some()))
    }

    fn users(&self) -> Result<Vec<User>, StoreError> {
        Ok(self.tables().users.values().cloned().collect())
    }

    fn ends(&self) -> Result<Ends, StoreError> {
        let tables = self.tables();
        let requests = write_cursor('q', tables.requests.len() as u64);
        let (audit, notes) = (tables.audit.len() as u64, tables.notes.len() as u64);
        Ok(Ends { requests, audit, notes })
    }

    fn add_link(&self, link: AddLink) -> BoxFuture<'static, Result<(), StoreError>> {
        self.change(|tables| tables.add_link(link))
    }

    fn view(&self, view: View) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| tables.view(view))
    }

    fn secret(&self, name: &str, new: String) -> BoxFuture<'static, Result<String, StoreError>> {
        self.change(|tables| Ok(tables.secrets.entry(name.to_owned()).or_insert(new).clone()))
    }

    fn noted(&self, after: u64, limit: usize) -> Result<Vec<NoteLine>, StoreError> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(self.tables().notes.iter().skip(after).take(limit).cloned().collect())
    }

    fn take_webhook(
        &self,
        take: TakeWebhook,
    ) -> BoxFuture<'static, Result<Option<u64>, StoreError>> {
        self.change(|tables| Ok(tables.events.take(&take)))
    }

    fn move_webhook(&self, moved: MoveWebhook) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| {
            let passed = tables.events.pass(&moved);
            if let Some(told) = moved.told.filter(|_| passed) {
                let (teller, said) = (Notified::teller(&moved.name), told.said());
                tables.add_audit_line(moved.now, teller, told.request, told.tenant, said);
            }
            Ok(passed)
        })
    }

    fn posted(&self, webhook: &Name, request: &RequestId) -> Result<Option<String>, StoreError> {
        Ok(self.tables().events.posted(webhook, request))
    }

    fn happened(&self, after: u64, limit: usize) -> Result<Vec<RequestEvent>, StoreError> {
        Ok(self.tables().events.after(after, limit))
    }

    fn put_push(&self, put: PutPush) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| tables.put_push(put))
    }

    fn pushes(&self, run: &RunId) -> Result<Vec<Push>, StoreError> {
        Ok(self.tables().pushes_of(run))
    }

    fn remove_push(&self, run: &RunId, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        let key = (run.clone(), id.clone());
        self.change(|tables| Ok(tables.pushes.remove(&key).is_some()))
    }

    fn take_pushes(&self, take: TakePushes) -> BoxFuture<'static, Result<Vec<Push>, StoreError>> {
        self.change(|tables| Ok(tables.take_pushes(&take)))
    }

    fn move_push(&self, moved: MovePush) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| Ok(tables.move_push(moved)))
    }

    fn timers(&self, run: &RunId) -> Result<Vec<(Due, Timestamp)>, StoreError> {
        Ok(self.tables().timers_of(run))
    }

    fn prune(&self, prune: Prune) -> BoxFuture<'static, Result<Pruned, StoreError>> {
        self.change(|tables| Ok(tables.prune(&prune)))
    }

    fn take_duty(&self, take: TakeDuty) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| Ok(tables.take_duty(take)))
    }

    fn take_in(&self, take: TakeIn) -> BoxFuture<'static, Result<TakenIn, StoreError>> {
        self.change(|tables| tables.take_in(&take))
    }

    fn move_out(&self, out: MoveOut) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.change(|tables| Ok(tables.move_out(&out)))
    }

    fn examine(&self, now: Timestamp) -> Result<Examined, StoreError> {
        Ok(self.tables().examine(now))
    }
}

impl Tables {
    fn latest_run(&self, tenant: &Tenant, conversation: &ConversationId) -> Option<&RunRecord> {
        let here = (0..self.runs.len()).rev().filter(|place| self.has_run(*place));
        let mut records = here.map(|place| &self.runs[place].record);
        let own = |run: &RunRecord| run.tenant == *tenant && run.conversation == *conversation;
        records.find(|run| own(run) && run.root == run.id)
    }

    /// Requests that match, from place `from`.
    fn matching<'a>(
        &'a self,
        filter: &'a RequestFilter,
        from: usize,
    ) -> Box<dyn Iterator<Item = usize> + 'a> {
        let fits = move |&place: &usize| request_matches(filter, &self.requests[place].request);
        if filter.status == Some(RequestStatus::Pending) {
            Box::new(self.pending.range(from..).copied().filter(fits))
        } else {
            let here = (from..self.requests.len()).filter(|place| self.has_request(*place));
            Box::new(here.filter(fits))
        }
    }
}

fn slice(entries: &[Entry], after: Seq, until: Seq) -> &[Entry] {
    let place = |seq: Seq| usize::try_from(seq).unwrap_or(usize::MAX).min(entries.len());
    &entries[place(after)..place(until.max(after))]
}

fn request_matches(filter: &RequestFilter, request: &Request) -> bool {
    fn is<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
        wanted.is_none_or(|wanted| wanted == found)
    }
    is(filter.status.as_ref(), &request.status)
        && is(filter.kind.as_ref(), &request.body.kind)
        && is(filter.workflow.as_ref(), &request.workflow)
        && is(filter.conversation.as_ref(), &request.conversation)
        && is(filter.tenant.as_ref(), &request.tenant)
        && filter.risk.is_none_or(|risk| request.body.risk == Some(risk))
        && filter.deferred.is_none_or(|wanted| request.deferred_until.is_some() == wanted)
        && filter.asked_until.is_none_or(|at| request.created_at <= at)
        && match &filter.assigned {
            None => true,
            Some(Assigned::To(actor)) => request.assignee.as_ref() == Some(actor),
            Some(Assigned::ToNobody) => request.assignee.is_none(),
        }
        && filter.agent.as_ref().is_none_or(|agent| request.body.agent_path.last() == Some(agent))
        && filter.root.as_ref().is_none_or(|run| request.root == *run || request.run == *run)
        && filter.text.as_ref().is_none_or(|text| {
            let prompt = request.body.prompt.to_ascii_lowercase();
            text.split_whitespace().all(|word| prompt.contains(&word.to_ascii_lowercase()))
        })
}

fn run_matches(filter: &RunFilter, run: &RunRecord) -> bool {
    filter.status.is_none_or(|status| status == run.status)
        && filter.workflow.as_ref().is_none_or(|workflow| *workflow == run.workflow)
        && filter.conversation.as_ref().is_none_or(|id| *id == run.conversation)
        && filter.tenant.as_ref().is_none_or(|tenant| *tenant == run.tenant)
        && filter.root.as_ref().is_none_or(|root| *root == run.root)
        && filter.id_prefix.as_ref().is_none_or(|prefix| {
            run.id.as_str().starts_with(prefix.as_str())
                || run.id.unique().starts_with(prefix.as_str())
        })
}
