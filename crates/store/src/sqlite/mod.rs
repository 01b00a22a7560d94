//! Runs in a `SQLite` file, for one machine: any number of processes, one writing at a time.
//!
//! Everything that changes goes through the [`writer`]; one file per command says what it does. What
//! is read goes past it, on connections that see what is committed.

mod append;
mod audit;
mod carry;
mod claims;
mod clauses;
mod conversations;
mod create;
mod db;
mod decide;
mod deliver;
mod duties;
mod error;
mod events;
mod examine;
mod journal;
mod links;
mod migrate;
mod nodes;
mod open;
mod page;
mod probe;
pub(crate) mod project;
mod prune;
mod pushes;
mod readers;
mod requests;
mod rules;
mod runs;
mod take_in;
mod timers;
mod users;
mod views;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, params};
use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Input};
use signoff_core::policy::Grant;
use signoff_core::request::Request;
use signoff_core::time::{Span, Timestamp};
use signoff_core::{ConversationId, Name, RequestId, RunId, Tenant};

pub(crate) use self::carry::Source;
use self::claims::{ClaimReady, ClaimRun, Reap, Release, Renew};
use self::db::Db;
use self::deliver::Deliver;
use self::error::{json, read};
use self::links::KeepSecret;
use self::nodes::NodeLock;
pub use self::open::SqliteOptions;
use self::probe::Probe;
use self::readers::Readers;
use self::timers::FireDue;
use self::users::{PutUser, RemoveUser};
use self::writer::{Command, Writer};
use crate::audit::steered;
use crate::encoded::{AppendEntries, CreateRun};
use crate::entries::write_cursor;
use crate::{
    AddLink, Append, AuditEntry, BoxFuture, ChangeConversation, Claim, ConversationFilter,
    ConversationRecord, Created, Decide, Decided, DecidedAll, Definition, Due, EndGrant, Ends,
    Examined, Lease, LoadedRun, Mark, Marked, MoveOut, MovePush, MoveWebhook, NewRun, NodeId, Note,
    NoteLine, Page, PolicyPut, PolicyRecord, Prune, Pruned, Push, PutPolicy, PutPush, RequestEvent,
    RequestFilter, RunFilter, RunRecord, Scope, Store, StoreError, TakeDuty, TakeIn, TakePushes,
    TakeWebhook, TakenIn, User, View,
};

/// Runs in a `SQLite` file.
#[derive(Debug)]
pub struct SqliteStore {
    readers: Readers,
    /// Tells when others have written. Of its own, because it compares with what *it* saw last.
    watcher: Mutex<Connection>,
    // After those that read: the last connection to close tidies up, and a reading one cannot.
    writer: Writer,
    commits: Arc<AtomicU64>,
    path: PathBuf,
    node: NodeId,
    // Last: leases are good until everything above is closed.
    _alive: NodeLock,
}

impl SqliteStore {
    /// Opens a database, making it if it is not there.
    pub fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        let SqliteOptions { path, node, readers } = options;
        open::create_file(&path)?;
        let connection = open::open_writer(&path)?;
        migrate::migrate(&connection)?;
        let alive = NodeLock::hold(&path, &node)?;
        let readers = Readers::open(&path, readers)?;
        let watcher = Mutex::new(open::open_reader(&path)?);
        let commits = Arc::new(AtomicU64::new(0));
        let db = Db::new(connection, path.clone(), node.clone(), commits.clone());
        let writer = Writer::start(db)?;
        // What a killed process held is free before anybody asks for it.
        drop(writer.submit(Reap));
        Ok(Self { readers, watcher, writer, commits, path, node, _alive: alive })
    }

    /// The name of this process, for its leases.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// How many transactions this store has committed. Many commands share one.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// Moves everything from the write-ahead log to the database file, so that its size says how
    /// much is stored.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let connection = open::open_writer(&self.path)?;
        let busy: i64 =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy == 0 { Ok(()) } else { Err(StoreError::Failed("the database is in use".into())) }
    }

    /// Writes bytes that nobody reads, durably, at a place that nobody has used: the measure for how fast anything here
    /// can be.
    pub fn probe(
        &self,
        run: i64,
        seq: i64,
        body: Vec<u8>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        self.writer.submit(Probe { run, seq, body })
    }

    /// Queues a command that could be prepared.
    fn submit<C: Command>(
        &self,
        command: Result<C, StoreError>,
    ) -> BoxFuture<'static, Result<C::Output, StoreError>> {
        match command {
            Ok(command) => self.writer.submit(command),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl Store for SqliteStore {
    fn put_definition(&self, definition: Definition) -> BoxFuture<'static, Result<(), StoreError>> {
        self.writer.submit(definition)
    }

    fn definition(&self, hash: &str) -> Result<Option<Definition>, StoreError> {
        Ok(self
            .readers
            .get()
            .prepare_cached("SELECT id, body FROM definitions WHERE hash = ?1")?
            .query_row(params![hash], |row| {
                let id: String = row.get(0)?;
                Ok(Definition { hash: hash.into(), id: id.into(), body: row.get(1)? })
            })
            .optional()?)
    }

    fn create_run(&self, run: NewRun) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        self.submit(CreateRun::new(run))
    }

    fn load(&self, run: &RunId, until: Option<Seq>) -> Result<LoadedRun, StoreError> {
        journal::load(&self.readers.get(), run, until)
    }

    fn entries(&self, run: &RunId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        journal::entries(&self.readers.get(), run, after, limit)
    }

    fn inputs(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Input)>, StoreError> {
        journal::inputs_of(&self.readers.get(), run, after)
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
        let due: Option<i64> = self
            .readers
            .get()
            .prepare_cached("SELECT min(due_at) FROM timers")?
            .query_row([], |row| row.get(0))?;
        Ok(due.map(Timestamp))
    }

    fn changes(&self) -> Result<u64, StoreError> {
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let seen: i64 =
            watcher.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        // Both only grow, so their sum changes whenever one of them does.
        Ok(read(seen).wrapping_add(self.commits()))
    }

    fn request(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        Ok(requests::by_id(&self.readers.get(), id)?.map(|found| found.request))
    }

    fn requests(
        &self,
        filter: &RequestFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<Request>, StoreError> {
        requests::page(&self.readers.get(), filter, cursor, limit)
    }

    fn count_requests(&self, filter: &RequestFilter) -> Result<u64, StoreError> {
        requests::count(&self.readers.get(), filter)
    }

    fn run(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        Ok(runs::by_id(&self.readers.get(), id)?.map(|(_, record)| record))
    }

    fn runs(
        &self,
        filter: &RunFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<RunRecord>, StoreError> {
        runs::page(&self.readers.get(), filter, cursor, limit)
    }

    fn latest_run(
        &self,
        tenant: &Tenant,
        conversation: &ConversationId,
    ) -> Result<Option<RunRecord>, StoreError> {
        runs::latest(&self.readers.get(), tenant, conversation)
    }

    fn audit(
        &self,
        tenant: Option<&Tenant>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        audit::lines(&self.readers.get(), tenant, after, limit)
    }

    fn audit_back(
        &self,
        tenant: Option<&Tenant>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        audit::lines_back(&self.readers.get(), tenant, before, limit)
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
        rules::policy(&self.readers.get(), tenant)
    }

    fn add_grant(&self, grant: Grant) -> BoxFuture<'static, Result<(), StoreError>> {
        self.writer.submit(rules::AddGrant(grant))
    }

    fn grants(&self, tenant: &Tenant) -> Result<Vec<Grant>, StoreError> {
        rules::grants(&self.readers.get(), tenant)
    }

    fn end_grant(&self, end: EndGrant) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(end)
    }

    fn use_grant(&self, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(rules::UseGrant(id.clone()))
    }

    fn notes(&self, request: &RequestId) -> Result<Vec<Note>, StoreError> {
        users::notes(&self.readers.get(), request)
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
        conversations::by_id(&self.readers.get(), tenant, id)
    }

    fn conversations(
        &self,
        filter: &ConversationFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ConversationRecord>, StoreError> {
        conversations::page(&self.readers.get(), filter, cursor, limit)
    }

    fn put_user(&self, user: User, replace: bool) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(PutUser { user, replace })
    }

    fn remove_user(&self, name: &str) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(RemoveUser(name.to_owned()))
    }

    fn users(&self) -> Result<Vec<User>, StoreError> {
        users::all(&self.readers.get())
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
        users::noted(&self.readers.get(), after, limit)
    }

    fn ends(&self) -> Result<Ends, StoreError> {
        let reader = self.readers.get();
        let mut statement = reader.prepare_cached(
            "SELECT (SELECT coalesce(max(no), 0) FROM requests),
                    (SELECT coalesce(max(no), 0) FROM audit),
                    (SELECT coalesce(max(no), 0) FROM notes)",
        )?;
        let ends = statement.query_row([], |row| {
            let requests = write_cursor('q', read(row.get(0)?));
            Ok(Ends { requests, audit: read(row.get(1)?), notes: read(row.get(2)?) })
        })?;
        Ok(ends)
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
        events::posted(&self.readers.get(), webhook, request)
    }

    fn happened(&self, after: u64, limit: usize) -> Result<Vec<RequestEvent>, StoreError> {
        events::after(&self.readers.get(), after, limit)
    }

    fn put_push(&self, put: PutPush) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.writer.submit(put)
    }

    fn pushes(&self, run: &RunId) -> Result<Vec<Push>, StoreError> {
        pushes::of_run(&self.readers.get(), run)
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
        timers::of_run(&self.readers.get(), run)
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
        examine::examine(&self.readers.get(), now)
    }
}
