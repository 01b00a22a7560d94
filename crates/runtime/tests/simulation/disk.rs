//! A store that does to its callers what networks and disks do: it answers late, in another order
//! for other runs, with failures before and after the fact, or not at all.
//!
//! Every change waits in a queue of its caller and run until the simulation carries it out, so the
//! simulation decides what happens between any two of them.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use futures_util::FutureExt as _;
use signoff_core::journal::{Entry, Input};
use signoff_core::policy::Grant;
use signoff_core::request::Request;
use signoff_core::{ConversationId, Name, RequestId, RunId, Seq, Span, Tenant, Timestamp};
use signoff_store::{
    AddLink, Append, AuditEntry, BoxFuture, ChangeConversation, ConversationFilter,
    ConversationRecord, Created, Decide, Decided, DecidedAll, Definition, Due, EndGrant, Ends,
    Examined, Lease, LoadedRun, Mark, Marked, MemoryStore, MoveOut, MovePush, MoveWebhook, NewRun,
    NodeId, Note, NoteLine, Page, PolicyPut, PolicyRecord, Prune, Pruned, Push, PutPolicy, PutPush,
    RequestEvent, RequestFilter, RunFilter, RunRecord, Scope, Store, StoreError, TakeDuty, TakeIn,
    TakePushes, TakeWebhook, TakenIn, User, View,
};

use super::dice::Dice;
use super::planted::{Broken, Planted};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Done,
    /// It fails and changes nothing.
    Refused,
    /// It is carried out, and its caller is told that it failed.
    Misreported,
    /// It is carried out, and its caller never hears of it.
    Silent,
}

type Work = Box<dyn FnOnce(&Disk, Fate) + Send>;

/// What outlives every process.
pub struct Disk {
    pub store: MemoryStore,
    queues: Mutex<BTreeMap<(usize, String), VecDeque<Work>>>,
    read_faults: Mutex<(Dice, u64)>,
    /// What is wrong with it on purpose.
    pub planted: Planted,
    /// How many appends were refused because their writer had lost the run.
    pub fenced: AtomicUsize,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disk")
    }
}

impl Disk {
    pub fn new(dice: Dice, read_faults: u64, broken: Broken) -> Self {
        Self {
            store: MemoryStore::new(),
            queues: Mutex::default(),
            read_faults: Mutex::new((dice, read_faults)),
            planted: Planted::new(broken),
            fenced: AtomicUsize::new(0),
        }
    }

    /// From here on, reading always works.
    pub fn heal(&self) {
        self.read_faults.lock().unwrap().1 = 0;
    }

    /// The callers that have something waiting.
    pub fn waiting(&self) -> Vec<(usize, String)> {
        self.queues.lock().unwrap().keys().cloned().collect()
    }

    /// Carries out the oldest call in a queue.
    pub fn carry_out(&self, queue: &(usize, String), fate: Fate) {
        let work = {
            let mut queues = self.queues.lock().unwrap();
            let Some(waiting) = queues.get_mut(queue) else { return };
            let work = waiting.pop_front();
            if waiting.is_empty() {
                queues.remove(queue);
            }
            work
        };
        if let Some(work) = work {
            work(self, fate);
            self.planted.written(&self.store);
        }
    }

    /// The whole machine is gone, with what no disk has.
    pub fn lose_power(&self) {
        self.planted.forget_unsynced(&self.store);
    }

    /// A process is gone: of each of its queues, a beginning was already on its way.
    pub fn cut_off(&self, process: usize, dice: &mut Dice) {
        let mut queues = self.queues.lock().unwrap();
        for ((caller, _), waiting) in queues.iter_mut() {
            if *caller == process {
                let kept = dice.below(waiting.len() + 1);
                waiting.truncate(kept);
            }
        }
        queues.retain(|_, waiting| !waiting.is_empty());
    }
}

/// The memory store answers at once.
pub fn now<T>(answer: BoxFuture<'static, Result<T, StoreError>>) -> Result<T, StoreError> {
    answer.now_or_never().unwrap_or_else(|| Err(StoreError::Failed("not at once".to_owned())))
}

/// The disk as one process sees it.
#[derive(Clone, Debug)]
pub struct Faulty {
    pub process: usize,
    pub disk: Arc<Disk>,
}

struct Slot<T> {
    answer: Option<Result<T, StoreError>>,
    waker: Option<Waker>,
}

impl Faulty {
    fn submit<T: Send + 'static>(
        &self,
        run: &str,
        change: impl FnOnce(&Disk) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let slot = Arc::new(Mutex::new(Slot { answer: None, waker: None }));
        let theirs = Arc::clone(&slot);
        let work: Work = Box::new(move |disk, fate| {
            let failed = || Err(StoreError::Failed("simulated".to_owned()));
            let answer = match fate {
                Fate::Done => change(disk),
                Fate::Refused => failed(),
                Fate::Misreported => change(disk).and_then(|_| failed()),
                Fate::Silent => {
                    let _ = change(disk);
                    return;
                }
            };
            let waker = {
                let mut slot = theirs.lock().unwrap();
                slot.answer = Some(answer);
                slot.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        let queue = (self.process, run.to_owned());
        self.disk.queues.lock().unwrap().entry(queue).or_default().push_back(work);
        Box::pin(poll_fn(move |task| {
            let mut slot = slot.lock().unwrap();
            if let Some(answer) = slot.answer.take() {
                return Poll::Ready(answer);
            }
            slot.waker = Some(task.waker().clone());
            Poll::Pending
        }))
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        {
            let mut faults = self.disk.read_faults.lock().unwrap();
            let chance = faults.1;
            if faults.0.per_mille(chance) {
                return Err(StoreError::Failed("simulated".to_owned()));
            }
        }
        read(&self.disk.store)
    }
}

impl Store for Faulty {
    fn put_definition(&self, definition: Definition) -> BoxFuture<'static, Result<(), StoreError>> {
        self.submit("", |disk| now(disk.store.put_definition(definition)))
    }

    fn definition(&self, hash: &str) -> Result<Option<Definition>, StoreError> {
        self.read(|store| store.definition(hash))
    }

    fn create_run(&self, run: NewRun) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        let id = run.id.clone();
        self.submit(id.as_str(), |disk| now(disk.store.create_run(run)))
    }

    fn load(&self, run: &RunId, until: Option<Seq>) -> Result<LoadedRun, StoreError> {
        self.read(|store| store.load(run, until))
    }

    fn entries(&self, run: &RunId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.read(|store| store.entries(run, after, limit))
    }

    fn inputs(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Input)>, StoreError> {
        self.read(|store| store.inputs(run, after))
    }

    fn append(&self, append: Append) -> BoxFuture<'static, Result<(), StoreError>> {
        let run = append.lease.run.clone();
        let answer = self.submit(run.as_str(), |disk| disk.append(append));
        self.disk.planted.maybe_too_early(answer)
    }

    fn deliver(
        &self,
        run: &RunId,
        input: Input,
        at: Timestamp,
    ) -> BoxFuture<'static, Result<bool, StoreError>> {
        let id = run.clone();
        self.submit(run.as_str(), move |disk| now(disk.store.deliver(&id, input, at)))
    }

    fn decide(&self, decide: Decide) -> BoxFuture<'static, Result<Decided, StoreError>> {
        let run = decide.request.split().map_or_else(String::new, |(run, _)| run.to_string());
        self.submit(&run, |disk| disk.decide(decide))
    }

    fn claim(
        &self,
        scope: Scope,
        node: &NodeId,
        at: Timestamp,
        ttl: Span,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>> {
        let node = node.clone();
        self.submit("", move |disk| now(disk.store.claim(scope, &node, at, ttl, limit)))
    }

    fn claim_run(
        &self,
        run: &RunId,
        node: &NodeId,
        at: Timestamp,
        ttl: Span,
    ) -> BoxFuture<'static, Result<Option<Lease>, StoreError>> {
        let (id, node) = (run.clone(), node.clone());
        self.submit(run.as_str(), move |disk| now(disk.store.claim_run(&id, &node, at, ttl)))
    }

    fn renew(
        &self,
        leases: Vec<Lease>,
        until: Timestamp,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>> {
        let run = leases.first().map_or_else(String::new, |lease| lease.run.to_string());
        self.submit(&run, move |disk| now(disk.store.renew(leases, until)))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'static, Result<(), StoreError>> {
        let run = lease.run.clone();
        self.submit(run.as_str(), |disk| now(disk.store.release(lease)))
    }

    fn fire_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> BoxFuture<'static, Result<usize, StoreError>> {
        let node = self.process;
        self.submit("", move |disk| disk.fire_due(node, at, limit))
    }

    fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(MemoryStore::next_due)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.read(MemoryStore::changes)
    }

    fn request(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        self.read(|store| store.request(id))
    }

    fn requests(
        &self,
        filter: &RequestFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<Request>, StoreError> {
        self.read(|store| store.requests(filter, cursor, limit))
    }

    fn count_requests(&self, filter: &RequestFilter) -> Result<u64, StoreError> {
        self.read(|store| store.count_requests(filter))
    }

    fn run(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        self.read(|store| store.run(id))
    }

    fn runs(
        &self,
        filter: &RunFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<RunRecord>, StoreError> {
        self.read(|store| store.runs(filter, cursor, limit))
    }

    fn latest_run(
        &self,
        tenant: &Tenant,
        conversation: &ConversationId,
    ) -> Result<Option<RunRecord>, StoreError> {
        self.read(|store| store.latest_run(tenant, conversation))
    }

    fn audit(
        &self,
        tenant: Option<&Tenant>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(|store| store.audit(tenant, after, limit))
    }

    fn audit_back(
        &self,
        tenant: Option<&Tenant>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(|store| store.audit_back(tenant, before, limit))
    }

    fn mark(&self, mark: Mark) -> BoxFuture<'static, Result<Marked, StoreError>> {
        self.disk.store.mark(mark)
    }

    fn notes(&self, request: &RequestId) -> Result<Vec<Note>, StoreError> {
        self.read(|store| store.notes(request))
    }

    fn change_conversation(
        &self,
        change: ChangeConversation,
    ) -> BoxFuture<'static, Result<ConversationRecord, StoreError>> {
        self.disk.store.change_conversation(change)
    }

    fn conversation(
        &self,
        tenant: &Tenant,
        id: &ConversationId,
    ) -> Result<Option<ConversationRecord>, StoreError> {
        self.read(|store| store.conversation(tenant, id))
    }

    fn conversations(
        &self,
        filter: &ConversationFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ConversationRecord>, StoreError> {
        self.read(|store| store.conversations(filter, cursor, limit))
    }

    fn decide_all(
        &self,
        decides: Vec<Decide>,
    ) -> BoxFuture<'static, Result<DecidedAll, StoreError>> {
        self.submit("", |disk| now(disk.store.decide_all(decides)))
    }

    fn put_policy(&self, put: PutPolicy) -> BoxFuture<'static, Result<PolicyPut, StoreError>> {
        self.disk.store.put_policy(put)
    }

    fn policy(&self, tenant: &Tenant) -> Result<Option<PolicyRecord>, StoreError> {
        self.read(|store| store.policy(tenant))
    }

    fn add_grant(&self, grant: Grant) -> BoxFuture<'static, Result<(), StoreError>> {
        self.disk.store.add_grant(grant)
    }

    fn grants(&self, tenant: &Tenant) -> Result<Vec<Grant>, StoreError> {
        self.read(|store| store.grants(tenant))
    }

    fn end_grant(&self, end: EndGrant) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.end_grant(end)
    }

    fn use_grant(&self, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        let id = id.clone();
        self.submit("", move |disk| now(disk.store.use_grant(&id)))
    }

    fn put_user(&self, user: User, replace: bool) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.put_user(user, replace)
    }

    fn remove_user(&self, name: &str) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.remove_user(name)
    }

    fn users(&self) -> Result<Vec<User>, StoreError> {
        self.read(MemoryStore::users)
    }

    fn add_link(&self, link: AddLink) -> BoxFuture<'static, Result<(), StoreError>> {
        self.disk.store.add_link(link)
    }

    fn view(&self, view: View) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.view(view)
    }

    fn secret(&self, name: &str, new: String) -> BoxFuture<'static, Result<String, StoreError>> {
        self.disk.store.secret(name, new)
    }

    fn noted(&self, after: u64, limit: usize) -> Result<Vec<NoteLine>, StoreError> {
        self.read(|store| store.noted(after, limit))
    }

    fn take_webhook(
        &self,
        take: TakeWebhook,
    ) -> BoxFuture<'static, Result<Option<u64>, StoreError>> {
        self.disk.store.take_webhook(take)
    }

    fn move_webhook(&self, moved: MoveWebhook) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.move_webhook(moved)
    }

    fn posted(&self, webhook: &Name, request: &RequestId) -> Result<Option<String>, StoreError> {
        self.read(|store| store.posted(webhook, request))
    }

    fn happened(&self, after: u64, limit: usize) -> Result<Vec<RequestEvent>, StoreError> {
        self.read(|store| store.happened(after, limit))
    }

    fn ends(&self) -> Result<Ends, StoreError> {
        self.read(MemoryStore::ends)
    }

    fn put_push(&self, put: PutPush) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.put_push(put)
    }

    fn pushes(&self, run: &RunId) -> Result<Vec<Push>, StoreError> {
        self.read(|store| store.pushes(run))
    }

    fn remove_push(&self, run: &RunId, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.remove_push(run, id)
    }

    fn take_pushes(&self, take: TakePushes) -> BoxFuture<'static, Result<Vec<Push>, StoreError>> {
        self.disk.store.take_pushes(take)
    }

    fn move_push(&self, moved: MovePush) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.move_push(moved)
    }

    fn timers(&self, run: &RunId) -> Result<Vec<(Due, Timestamp)>, StoreError> {
        self.read(|store| store.timers(run))
    }

    fn prune(&self, prune: Prune) -> BoxFuture<'static, Result<Pruned, StoreError>> {
        self.disk.store.prune(prune)
    }

    fn take_duty(&self, take: TakeDuty) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.take_duty(take)
    }

    fn take_in(&self, take: TakeIn) -> BoxFuture<'static, Result<TakenIn, StoreError>> {
        self.disk.store.take_in(take)
    }

    fn move_out(&self, out: MoveOut) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.disk.store.move_out(out)
    }

    fn examine(&self, now: Timestamp) -> Result<Examined, StoreError> {
        self.read(|store| store.examine(now))
    }
}
