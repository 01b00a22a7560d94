//! A store as one tenant sees it: what belongs to others is not there.
//!
//! Whoever speaks for a tenant gets this and nothing else, so that no route can forget to look whose
//! a thing is. Whoever drives runs has the store itself.

use std::sync::Arc;

use signoff_core::id::{ConversationId, Name, RequestId, RunId, Seq, Tenant};
use signoff_core::journal::{Entry, Input};
use signoff_core::policy::Grant;
use signoff_core::request::Request;
use signoff_core::time::{Span, Timestamp};

use crate::{
    AddLink, Append, AuditEntry, BoxFuture, ChangeConversation, ConversationFilter,
    ConversationRecord, Created, Decide, Decided, DecidedAll, Definition, Due, EndGrant, Ends,
    Examined, Lease, LoadedRun, Mark, Marked, MoveOut, MovePush, MoveWebhook, NewRun, NodeId, Note,
    NoteLine, Page, PolicyPut, PolicyRecord, Prune, Pruned, Push, PutPolicy, PutPush, RequestEvent,
    RequestFilter, RunFilter, RunRecord, Scope, Store, StoreError, TakeDuty, TakeIn, TakePushes,
    TakeWebhook, TakenIn, User, View, entries,
};

/// The store as `tenant` sees it.
pub fn scoped(store: Arc<dyn Store>, tenant: Tenant) -> Arc<dyn Store> {
    Arc::new(Scoped { store, tenant })
}

#[derive(Debug)]
struct Scoped {
    store: Arc<dyn Store>,
    tenant: Tenant,
}

fn refused<T: Send + 'static>(error: StoreError) -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(std::future::ready(Err(error)))
}

impl Scoped {
    fn own_run(&self, id: &RunId) -> Result<(), StoreError> {
        match self.run(id)? {
            Some(_) => Ok(()),
            None => Err(StoreError::UnknownRun(id.clone())),
        }
    }

    fn own_request(&self, id: &RequestId) -> Result<(), StoreError> {
        // A request is its run's.
        let unknown = || StoreError::UnknownRequest(id.clone());
        let (run, _) = id.split().ok_or_else(unknown)?;
        self.run(&run)?.map(drop).ok_or_else(unknown)
    }
}

impl Store for Scoped {
    fn put_definition(&self, definition: Definition) -> BoxFuture<'static, Result<(), StoreError>> {
        self.store.put_definition(definition)
    }

    fn definition(&self, hash: &str) -> Result<Option<Definition>, StoreError> {
        self.store.definition(hash)
    }

    fn create_run(&self, run: NewRun) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        match entries::started(&run) {
            Ok(started) if started.tenant == self.tenant => self.store.create_run(run),
            Ok(_) => refused(StoreError::Failed("a run of another tenant".to_owned())),
            Err(error) => refused(error),
        }
    }

    fn load(&self, run: &RunId, until: Option<Seq>) -> Result<LoadedRun, StoreError> {
        let loaded = self.store.load(run, until)?;
        if loaded.record.tenant != self.tenant {
            return Err(StoreError::UnknownRun(run.clone()));
        }
        Ok(loaded)
    }

    fn entries(&self, run: &RunId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.own_run(run)?;
        self.store.entries(run, after, limit)
    }

    fn inputs(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Input)>, StoreError> {
        self.own_run(run)?;
        self.store.inputs(run, after)
    }

    fn append(&self, append: Append) -> BoxFuture<'static, Result<(), StoreError>> {
        match self.own_run(&append.lease.run) {
            Ok(()) => self.store.append(append),
            Err(error) => refused(error),
        }
    }

    fn deliver(
        &self,
        run: &RunId,
        input: Input,
        at: Timestamp,
    ) -> BoxFuture<'static, Result<bool, StoreError>> {
        match self.own_run(run) {
            Ok(()) => self.store.deliver(run, input, at),
            Err(error) => refused(error),
        }
    }

    fn decide(&self, decide: Decide) -> BoxFuture<'static, Result<Decided, StoreError>> {
        match self.own_request(&decide.request) {
            Ok(()) => self.store.decide(decide),
            Err(error) => refused(error),
        }
    }

    fn claim(
        &self,
        scope: Scope,
        node: &NodeId,
        now: Timestamp,
        ttl: Span,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>> {
        match &scope {
            Scope::Tree(run) => match self.own_run(run) {
                Ok(()) => self.store.claim(scope, node, now, ttl, limit),
                Err(error) => refused(error),
            },
            Scope::All => refused(StoreError::Failed("a tenant does not drive all runs".into())),
        }
    }

    fn claim_run(
        &self,
        run: &RunId,
        node: &NodeId,
        now: Timestamp,
        ttl: Span,
    ) -> BoxFuture<'static, Result<Option<Lease>, StoreError>> {
        match self.own_run(run) {
            Ok(()) => self.store.claim_run(run, node, now, ttl),
            Err(error) => refused(error),
        }
    }

    fn renew(
        &self,
        leases: Vec<Lease>,
        until: Timestamp,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>> {
        self.store.renew(leases, until)
    }

    fn release(&self, lease: Lease) -> BoxFuture<'static, Result<(), StoreError>> {
        self.store.release(lease)
    }

    fn fire_due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'static, Result<usize, StoreError>> {
        self.store.fire_due(now, limit)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.store.next_due()
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.store.changes()
    }

    fn request(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        Ok(self.store.request(id)?.filter(|request| request.tenant == self.tenant))
    }

    fn requests(
        &self,
        filter: &RequestFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<Request>, StoreError> {
        let filter = RequestFilter { tenant: Some(self.tenant.clone()), ..filter.clone() };
        self.store.requests(&filter, cursor, limit)
    }

    fn count_requests(&self, filter: &RequestFilter) -> Result<u64, StoreError> {
        let filter = RequestFilter { tenant: Some(self.tenant.clone()), ..filter.clone() };
        self.store.count_requests(&filter)
    }

    fn run(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        Ok(self.store.run(id)?.filter(|run| run.tenant == self.tenant))
    }

    fn runs(
        &self,
        filter: &RunFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<RunRecord>, StoreError> {
        let filter = RunFilter { tenant: Some(self.tenant.clone()), ..filter.clone() };
        self.store.runs(&filter, cursor, limit)
    }

    fn latest_run(
        &self,
        _: &Tenant,
        conversation: &ConversationId,
    ) -> Result<Option<RunRecord>, StoreError> {
        self.store.latest_run(&self.tenant, conversation)
    }

    fn audit(
        &self,
        _: Option<&Tenant>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.store.audit(Some(&self.tenant), after, limit)
    }

    fn audit_back(
        &self,
        _: Option<&Tenant>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.store.audit_back(Some(&self.tenant), before, limit)
    }

    fn mark(&self, mark: Mark) -> BoxFuture<'static, Result<Marked, StoreError>> {
        match self.own_request(&mark.request) {
            Ok(()) => self.store.mark(mark),
            Err(error) => refused(error),
        }
    }

    fn notes(&self, request: &RequestId) -> Result<Vec<Note>, StoreError> {
        self.own_request(request)?;
        self.store.notes(request)
    }

    fn change_conversation(
        &self,
        change: ChangeConversation,
    ) -> BoxFuture<'static, Result<ConversationRecord, StoreError>> {
        let tenant = self.tenant.clone();
        self.store.change_conversation(ChangeConversation { tenant, ..change })
    }

    fn conversation(
        &self,
        _: &Tenant,
        id: &ConversationId,
    ) -> Result<Option<ConversationRecord>, StoreError> {
        self.store.conversation(&self.tenant, id)
    }

    fn conversations(
        &self,
        filter: &ConversationFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ConversationRecord>, StoreError> {
        let filter = ConversationFilter { tenant: Some(self.tenant.clone()), ..filter.clone() };
        self.store.conversations(&filter, cursor, limit)
    }

    fn decide_all(
        &self,
        decides: Vec<Decide>,
    ) -> BoxFuture<'static, Result<DecidedAll, StoreError>> {
        match decides.iter().try_for_each(|decide| self.own_request(&decide.request)) {
            Ok(()) => self.store.decide_all(decides),
            Err(error) => refused(error),
        }
    }

    fn put_policy(&self, put: PutPolicy) -> BoxFuture<'static, Result<PolicyPut, StoreError>> {
        self.store.put_policy(PutPolicy { tenant: self.tenant.clone(), ..put })
    }

    fn policy(&self, _: &Tenant) -> Result<Option<PolicyRecord>, StoreError> {
        self.store.policy(&self.tenant)
    }

    fn add_grant(&self, grant: Grant) -> BoxFuture<'static, Result<(), StoreError>> {
        self.store.add_grant(Grant { tenant: self.tenant.clone(), ..grant })
    }

    fn grants(&self, _: &Tenant) -> Result<Vec<Grant>, StoreError> {
        self.store.grants(&self.tenant)
    }

    fn end_grant(&self, end: EndGrant) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.store.end_grant(EndGrant { tenant: self.tenant.clone(), ..end })
    }

    fn use_grant(&self, _: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        refused(StoreError::Failed("whoever drives a run uses what is remembered".to_owned()))
    }

    fn add_link(&self, link: AddLink) -> BoxFuture<'static, Result<(), StoreError>> {
        match self.own_request(&link.request) {
            Ok(()) => self.store.add_link(link),
            Err(error) => refused(error),
        }
    }

    fn view(&self, view: View) -> BoxFuture<'static, Result<bool, StoreError>> {
        match self.own_request(&view.request) {
            Ok(()) => self.store.view(view),
            Err(error) => refused(error),
        }
    }

    fn secret(&self, _: &str, _: String) -> BoxFuture<'static, Result<String, StoreError>> {
        refused(StoreError::Failed("a tenant is told no secrets".to_owned()))
    }

    fn put_user(&self, _: User, _: bool) -> BoxFuture<'static, Result<bool, StoreError>> {
        refused(StoreError::Failed("a tenant does not make users".to_owned()))
    }

    fn remove_user(&self, _: &str) -> BoxFuture<'static, Result<bool, StoreError>> {
        refused(StoreError::Failed("a tenant does not remove users".to_owned()))
    }

    fn users(&self) -> Result<Vec<User>, StoreError> {
        let all = self.store.users()?;
        Ok(all.into_iter().filter(|user| user.tenant == self.tenant).collect())
    }

    fn noted(&self, after: u64, limit: usize) -> Result<Vec<NoteLine>, StoreError> {
        let all = self.store.noted(after, limit)?;
        Ok(all.into_iter().filter(|line| self.own_request(&line.request).is_ok()).collect())
    }

    fn ends(&self) -> Result<Ends, StoreError> {
        self.store.ends()
    }

    fn take_webhook(&self, _: TakeWebhook) -> BoxFuture<'static, Result<Option<u64>, StoreError>> {
        refused(StoreError::Failed("a tenant does not deliver to webhooks".to_owned()))
    }

    fn move_webhook(&self, _: MoveWebhook) -> BoxFuture<'static, Result<bool, StoreError>> {
        refused(StoreError::Failed("a tenant does not deliver to webhooks".to_owned()))
    }

    fn posted(&self, _: &Name, _: &RequestId) -> Result<Option<String>, StoreError> {
        Err(StoreError::Failed("a tenant does not deliver to webhooks".to_owned()))
    }

    fn put_push(&self, put: PutPush) -> BoxFuture<'static, Result<bool, StoreError>> {
        match self.own_run(&put.run) {
            Ok(()) => self.store.put_push(put),
            Err(error) => refused(error),
        }
    }

    fn pushes(&self, run: &RunId) -> Result<Vec<Push>, StoreError> {
        self.own_run(run)?;
        self.store.pushes(run)
    }

    fn remove_push(&self, run: &RunId, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        match self.own_run(run) {
            Ok(()) => self.store.remove_push(run, id),
            Err(error) => refused(error),
        }
    }

    fn take_pushes(&self, _: TakePushes) -> BoxFuture<'static, Result<Vec<Push>, StoreError>> {
        refused(StoreError::Failed("a tenant does not deliver".to_owned()))
    }

    fn move_push(&self, _: MovePush) -> BoxFuture<'static, Result<bool, StoreError>> {
        refused(StoreError::Failed("a tenant does not deliver".to_owned()))
    }

    fn happened(&self, _: u64, _: usize) -> Result<Vec<RequestEvent>, StoreError> {
        Err(StoreError::Failed("a tenant does not deliver to webhooks".to_owned()))
    }

    fn timers(&self, run: &RunId) -> Result<Vec<(Due, Timestamp)>, StoreError> {
        self.own_run(run)?;
        self.store.timers(run)
    }

    fn prune(&self, _: Prune) -> BoxFuture<'static, Result<Pruned, StoreError>> {
        refused(StoreError::Failed("a tenant removes nothing".to_owned()))
    }

    fn take_duty(&self, _: TakeDuty) -> BoxFuture<'static, Result<bool, StoreError>> {
        refused(StoreError::Failed("a tenant does nothing for all".to_owned()))
    }

    fn take_in(&self, _: TakeIn) -> BoxFuture<'static, Result<TakenIn, StoreError>> {
        refused(StoreError::Failed("a tenant takes in no runs".to_owned()))
    }

    fn move_out(&self, _: MoveOut) -> BoxFuture<'static, Result<bool, StoreError>> {
        refused(StoreError::Failed("a tenant moves no runs".to_owned()))
    }

    fn examine(&self, _: Timestamp) -> Result<Examined, StoreError> {
        Err(StoreError::Failed("a tenant does not look into the store".to_owned()))
    }
}
