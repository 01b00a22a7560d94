//! The contract, call by call: what changes something goes to the writer, what reads goes past it.

use std::sync::{Arc, PoisonError};

use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Input};
use signoff_core::policy::Grant;
use signoff_core::request::Request;
use signoff_core::time::{Span, Timestamp};
use signoff_core::{ConversationId, Name, RequestId, RunId, Tenant};

use super::claims::{ClaimReady, ClaimRun, Release, Renew};
use super::columns::Columns as _;
use super::deliver::Deliver;
use super::error::json;
use super::links::KeepSecret;
use super::timers::FireDue;
use super::users::{PutUser, RemoveUser};
use super::{
    PostgresStore, audit, conversations, create, decide, events, examine, journal, pushes,
    requests, rules, runs, timers, users,
};
use crate::audit::steered;
use crate::encoded::{AppendEntries, CreateRun};
use crate::entries::write_cursor;
use crate::{
    AddLink, Append, AuditEntry, BoxFuture, ChangeConversation, Claim, ConversationFilter,
    ConversationRecord, Created, Decide, Decided, DecidedAll, Definition, Due, EndGrant, Ends,
    Examined, Lease, LoadedRun, Mark, Marked, MoveOut, MovePush, MoveWebhook, NewRun, NodeId, Note,
    NoteLine, Page, PolicyPut, PolicyRecord, Prune, Pruned, Push, PutPolicy, PutPush, RequestEvent,
    RequestFilter, RunFilter, RunRecord, Scope, Store, StoreError, TakeDuty, TakeIn, TakePushes,
    TakeWebhook, TakenIn, User, View, Wire,
};

impl Store for PostgresStore {
    fn wire(&self) -> Option<Arc<dyn Wire>> {
        Some(Arc::new(self.words.clone()))
    }

    fn put_definition(&self, definition: Definition) -> BoxFuture<'static, Result<(), StoreError>> {
        self.writer.submit(definition)
    }

    fn definition(&self, hash: &str) -> Result<Option<Definition>, StoreError> {
        self.read(async |conn| create::definition(conn, hash).await)
    }

    fn create_run(&self, run: NewRun) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        self.submit(CreateRun::new(run))
    }

    fn load(&self, run: &RunId, until: Option<Seq>) -> Result<LoadedRun, StoreError> {
        self.read(async |conn| journal::load(conn, run, until).await)
    }

    fn entries(&self, run: &RunId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.read(async |conn| journal::entries(conn, run, after, limit).await)
    }

    fn inputs(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Input)>, StoreError> {
        self.read(async |conn| journal::inputs_of(conn, run, after).await)
    }

    fn append(&self, append: Append) -> BoxFuture<'static, Result<(), StoreError>> {
        self.submit(AppendEntries::new(append))
    }

    fn deliver(
        &self,
        run: &RunId,
        input: Input,
        at: Timestamp,
    ) -> BoxFuture<'static, Result<bool, StoreError>> {
        let line = steered(&input);
        self.submit(json(&input).map(|input| Deliver { run: run.clone(), input, line, at }))
    }

    fn decide(&self, decide: Decide) -> BoxFuture<'static, Result<Decided, StoreError>> {
        self.writer.submit(decide)
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
        self.writer.submit(ClaimReady { scope, claim, now, limit })
    }

    fn claim_run(
        &self,
        run: &RunId,
        node: &NodeId,
        now: Timestamp,
        ttl: Span,
    ) -> BoxFuture<'static, Result<Option<Lease>, StoreError>> {
        let claim = Claim { node: node.clone(), until: now.plus(ttl) };
        self.writer.submit(ClaimRun { run: run.clone(), claim, now })
    }

    fn renew(
        &self,
        leases: Vec<Lease>,
        until: Timestamp,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>> {
        self.writer.submit(Renew { leases, until })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'static, Result<(), StoreError>> {
        self.writer.submit(Release(lease))
    }

    fn fire_due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'static, Result<usize, StoreError>> {
        self.writer.submit(FireDue { now, limit })
    }

    fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        // Looked for many times a second, and it seldom changes.
        let changes = self.told.seen();
        let mut known = self.next_due.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, due)) = *known
            && then == changes
        {
            return Ok(due);
        }
        let due = self.read(async |conn| timers::next_due(conn).await)?;
        *known = Some((changes, due));
        Ok(due)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        Ok(self.told.seen())
    }

    fn request(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        let found = self.read(async |conn| requests::by_id(conn, id).await)?;
        Ok(found.map(|found| found.request))
    }

    fn requests(
        &self,
        filter: &RequestFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<Request>, StoreError> {
        self.read(async |conn| requests::page(conn, filter, cursor, limit).await)
    }

    fn count_requests(&self, filter: &RequestFilter) -> Result<u64, StoreError> {
        self.read(async |conn| requests::count(conn, filter).await)
    }

    fn run(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let found = self.read(async |conn| runs::by_id(conn, id).await)?;
        Ok(found.map(|(_, record)| record))
    }

    fn runs(
        &self,
        filter: &RunFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<RunRecord>, StoreError> {
        self.read(async |conn| runs::page(conn, filter, cursor, limit).await)
    }

    fn latest_run(
        &self,
        tenant: &Tenant,
        conversation: &ConversationId,
    ) -> Result<Option<RunRecord>, StoreError> {
        self.read(async |conn| runs::latest(conn, tenant, conversation).await)
    }

    fn audit(
        &self,
        tenant: Option<&Tenant>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(async |conn| audit::lines(conn, tenant, after, limit).await)
    }

    fn audit_back(
        &self,
        tenant: Option<&Tenant>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(async |conn| audit::lines_back(conn, tenant, before, limit).await)
    }

    fn mark(&self, mark: Mark) -> BoxFuture<'static, Result<Marked, StoreError>> {
        self.writer.submit(mark)
    }

    fn decide_all(
        &self,
        decides: Vec<Decide>,
    ) -> BoxFuture<'static, Result<DecidedAll, StoreError>> {
        self.writer.submit(decide::DecideAll(decides))
    }

    fn put_policy(&self, put: PutPolicy) -> BoxFuture<'static, Result<PolicyPut, StoreError>> {
        self.writer.submit(put)
    }

    fn policy(&self, tenant: &Tenant) -> Result<Option<PolicyRecord>, StoreError> {
        self.read(async |conn| rules::policy(conn, tenant).await)
    }

    fn add_grant(&self, grant: Grant) -> BoxFuture<'static, Result<(), StoreError>> {
        self.writer.submit(rules::AddGrant(grant))
    }

    fn grants(&self, tenant: &Tenant) -> Result<Vec<Grant>, StoreError> {
        self.read(async |conn| rules::grants(conn, tenant).await)
    }

    fn end_grant(&self, end: EndGrant) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(end)
    }

    fn use_grant(&self, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(rules::UseGrant(id.clone()))
    }

    fn notes(&self, request: &RequestId) -> Result<Vec<Note>, StoreError> {
        self.read(async |conn| users::notes(conn, request).await)
    }

    fn change_conversation(
        &self,
        change: ChangeConversation,
    ) -> BoxFuture<'static, Result<ConversationRecord, StoreError>> {
        self.writer.submit(change)
    }

    fn conversation(
        &self,
        tenant: &Tenant,
        id: &ConversationId,
    ) -> Result<Option<ConversationRecord>, StoreError> {
        self.read(async |conn| conversations::by_id(conn, tenant, id).await)
    }

    fn conversations(
        &self,
        filter: &ConversationFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ConversationRecord>, StoreError> {
        self.read(async |conn| conversations::page(conn, filter, cursor, limit).await)
    }

    fn put_user(&self, user: User, replace: bool) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(PutUser { user, replace })
    }

    fn remove_user(&self, name: &str) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(RemoveUser(name.to_owned()))
    }

    fn users(&self) -> Result<Vec<User>, StoreError> {
        self.read(async |conn| users::all(conn).await)
    }

    fn add_link(&self, link: AddLink) -> BoxFuture<'static, Result<(), StoreError>> {
        self.writer.submit(link)
    }

    fn view(&self, view: View) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(view)
    }

    fn secret(&self, name: &str, new: String) -> BoxFuture<'static, Result<String, StoreError>> {
        self.writer.submit(KeepSecret { name: name.to_owned(), new })
    }

    fn noted(&self, after: u64, limit: usize) -> Result<Vec<NoteLine>, StoreError> {
        self.read(async |conn| users::noted(conn, after, limit).await)
    }

    fn ends(&self) -> Result<Ends, StoreError> {
        self.read(async |conn| {
            let row = conn.row("SELECT requests, audit, notes FROM state", &[]).await?;
            let Some(row) = row else {
                return Err(StoreError::Corrupt("the table `state` has no row".to_owned()).into());
            };
            let requests = write_cursor('q', row.number(0)?);
            Ok(Ends { requests, audit: row.number(1)?, notes: row.number(2)? })
        })
    }

    fn take_webhook(
        &self,
        take: TakeWebhook,
    ) -> BoxFuture<'static, Result<Option<u64>, StoreError>> {
        self.writer.submit(take)
    }

    fn move_webhook(&self, moved: MoveWebhook) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(moved)
    }

    fn posted(&self, webhook: &Name, request: &RequestId) -> Result<Option<String>, StoreError> {
        self.read(async |conn| events::posted(conn, webhook, request).await)
    }

    fn happened(&self, after: u64, limit: usize) -> Result<Vec<RequestEvent>, StoreError> {
        self.read(async |conn| events::after(conn, after, limit).await)
    }

    fn put_push(&self, put: PutPush) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(put)
    }

    fn pushes(&self, run: &RunId) -> Result<Vec<Push>, StoreError> {
        self.read(async |conn| pushes::of_run(conn, run).await)
    }

    fn remove_push(&self, run: &RunId, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(pushes::RemovePush { run: run.clone(), id: id.clone() })
    }

    fn take_pushes(&self, take: TakePushes) -> BoxFuture<'static, Result<Vec<Push>, StoreError>> {
        self.writer.submit(take)
    }

    fn move_push(&self, moved: MovePush) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(moved)
    }

    fn timers(&self, run: &RunId) -> Result<Vec<(Due, Timestamp)>, StoreError> {
        self.read(async |conn| timers::of_run(conn, run).await)
    }

    fn prune(&self, prune: Prune) -> BoxFuture<'static, Result<Pruned, StoreError>> {
        self.writer.submit(prune)
    }

    fn take_duty(&self, take: TakeDuty) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(take)
    }

    fn take_in(&self, take: TakeIn) -> BoxFuture<'static, Result<TakenIn, StoreError>> {
        self.writer.submit(take)
    }

    fn move_out(&self, out: MoveOut) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(out)
    }

    fn examine(&self, now: Timestamp) -> Result<Examined, StoreError> {
        self.read(async |conn| examine::examine(conn, now).await)
    }
}
