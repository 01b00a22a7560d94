//! Runs in a `PostgreSQL` database, for several machines: any number of nodes, each of which can do everything.
//!
//! Everything that changes goes through the [`writer`]; one file per command says what it does. A batch begins by locking
//! the one row of the table `state`, so one batch at a time is committed over all nodes, and numbers grow in the order of
//! commits. What is read goes past it, on connections that see what is committed. The [`listener`] says that this node is
//! alive and hears what others change.

mod append;
mod audit;
mod batch;
mod carry;
mod claims;
mod clauses;
mod columns;
mod conn;
mod connect;
mod conversations;
mod create;
mod decide;
mod deliver;
mod error;
mod events;
mod examine;
mod fence;
mod journal;
mod links;
mod listener;
mod migrate;
mod nodes;
mod options;
mod page;
mod project;
mod prune;
mod pushes;
mod readers;
mod requests;
mod rules;
mod runs;
mod take_in;
mod text;
mod timers;
mod tls;
mod touches;
mod users;
mod wait;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Input};
use signoff_core::policy::Grant;
use signoff_core::request::Request;
use signoff_core::time::{Span, Timestamp};
use signoff_core::{ConversationId, Name, RequestId, RunId, Tenant};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use self::batch::{Memory, PREPARED};
use self::claims::{ClaimReady, ClaimRun, Release, Renew};
use self::columns::Columns as _;
use self::conn::Conn;
use self::connect::{Connector, Work};
use self::deliver::Deliver;
use self::error::{Stop, json};
use self::links::KeepSecret;
use self::listener::{Listener, Told};
pub use self::options::PostgresOptions;
use self::readers::Readers;
use self::timers::FireDue;
use self::users::{PutUser, RemoveUser};
use self::wait::wait_for;
use self::writer::{Command, Scribe, Writer};
use crate::encoded::{AppendEntries, CreateRun};
use crate::entries::write_cursor;
use crate::{
    AddLink, Append, AuditEntry, BoxFuture, ChangeConversation, Claim, ConversationFilter,
    ConversationRecord, Created, Decide, Decided, DecidedAll, Definition, Due, EndGrant, Ends,
    Examined, Lease, LoadedRun, Mark, Marked, MoveOut, MovePush, MoveWebhook, NewRun, NodeId, Note,
    NoteLine, Page, PolicyPut, PolicyRecord, Prune, Pruned, Push, PutPolicy, PutPush, RequestEvent,
    RequestFilter, RunFilter, RunRecord, Scope, Store, StoreError, TakeIn, TakePushes, TakeWebhook,
    TakenIn, User,
};

/// Runs in a `PostgreSQL` database.
#[derive(Debug)]
pub struct PostgresStore {
    // First: what waits is written while everything else is there.
    writer: Writer,
    readers: Readers,
    connector: Connector,
    told: Told,
    node: NodeId,
    /// When the next thing is due, and how many changes there were when that was so.
    next_due: Mutex<Option<(u64, Option<Timestamp>)>>,
    /// Drives the connections.
    runtime: Option<Runtime>,
}

impl PostgresStore {
    /// Opens a database, bringing its tables to what this program knows.
    pub fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("signoff-postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
        let opened = Self::open_on(&runtime, options);
        match opened {
            Ok(mut store) => {
                store.runtime = Some(runtime);
                Ok(store)
            }
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    fn open_on(runtime: &Runtime, options: PostgresOptions) -> Result<Self, StoreError> {
        let node = options.node.clone();
        let readers = options.readers;
        let connector = Connector::new(runtime.handle().clone(), options)?;
        let (conn, database) = wait_for(prepared(&connector))?;
        let lock = nodes::lock_key(&database, &node);
        let told = Told::default();
        let listener = Listener {
            connector: connector.clone(),
            node: node.clone(),
            lock,
            database,
            told: told.clone(),
        };
        let (began, listens) = oneshot::channel();
        runtime.spawn(listener.run(began));
        wait_for(listens)
            .unwrap_or_else(|_| Err(StoreError::Failed("the listener is gone".to_owned())))?;
        let memory = Memory::new(node.clone(), lock);
        let writer = Writer::start(Scribe::new(connector.clone(), memory, told.clone(), conn))?;
        let readers = Readers::new(connector.clone(), readers);
        let next_due = Mutex::default();
        Ok(Self { writer, readers, connector, told, node, next_due, runtime: None })
    }

    /// The name of this process, for its leases.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// How many transactions this store has committed. Many commands share one.
    pub fn commits(&self) -> u64 {
        self.told.commits()
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

    // By value, so that callers write no `&` before each closure.
    #[allow(clippy::needless_pass_by_value)]
    fn read<T>(&self, what: impl AsyncFn(&Conn) -> Result<T, Stop>) -> Result<T, StoreError> {
        self.readers.read(&what)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.connector.close();
        self.writer.close();
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped inside another runtime, where waiting for it is not allowed.
            runtime.shutdown_background();
        }
    }
}

/// A connection to write by, to a database that has its tables, and the id of that.
async fn prepared(connector: &Connector) -> Result<(Conn, String), Stop> {
    let conn = connector.connect(Work::Write).await?;
    Connector::check(&conn).await?;
    migrate::migrate(&conn).await?;
    let row = conn.row("SELECT id FROM state", &[]).await?;
    let Some(row) = row else {
        return Err(StoreError::Corrupt("the table `state` has no row".to_owned()).into());
    };
    conn.prepare(&PREPARED).await?;
    Ok((conn, row.text(0)?))
}

impl Store for PostgresStore {
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
        _at: Timestamp,
    ) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.submit(json(&input).map(|input| Deliver { run: run.clone(), input }))
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
