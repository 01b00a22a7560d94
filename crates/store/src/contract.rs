//! The contract between runs and whatever keeps them.
//!
//! **Atomicity.** Each call that changes something is one transaction: all of it is there afterwards,
//! or nothing. When a call returns `Ok`, its change survives the death of the process and of the
//! machine (for a store that is durable at all).
//!
//! **Fencing.** A run has one writer at a time. [`Store::append`] names the lease it writes under and
//! the position it believes to be last; if either is no longer true, nothing is written and the
//! writer is told [`StoreError::Fenced`]. It must then drop what it holds in memory of that run.
//!
//! **Ordering.** Entries of a run are numbered from 1 without gaps, and are read back in that order.
//! Inputs of a run are numbered in the order they were accepted. Appends that one caller submits in
//! order (without waiting for each) are carried out in that order.
//!
//! **Idempotence.** Creating a run whose id exists, putting a definition that is there, and deciding
//! a request again change nothing and say so.
//!
//! **Time.** A store reads no clock: the caller says what time it is. (One with a clock of its own,
//! shared by several machines, may use that for leases instead.)

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use signoff_core::deciders::Deciders;
use signoff_core::id::{ActivationId, ConversationId, Key, Name, RequestId, RunId, Seq, Tenant};
use signoff_core::journal::{Entry, ErrorInfo, Input, Outcome};
use signoff_core::policy::Grant;
use signoff_core::request::{Request, RequestKind, RequestStatus, Risk};
use signoff_core::state::RunStatus;
use signoff_core::time::{Span, Timestamp};
use signoff_core::{Actor, Decision, Sent};

use crate::conversation::{ChangeConversation, ConversationFilter, ConversationRecord};
use crate::events::{MoveWebhook, RequestEvent, TakeWebhook};
use crate::exported::{MoveOut, TakeIn, TakenIn};
use crate::links::AddLink;
use crate::people::{Mark, Marked, Note, NoteLine, User};
use crate::pushes::{MovePush, Push, PutPush, TakePushes};
use crate::rules::{EndGrant, PolicyPut, PolicyRecord, PutPolicy};
use crate::upkeep::{Examined, Prune, Pruned, TakeDuty};
use crate::views::View;

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The name of one process that drives runs. Unique for each start of a process.
pub type NodeId = std::sync::Arc<str>;

/// What a store can fail with.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else writes this run now, or has written it since it was read.
    #[error("run {run} is written by somebody else now")]
    Fenced {
        /// Which run.
        run: RunId,
    },
    /// No such run.
    #[error("there is no run {0}")]
    UnknownRun(RunId),
    /// No such request.
    #[error("there is no request {0}")]
    UnknownRequest(RequestId),
    /// Another run has begun in the conversation.
    #[error("the conversation has gone on with run {run}")]
    ConversationMoved {
        /// Which run.
        run: RunId,
    },
    /// A cursor that this list did not give.
    #[error("this is not a cursor of this list")]
    BadCursor,
    /// What is stored cannot be read.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// The database was written by a newer version of this program.
    #[error("the database has schema version {found}, this program knows up to {known}")]
    TooNew {
        /// What the database says.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// The storage itself failed.
    #[error("the store failed: {0}")]
    Failed(String),
}

/// A stored workflow definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Its content hash.
    pub hash: Name,
    /// The workflow's id.
    pub id: Name,
    /// The definition as canonical JSON.
    pub body: String,
}

/// The right to write one run, until it expires or somebody else gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Who holds it.
    pub node: NodeId,
    /// Grows each time the run is claimed.
    pub epoch: u64,
}

/// How to take a lease along with another change.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who takes it.
    pub node: NodeId,
    /// Until when.
    pub until: Timestamp,
}

/// A run to create.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// Its first entries, from position 1; the very first says how it [started](signoff_core::journal::Started).
    pub entries: Vec<Entry>,
    /// Where it stands after them.
    pub status: RunStatus,
    /// When the run's own time limit ends, if it has one.
    pub deadline: Option<Timestamp>,
    /// Take a lease on it right away.
    pub claim: Option<Claim>,
    /// What must have been in its conversation until now.
    pub follows: Follows,
    /// The metadata of its conversation, if nothing is kept of that yet.
    pub about: Option<Map<String, Value>>,
}

/// What a new run finds in its conversation. Refused with [`StoreError::ConversationMoved`] if it is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Whatever there is.
    Anything,
    /// This run as the latest that is not part of another; none at all, if none is named.
    Exactly(Option<RunId>),
}

/// Entries to add to a run.
#[derive(Clone, Debug)]
pub struct Append {
    /// The right to do so.
    pub lease: Lease,
    /// The position of the last entry there is; the first new one follows it.
    pub expected: Seq,
    /// The entries. May be empty, to change only the rest.
    pub entries: Vec<Entry>,
    /// Inputs up to this number are in these or earlier entries and can be forgotten.
    pub consumed: u64,
    /// Where the run stands afterwards.
    pub status: RunStatus,
    /// What becomes of the lease.
    pub rest: Rest,
    /// A state to load from instead of the whole journal.
    pub snapshot: Option<Snapshot>,
}

/// What becomes of the lease after an append.
#[derive(Clone, Debug)]
pub enum Rest {
    /// The writer goes on.
    Keep,
    /// Nothing can move. The lease ends; the run is ready again at once if an input waits that was not consumed.
    Park,
    /// The run is over. The lease ends; pending requests and timers go; a waiting parent is told, and
    /// so are the runs that are part of this one and not over yet.
    End(End),
}

/// How a run ended, for the run that waits for it.
#[derive(Clone, Debug)]
pub struct End {
    /// What the parent, if there is one, gets as the result.
    pub outcome: Outcome,
    /// Why it failed, if it did.
    pub error: Option<ErrorInfo>,
    /// The person who stopped it, if one did.
    pub stopped_by: Option<Actor>,
}

impl End {
    /// What the runs that are part of one that is over are told.
    pub fn for_children() -> Input {
        Input::Cancel {
            by: Actor::new("system"),
            reason: Some("the run it is part of is over".to_owned()),
        }
    }
}

/// The fold of a journal up to a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The position.
    pub seq: Seq,
    /// The encoded state.
    pub body: Vec<u8>,
}

/// Everything needed to go on with a run.
#[derive(Clone, Debug)]
pub struct LoadedRun {
    /// What the store knows of it.
    pub record: RunRecord,
    /// A state to begin with.
    pub snapshot: Option<Snapshot>,
    /// The entries after it, or all of them.
    pub entries: Vec<Entry>,
    /// What reached the run from outside and is not in the journal yet, with its number.
    pub inputs: Vec<(u64, Input)>,
}

/// A run as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Its id.
    pub id: RunId,
    /// The run at the top; its own id, if it is not part of another.
    pub root: RunId,
    /// The workflow's id.
    pub workflow: Name,
    /// The content hash of its definition.
    pub version: Name,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Whose it is.
    pub tenant: Tenant,
    /// Where it stands.
    pub status: RunStatus,
    /// The position of its last entry.
    pub head: Seq,
    /// Why it failed, if it did.
    pub error: Option<ErrorInfo>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its journal last grew.
    pub updated_at: Timestamp,
}

/// Which runs to claim.
#[derive(Clone, Debug)]
pub enum Scope {
    /// Any.
    All,
    /// This run and those that are part of it.
    Tree(RunId),
}

/// A decision to take.
#[derive(Clone, Debug)]
pub struct Decide {
    /// On which request.
    pub request: RequestId,
    /// The decision. Already checked against the request.
    pub decision: Decision,
    /// The same as the audit has it: without secrets.
    pub recorded: Value,
    /// By whom.
    pub by: Actor,
    /// The roles they have.
    pub roles: Vec<Name>,
    /// Now.
    pub at: Timestamp,
    /// The version of the request they saw, if that matters.
    pub version: Option<u32>,
    /// Who must agree, if it takes more than one: those of the request.
    pub deciders: Option<Box<Deciders>>,
    /// The turn whose other pending requests it takes back, if it does.
    pub withdraw: Option<Name>,
    /// What is to be remembered of it.
    pub grant: Option<Box<Grant>>,
    /// The link it came by, for the audit.
    pub link: Option<Name>,
    /// The message that said so.
    pub sent: Option<Box<Sent>>,
    /// Take a lease on the run along with it, if nobody holds one.
    pub claim: Option<Claim>,
}

/// What came of a decision.
#[derive(Clone, Debug)]
pub enum Decided {
    /// It was taken.
    Taken {
        /// The lease on the run, if one was wanted and free.
        lease: Option<Lease>,
        /// The position of the run's last entry at that moment.
        head: Seq,
    },
    /// It counts, and others must agree. This is the request with what it was noted as.
    Voted(Box<Request>),
    /// The request was not pending any more; this is how it stands. Nothing changed.
    TooLate(Box<Request>),
    /// The request was changed since it was seen; this is how it stands. Nothing changed.
    Stale(Box<Request>),
}

/// What came of several decisions.
#[derive(Clone, Debug)]
pub enum DecidedAll {
    /// They were taken, in the order they were given.
    Taken(Vec<Decided>),
    /// Nothing changed because of these: their place among those given, and how they stand.
    Refused(Vec<(usize, Decided)>),
}

/// Several decisions in the order in which they are taken, each with its place: those that take others back come last,
/// so that what is decided along with them counts.
pub(crate) fn in_turn(decides: Vec<Decide>) -> Vec<(usize, Decide)> {
    let mut all: Vec<(usize, Decide)> = decides.into_iter().enumerate().collect();
    all.sort_by_key(|(_, decide)| decide.withdraw.is_some());
    all
}

/// What came of them, in the order in which they were given.
pub(crate) fn as_given(mut taken: Vec<(usize, Decided)>) -> Vec<Decided> {
    taken.sort_by_key(|(n, _)| *n);
    taken.into_iter().map(|(_, taken)| taken).collect()
}

/// A line of the audit: a decision or an expiry, chained to the line before it.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// Its number.
    pub no: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// On which request.
    pub request: RequestId,
    /// Whose that request is. Not part of the hash: it follows from the request.
    pub tenant: Tenant,
    /// The decision as JSON, or `{"decision":"expired"}`.
    pub decision: String,
    /// Hex SHA-256 over the hash before it and this line.
    pub hash: String,
}

/// Where the inbox, the audit and the notes end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// A cursor of [`Store::requests`] after which only later requests come.
    pub requests: String,
    /// The number of the last line of the audit.
    pub audit: u64,
    /// The number of the last note.
    pub notes: u64,
}

/// Which requests to list. Fields that are `None` or empty match all.
#[derive(Clone, Debug, Default)]
pub struct RequestFilter {
    /// Where they stand.
    pub status: Option<RequestStatus>,
    /// What kind.
    pub kind: Option<RequestKind>,
    /// Of which workflow.
    pub workflow: Option<Name>,
    /// Asked by which agent (the last of its path).
    pub agent: Option<Name>,
    /// Of which run, or run it is part of.
    pub root: Option<RunId>,
    /// Of which conversation.
    pub conversation: Option<ConversationId>,
    /// Words that the prompt must contain, each of them, in whatever case (of ASCII letters).
    pub text: Option<String>,
    /// Whose.
    pub tenant: Option<Tenant>,
    /// Looked after by whom.
    pub assigned: Option<Assigned>,
    /// How much can go wrong.
    pub risk: Option<Risk>,
    /// Asked at this time or before.
    pub asked_until: Option<Timestamp>,
    /// Whether they wait and somebody has put them off.
    pub deferred: Option<bool>,
}

/// Who looks after a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// This one.
    To(Actor),
    /// Nobody.
    ToNobody,
}

/// Which runs to list. Fields that are `None` match all.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Where they stand.
    pub status: Option<RunStatus>,
    /// Of which workflow.
    pub workflow: Option<Name>,
    /// Of which conversation.
    pub conversation: Option<ConversationId>,
    /// Of which run at the top.
    pub root: Option<RunId>,
    /// Id begins with this text (after the `run_` prefix or with it).
    pub id_prefix: Option<String>,
    /// Whose.
    pub tenant: Option<Tenant>,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page begins, if there is one. Opaque.
    pub next: Option<String>,
}

/// Keeps runs. See the module's text for what every implementation promises.
///
/// Methods that return a future change something; what they change is durable when it resolves.
/// The work is submitted when the method is *called*, in call order; the future only waits for the
/// result. Methods that return a value read what is committed.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Keeps a definition. Nothing happens if its hash is known.
    fn put_definition(&self, definition: Definition) -> BoxFuture<'static, Result<(), StoreError>>;

    /// The definition of this hash.
    fn definition(&self, hash: &str) -> Result<Option<Definition>, StoreError>;

    /// Creates a run. `Ok(None)` if the id exists, and nothing changes; otherwise the lease, if one
    /// was wanted. A run created without a claim is ready to be claimed by anybody.
    fn create_run(&self, run: NewRun) -> BoxFuture<'static, Result<Option<Created>, StoreError>>;

    /// Everything needed to go on with a run, as it stood at one moment. If `until` is given, no snapshot, and only entries up to it.
    fn load(&self, run: &RunId, until: Option<Seq>) -> Result<LoadedRun, StoreError>;

    /// Entries of a run after a position, in order, at most `limit`.
    fn entries(&self, run: &RunId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// What reached a run from outside and is not in its journal yet, after input number `after`.
    fn inputs(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Input)>, StoreError>;

    /// Adds entries, in one transaction with all that follows from them: requests asked, withdrawn
    /// and expired, timers set and fired, inputs consumed, the run's status and lease.
    fn append(&self, append: Append) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Gives a run an input and makes it ready; the audit says who cancels, pauses or resumes it. Refused with [`StoreError::UnknownRun`]; `Ok(false)`
    /// if the run is over, and nothing changes.
    fn deliver(
        &self,
        run: &RunId,
        input: Input,
        at: Timestamp,
    ) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// Takes a decision: in one transaction the request changes from pending to decided, the audit
    /// gets a line, the run gets the input and becomes ready. Those that it takes back are cancelled with it.
    fn decide(&self, decide: Decide) -> BoxFuture<'static, Result<Decided, StoreError>>;

    /// Takes several decisions in one transaction, all or none: if one of them is too late or on an older version, nothing
    /// changes, and the answer says of each how it stands; those that could have been taken are not among it.
    fn decide_all(
        &self,
        decides: Vec<Decide>,
    ) -> BoxFuture<'static, Result<DecidedAll, StoreError>>;

    /// Leases up to `limit` runs that are ready and that nobody holds a live lease on.
    fn claim(
        &self,
        scope: Scope,
        node: &NodeId,
        now: Timestamp,
        ttl: Span,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>>;

    /// Leases a single run if nobody holds a live lease on it, ready or not; never one that is over.
    /// From then on it counts as ready until it parks, so that it is found again if its holder dies.
    fn claim_run(
        &self,
        run: &RunId,
        node: &NodeId,
        now: Timestamp,
        ttl: Span,
    ) -> BoxFuture<'static, Result<Option<Lease>, StoreError>>;

    /// Prolongs leases. Returns those that are still held.
    fn renew(
        &self,
        leases: Vec<Lease>,
        until: Timestamp,
    ) -> BoxFuture<'static, Result<Vec<Lease>, StoreError>>;

    /// Gives a lease back without writing: the run stays ready.
    fn release(&self, lease: Lease) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Fires what is due at `now`: pending requests expire (by the same compare-and-set as a
    /// decision, with an audit line), sleepers and runs out of time get their input. At most `limit`
    /// at once; returns how many.
    fn fire_due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'static, Result<usize, StoreError>>;

    /// When the next thing is due.
    fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;

    /// A number that changes when this or another process has changed the store. Cheap enough to look at often.
    fn changes(&self) -> Result<u64, StoreError>;

    /// One request.
    fn request(&self, id: &RequestId) -> Result<Option<Request>, StoreError>;

    /// The inbox, oldest first: in the order the store was told of them, so that pages do not shift.
    /// A page has between 1 and 1000 items. `cursor` is `next` of the page before; any other text is
    /// refused with [`StoreError::BadCursor`].
    fn requests(
        &self,
        filter: &RequestFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<Request>, StoreError>;

    /// How many requests match.
    fn count_requests(&self, filter: &RequestFilter) -> Result<u64, StoreError>;

    /// One run.
    fn run(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError>;

    /// Runs, newest first, in pages of 1 to 1000. `cursor` is `next` of the page before.
    fn runs(
        &self,
        filter: &RunFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<RunRecord>, StoreError>;

    /// The latest run of a tenant's conversation that is not part of another run.
    fn latest_run(
        &self,
        tenant: &Tenant,
        conversation: &ConversationId,
    ) -> Result<Option<RunRecord>, StoreError>;

    /// Audit lines after number `after`, in order, at most `limit`; of one tenant, or of all.
    fn audit(
        &self,
        tenant: Option<&Tenant>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError>;

    /// Audit lines before number `before`, or the last ones, newest first, at most `limit`; of one tenant, or of all.
    fn audit_back(
        &self,
        tenant: Option<&Tenant>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError>;

    /// Notes something on a request. Refused with [`StoreError::UnknownRequest`].
    fn mark(&self, mark: Mark) -> BoxFuture<'static, Result<Marked, StoreError>>;

    /// What was noted on a request, in order.
    fn notes(&self, request: &RequestId) -> Result<Vec<Note>, StoreError>;

    /// Changes what is kept of a conversation, and gives it as it is then.
    fn change_conversation(
        &self,
        change: ChangeConversation,
    ) -> BoxFuture<'static, Result<ConversationRecord, StoreError>>;

    /// What is kept of a conversation; also of one that was deleted.
    fn conversation(
        &self,
        tenant: &Tenant,
        id: &ConversationId,
    ) -> Result<Option<ConversationRecord>, StoreError>;

    /// Conversations, newest first, in pages of 1 to 1000. `cursor` is `next` of the page before.
    fn conversations(
        &self,
        filter: &ConversationFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<ConversationRecord>, StoreError>;

    /// Adds a user. `false` if there is one of that name, who is replaced only if `replace`.
    fn put_user(&self, user: User, replace: bool) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// Removes a user. `false` if there is none of that name.
    fn remove_user(&self, name: &str) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// All users, by name.
    fn users(&self) -> Result<Vec<User>, StoreError>;

    /// Sets a tenant's policy, or takes it back.
    fn put_policy(&self, put: PutPolicy) -> BoxFuture<'static, Result<PolicyPut, StoreError>>;

    /// The policy that a tenant has set or taken back, if it ever has.
    fn policy(&self, tenant: &Tenant) -> Result<Option<PolicyRecord>, StoreError>;

    /// Remembers a decision.
    fn add_grant(&self, grant: Grant) -> BoxFuture<'static, Result<(), StoreError>>;

    /// What a tenant's people want remembered and what can still be used, in the order it was granted. Some may be
    /// past their time.
    fn grants(&self, tenant: &Tenant) -> Result<Vec<Grant>, StoreError>;

    /// Takes back what is remembered. `false` if there is no such thing.
    fn end_grant(&self, end: EndGrant) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// Uses something that is remembered for so many times. `false` if it is used up or taken back.
    fn use_grant(&self, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// Notes in the audit that a link was made. Refused with [`StoreError::UnknownRequest`].
    fn add_link(&self, link: AddLink) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Notes in the audit that somebody opened a request, once for each person and version. `false` if that is noted
    /// already. Refused with [`StoreError::UnknownRequest`].
    fn view(&self, view: View) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// The secret of this name. The first who asks gives it: it is `new` then, and stays so.
    fn secret(&self, name: &str, new: String) -> BoxFuture<'static, Result<String, StoreError>>;

    /// Everything that was noted on requests after note number `after`, in order, at most `limit`.
    fn noted(&self, after: u64, limit: usize) -> Result<Vec<NoteLine>, StoreError>;

    /// Where the inbox, the audit and the notes end now. Whatever comes later comes after it.
    fn ends(&self) -> Result<Ends, StoreError>;

    /// Takes the right to deliver to a webhook, or prolongs it, and gives the number of the last event it was told
    /// of. `None` while somebody else has the right. One that is new begins with what happens from now on.
    fn take_webhook(
        &self,
        take: TakeWebhook,
    ) -> BoxFuture<'static, Result<Option<u64>, StoreError>>;

    /// Notes how far a webhook was told, and what a request is known by there. `false`, and nothing changes, if
    /// somebody else delivers to it now.
    fn move_webhook(&self, moved: MoveWebhook) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// What a request is known by where a webhook was told of it.
    fn posted(&self, webhook: &Name, request: &RequestId) -> Result<Option<String>, StoreError>;

    /// What happened to requests after event number `after`, in order, at most `limit`. Only what happens while there
    /// is a webhook is kept, and only until all have been told of it.
    fn happened(&self, after: u64, limit: usize) -> Result<Vec<RequestEvent>, StoreError>;

    /// Somebody is to be told how a run goes on. `false`, and nothing changes, if so many are told already that one more
    /// is too many. Refused with [`StoreError::UnknownRun`].
    fn put_push(&self, put: PutPush) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// Who is told of a run, by their names.
    fn pushes(&self, run: &RunId) -> Result<Vec<Push>, StoreError>;

    /// Somebody is told nothing more, and forgotten. `false` if there is nobody of that name.
    fn remove_push(&self, run: &RunId, id: &Name) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// Takes the right to tell those who have something to be told: whose run went on since, or who could not be told
    /// before. Nobody else tells them until it is given back or runs out.
    fn take_pushes(&self, take: TakePushes) -> BoxFuture<'static, Result<Vec<Push>, StoreError>>;

    /// Notes how far somebody has been told, and gives the right back. `false`, and nothing changes, if somebody else
    /// has it now.
    fn move_push(&self, moved: MovePush) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// A way to say something to the other nodes on this store that may be lost. None, where nobody else could hear it or
    /// nothing carries it; and for a tenant, whom other tenants' words are no concern of.
    fn wire(&self) -> Option<std::sync::Arc<dyn crate::wire::Wire>> {
        None
    }

    /// What happens by itself in a run, and when.
    fn timers(&self, run: &RunId) -> Result<Vec<(Due, Timestamp)>, StoreError>;

    /// Removes conversations whose runs are all over and have not changed for long, with all that belongs to them; the
    /// audit stays, and says so. One of which somebody is still to be told something is kept. The latest run, request
    /// and note stay, so that no number is given twice. Looks at some hundred runs at once.
    fn prune(&self, prune: Prune) -> BoxFuture<'static, Result<Pruned, StoreError>>;

    /// Takes, or keeps, what one node at a time does for all. False while another node has it that lives.
    fn take_duty(&self, take: TakeDuty) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// Takes in a run from another store, whole or not at all. What it asks is told as if it was asked now.
    fn take_in(&self, take: TakeIn) -> BoxFuture<'static, Result<TakenIn, StoreError>>;

    /// Ends runs that go on in another store. `false`, and nothing changes, if one of them is worked on or is no longer as
    /// it was seen.
    fn move_out(&self, out: MoveOut) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// How the store is. Reads all of it.
    fn examine(&self, now: Timestamp) -> Result<Examined, StoreError>;
}

/// A run that has just been created.
#[derive(Clone, Debug)]
pub struct Created {
    /// The lease, if one was wanted.
    pub lease: Option<Lease>,
}

/// A thing that happens by itself at a point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// A sleep is over.
    Timer {
        /// Who sleeps.
        activation: ActivationId,
        /// Under which key.
        key: Key,
    },
    /// A request's deadline.
    Request {
        /// Which request.
        request: u32,
    },
    /// People are reminded of a request.
    Reminder {
        /// Which request.
        request: u32,
    },
    /// A request that was put off is in sight again.
    Deferral {
        /// Which request.
        request: u32,
    },
    /// The run's own time limit.
    Run,
}
