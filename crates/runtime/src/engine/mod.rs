//! The engine: the handle through which everything is done with runs.

mod at_hand;
mod build;
mod decide;
mod defer;
mod driving;
mod error;
mod fork;
mod parts;
mod policy;
mod retry;
mod start;
mod trial;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use signoff_core::feedback::Remark;
use signoff_core::id::Name;
use signoff_core::journal::{Entry, ErrorInfo, Input, Usage};
use signoff_core::schema::Compiled;
use signoff_core::visible::Secrets;
use signoff_core::{Actor, ConversationId, Message, RunId, RunState, Seq, Tenant, Workflow};
use signoff_models::ModelIdentity;
use signoff_store::{
    ConversationRecord, Lease, LoadedRun, NodeId, RunFilter, RunRecord, Store, StoreError,
};
use tokio::sync::{Notify, broadcast};

pub(crate) use at_hand::AtHand;
pub use build::EngineBuilder;
pub use decide::{DecideError, DecideOutcome, DecideRequest};
pub use defer::{DeferError, DeferRequest, Until};
pub use error::EngineError;
pub use fork::ForkRun;
pub(crate) use parts::{Parts, ToolPattern};
pub use policy::RuleError;
pub use start::{StartRun, Started};
pub use trial::{Change, Trial};

use crate::cell::RunCell;
use crate::clock::Clock;
use crate::definition::Definition;
use crate::driver::DriveEnd;
use crate::live::{Broadcaster, Live};
use crate::roster::Roster;
use crate::rules::RuleBook;

/// A unique, time-ordered text for ids.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// A text that nobody can guess: twice 122 bits from the system.
pub fn new_secret() -> String {
    let part = || uuid::Uuid::new_v4().simple();
    format!("{}{}", part(), part())
}

/// A run as the store has it.
#[derive(Clone, Debug)]
pub struct RunView {
    /// The run as lists show it.
    pub record: RunRecord,
    /// Its state.
    pub state: RunState,
    /// What has reached it and is not in its journal yet, in order.
    pub inputs: Vec<Input>,
}

/// Drives runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) inner: Arc<EngineInner>,
    /// What callers see: everything, or what is one tenant's.
    store: Arc<dyn Store>,
    tenant: Option<Tenant>,
    origin: Option<Origin>,
}

/// By which way somebody speaks, for the audit.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// In whose words: `http`, `websocket`, `a2a` …
    pub channel: &'static str,
    /// From which address.
    pub address: Option<IpAddr>,
}

pub(crate) struct EngineInner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) node: NodeId,
    pub(crate) roster: Roster,
    pub(crate) live: Broadcaster,
    pub(crate) schemas: Compiled,
    pub(crate) parts: Parts,
    pub(crate) rules: RuleBook,
    pub(crate) secrets: Secrets,
    /// What new runs start on, by workflow id.
    current: BTreeMap<String, Arc<Definition>>,
    /// Questions from outside, by id.
    builtin: BTreeMap<String, Arc<Definition>>,
    /// Their agents by themselves, by `WORKFLOW/AGENT`.
    agents: BTreeMap<String, Arc<Definition>>,
    /// What any run may be on, by content hash.
    by_version: Mutex<HashMap<Name, Arc<Definition>>>,
    /// The definitions that are known to be in the store.
    stored: Mutex<HashSet<Name>>,
    active: Mutex<HashMap<RunId, Arc<RunCell>>>,
    driving: AtomicUsize,
    /// When work was last looked for.
    looked_at: AtomicI64,
    /// Told when a driver ends, and when there may be work for the scheduler.
    pub(crate) changed: Notify,
    /// Whether runs are handed over to others: nothing new is begun here.
    draining: AtomicBool,
}

impl std::fmt::Debug for EngineInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EngineInner({})", self.node)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// A builder around a store.
    pub fn builder(store: Arc<dyn Store>) -> EngineBuilder {
        EngineBuilder::new(store)
    }

    pub(crate) fn new(inner: EngineInner) -> Self {
        let store = Arc::clone(&inner.store);
        Self { inner: Arc::new(inner), store, tenant: None, origin: None }
    }

    /// The same engine for somebody who speaks for a tenant: what belongs to others is not there.
    #[must_use]
    pub fn for_tenant(&self, tenant: Tenant) -> Self {
        let store = signoff_store::scoped(Arc::clone(&self.inner.store), tenant.clone());
        Self { inner: Arc::clone(&self.inner), store, tenant: Some(tenant), origin: self.origin }
    }

    /// The same engine for somebody who speaks by this way.
    #[must_use]
    pub fn spoken_to_by(self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The latest run of a conversation that is not part of another: of the engine's tenant, or of the local one.
    pub fn latest_run(
        &self,
        conversation: &ConversationId,
    ) -> Result<Option<RunRecord>, StoreError> {
        let local = Tenant::local();
        self.store.latest_run(self.tenant.as_ref().unwrap_or(&local), conversation)
    }

    /// What is kept of a conversation besides its runs: of the engine's tenant, or of the local one.
    pub fn conversation(
        &self,
        id: &ConversationId,
    ) -> Result<Option<ConversationRecord>, StoreError> {
        let local = Tenant::local();
        self.store.conversation(self.tenant.as_ref().unwrap_or(&local), id)
    }

    /// The name of this process, for its leases.
    pub fn node(&self) -> &NodeId {
        &self.inner.node
    }

    /// Values that nobody is shown.
    pub fn secrets(&self) -> &Secrets {
        &self.inner.secrets
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// The workflows that can be started, by id.
    pub fn workflows(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.inner.current.values()
    }

    /// The workflow of this id, one that every engine has, or the agent of one by itself: `WORKFLOW/AGENT`.
    pub fn workflow(&self, id: &str) -> Option<&Arc<Definition>> {
        let inner = &self.inner;
        let listed = inner.builtin.get(id).or_else(|| inner.current.get(id));
        listed.or_else(|| inner.agents.get(id))
    }

    /// The definition of this content hash, from memory or the store.
    pub fn definition(&self, version: &str) -> Result<Arc<Definition>, ErrorInfo> {
        self.inner.definition(version)
    }

    /// What others call the model of this alias, if this is known.
    pub fn model(&self, alias: &str) -> Option<ModelIdentity> {
        self.inner.parts.models.get(alias)?.identity()
    }

    /// What happens from now on, in all runs this process drives.
    pub fn watch(&self) -> broadcast::Receiver<Live> {
        self.inner.live.subscribe()
    }

    /// The state of a run, as far as it is durable.
    pub fn state(&self, run: &RunId) -> Result<RunState, EngineError> {
        Ok(self.view(run)?.state)
    }

    /// A run and what waits to be put into its journal, at one moment.
    pub fn view(&self, run: &RunId) -> Result<RunView, EngineError> {
        let loaded = self.store.load(run, None)?;
        let state = self.inner.state_of(&loaded)?.0;
        let inputs = loaded.inputs.into_iter().map(|(_, input)| input).collect();
        Ok(RunView { record: loaded.record, state, inputs })
    }

    /// What the model calls of a run and of all its parts took.
    pub fn usage(&self, run: &RunId) -> Result<Usage, EngineError> {
        let mut usage = self.state(run)?.usage;
        let filter = RunFilter { root: Some(run.clone()), ..RunFilter::default() };
        let mut cursor = None;
        loop {
            let page = self.store.runs(&filter, cursor.as_deref(), 100)?;
            for part in page.items.iter().filter(|part| part.id != *run) {
                usage = usage.plus(self.state(&part.id)?.usage);
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(usage);
            }
        }
    }

    /// Drives a run under a lease until it rests.
    pub async fn drive(&self, lease: Lease) -> DriveEnd {
        self.inner.drive(lease).await
    }

    /// Claims a run and drives it until it rests. `None` if somebody else drives it.
    pub async fn resume(&self, run: &RunId) -> Option<DriveEnd> {
        let lease = self.inner.claim_run(run).await?;
        Some(self.inner.drive(lease).await)
    }

    /// Stops a run for good.
    pub async fn cancel(
        &self,
        run: &RunId,
        by: Actor,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        self.deliver(run, Input::Cancel { by, reason }).await
    }

    /// Lets nothing new start in a run.
    pub async fn pause(
        &self,
        run: &RunId,
        by: Actor,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        self.deliver(run, Input::Pause { by, reason }).await
    }

    /// Lets a paused run go on.
    pub async fn unpause(&self, run: &RunId, by: Actor) -> Result<(), EngineError> {
        self.deliver(run, Input::Resume { by }).await
    }

    /// Says something to a run that counts for what follows.
    pub async fn add_feedback(
        &self,
        run: &RunId,
        by: Actor,
        said: Remark,
    ) -> Result<(), EngineError> {
        self.deliver(run, Input::Feedback { by, said }).await
    }

    /// Lets something that was said count no more.
    pub async fn remove_feedback(&self, run: &RunId, by: Actor, n: u32) -> Result<(), EngineError> {
        self.deliver(run, Input::RemoveFeedback { by, n }).await
    }

    async fn deliver(&self, run: &RunId, input: Input) -> Result<(), EngineError> {
        let now = self.inner.clock.now();
        if !self.store.deliver(run, input, now).await? {
            return Err(EngineError::Over(run.clone()));
        }
        self.inner.nudge(run).await;
        Ok(())
    }

    /// Hands all runs over to whoever else works on the store: what is under way is finished, nothing new is begun, and the
    /// lease is given back. Returns when this process drives no run.
    pub async fn drain(&self) {
        self.inner.drain();
        self.idle().await;
    }

    /// Returns when this process drives no run.
    pub async fn idle(&self) {
        loop {
            let changed = self.inner.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.inner.driving.load(Ordering::Acquire) == 0 {
                return;
            }
            changed.await;
        }
    }
}

impl EngineInner {
    /// The definition of this content hash, from memory or the store.
    pub(crate) fn definition(&self, version: &str) -> Result<Arc<Definition>, ErrorInfo> {
        if let Some(known) = lock(&self.by_version).get(version) {
            return Ok(Arc::clone(known));
        }
        let stored = self
            .store
            .definition(version)
            .map_err(|error| ErrorInfo::new("store", error.to_string()))?
            .ok_or_else(|| {
                ErrorInfo::new(
                    "unknown_definition",
                    format!("the definition {version} is not stored"),
                )
            })?;
        let workflow: Workflow = serde_json::from_str(&stored.body)
            .map_err(|error| ErrorInfo::new("invalid_workflow", error.to_string()))?;
        let compiled = Arc::new(Definition::compile(workflow, &self.parts)?);
        lock(&self.by_version).insert(version.into(), Arc::clone(&compiled));
        Ok(compiled)
    }

    /// The state of a loaded run, and the position of the snapshot it came from.
    pub(crate) fn state_of(&self, loaded: &LoadedRun) -> Result<(RunState, Seq), StoreError> {
        let corrupt = |error: &dyn std::fmt::Display| StoreError::Corrupt(error.to_string());
        let (mut state, snapshot_at) = match &loaded.snapshot {
            Some(snapshot) => {
                let mut state: RunState =
                    serde_json::from_slice(&snapshot.body).map_err(|error| corrupt(&error))?;
                for entry in &loaded.entries {
                    state.apply(entry).map_err(|error| corrupt(&error))?;
                }
                (state, snapshot.seq)
            }
            None => (RunState::fold(&loaded.entries).map_err(|error| corrupt(&error))?, 0),
        };
        if let Some(before) = state.started.continues.clone() {
            state.prior = self.messages_of(&before)?;
        }
        Ok((state, snapshot_at))
    }

    /// Everything said in a run and in those before it in its conversation.
    pub(crate) fn messages_of(&self, run: &RunId) -> Result<Vec<Arc<Message>>, StoreError> {
        let loaded = self.store.load(run, None)?;
        let (state, _) = self.state_of(&loaded)?;
        Ok(state.prior.into_iter().chain(state.messages).collect())
    }

    /// Numbers events from 1, as the first of a run.
    pub(crate) fn first_entries(&self, events: Vec<signoff_core::Event>) -> Vec<Entry> {
        let at = self.clock.now();
        (1..).zip(events).map(|(seq, event)| Entry { seq, at, event }).collect()
    }
}
