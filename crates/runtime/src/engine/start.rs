//! Starting runs.

use std::sync::Arc;

use serde_json::{Map, Value};
use signoff_core::id::{ConversationId, Key};
use signoff_core::journal::{self, ErrorInfo, Parent};
use signoff_core::{Actor, Message, RunId, RunState, RunStatus, Sent, Tenant, plan};
use signoff_store::{Follows, Lease, NewRun, RunFilter, RunRecord, StoreError};

use super::{AtHand, Engine, EngineError, EngineInner, lock, new_id};
use crate::context::Context;
use crate::definition::Definition;
use crate::live::LiveEvent;

/// A run to start.
#[derive(Clone, Debug)]
pub struct StartRun {
    /// Which workflow.
    pub workflow: String,
    /// What it is given.
    pub input: Value,
    /// The conversation it belongs to. A new one, if not given.
    pub conversation: Option<ConversationId>,
    /// Whose it is.
    pub tenant: Tenant,
    /// What was put into the conversation since its last run.
    pub added: Vec<Message>,
    /// Who starts it.
    pub by: Actor,
    /// The id it gets. A new one, if not given; if there is such a run already, nothing is started.
    pub run: Option<RunId>,
    /// The metadata of its conversation, if nothing is kept of that yet.
    pub about: Option<Map<String, Value>>,
    /// Whether another run of its conversation may still be open. It then knows what was said in those that are over.
    pub beside: bool,
    /// The message that asks for it, where the dialect has messages.
    pub sent: Option<Sent>,
}

impl StartRun {
    /// A run in a conversation of its own, started by whoever sits at this machine.
    pub fn new(workflow: impl Into<String>, input: impl Into<Value>) -> Self {
        Self {
            workflow: workflow.into(),
            input: input.into(),
            conversation: None,
            tenant: Tenant::local(),
            added: Vec::new(),
            by: Actor::local(),
            run: None,
            about: None,
            beside: false,
            sent: None,
        }
    }
}

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its id.
    pub run: RunId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Whether this call created it; not, if a run of the wanted id was there.
    pub created: bool,
}

/// How a run begins.
struct Begin {
    started: journal::Started,
    added: Vec<Message>,
    follows: Follows,
    about: Option<Map<String, Value>>,
}

struct Begun {
    started: Started,
    driven: Option<(Lease, RunState)>,
}

impl Begun {
    fn before(run: RunRecord) -> Self {
        let started = Started { run: run.id, conversation: run.conversation, created: false };
        Self { started, driven: None }
    }
}

impl Engine {
    /// Starts a run and drives it in the background.
    pub async fn start(&self, start: StartRun) -> Result<Started, EngineError> {
        let begun = self.begin(start).await?;
        if let Some((lease, state)) = begun.driven {
            self.inner.spawn_with(lease, Some(Box::new(AtHand::begun(state))));
        }
        Ok(begun.started)
    }

    /// Starts a run and drives it right here, until it rests.
    pub async fn run(&self, start: StartRun) -> Result<Started, EngineError> {
        let begun = self.begin(start).await?;
        if let Some((lease, state)) = begun.driven {
            self.inner.drive_at_hand(lease, AtHand::begun(state)).await;
        }
        Ok(begun.started)
    }

    async fn begin(&self, mut start: StartRun) -> Result<Begun, EngineError> {
        let engine = &self.inner;
        if let Some(tenant) = &self.tenant {
            start.tenant = tenant.clone();
        }
        if let Some(id) = &start.run
            && let Some(run) = self.store.run(id)?
        {
            return Ok(Begun::before(run));
        }
        let definition =
            self.workflow(&start.workflow).ok_or_else(|| EngineError::UnknownWorkflow {
                id: start.workflow.clone(),
                known: engine.current.keys().cloned().collect(),
            })?;
        definition.check_input(&start.input).map_err(|problems| EngineError::InvalidInput {
            workflow: start.workflow.clone(),
            problems,
        })?;
        let mut tries = 0;
        loop {
            match self.begin_after(&start, definition).await {
                // Somebody was faster: look again what the conversation has come to.
                Err(EngineError::Store(StoreError::ConversationMoved { .. })) if tries < 100 => {
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Begins a run after whatever its conversation has come to.
    async fn begin_after(
        &self,
        start: &StartRun,
        definition: &Definition,
    ) -> Result<Begun, EngineError> {
        let engine = &self.inner;
        let (conversation, continues) = match &start.conversation {
            Some(conversation) => match engine.store.latest_run(&start.tenant, conversation)? {
                // Somebody starts the same right now.
                Some(run) if start.run.as_ref() == Some(&run.id) => return Ok(Begun::before(run)),
                Some(run) if !run.status.is_over() => {
                    if !start.beside {
                        return Err(EngineError::ConversationBusy { run: run.id });
                    }
                    (conversation.clone(), self.latest_over(&start.tenant, conversation)?)
                }
                before => (conversation.clone(), before.map(|run| run.id)),
            },
            None => (ConversationId::from_unique(&new_id()), None),
        };
        let follows = match &start.conversation {
            Some(_) if !start.beside => Follows::Exactly(continues.clone()),
            _ => Follows::Anything,
        };
        let run = start.run.clone().unwrap_or_else(|| RunId::from_unique(&new_id()));
        let started = journal::Started {
            workflow: definition.workflow.id.as_str().into(),
            version: definition.version.clone(),
            conversation: conversation.clone(),
            tenant: start.tenant.clone(),
            input: start.input.clone(),
            by: start.by.clone(),
            continues,
            parent: None,
            forked_from: None,
            reason: None,
            added: 0,
            sent: start.sent.clone().map(Box::new),
        };
        let begin =
            Begin { started, added: start.added.clone(), follows, about: start.about.clone() };
        let (lease, state) = engine.create(&run, definition, begin).await?;
        let started = Started { run, conversation, created: lease.is_some() };
        Ok(Begun { started, driven: lease.map(|lease| (lease, state)) })
    }

    /// The latest run of a conversation that is over and not part of another.
    fn latest_over(
        &self,
        tenant: &Tenant,
        conversation: &ConversationId,
    ) -> Result<Option<RunId>, StoreError> {
        let filter = RunFilter {
            conversation: Some(conversation.clone()),
            tenant: Some(tenant.clone()),
            ..RunFilter::default()
        };
        let mut cursor = None;
        loop {
            let page = self.inner.store.runs(&filter, cursor.as_deref(), 100)?;
            let over =
                page.items.into_iter().find(|run| run.root == run.id && run.status.is_over());
            cursor = page.next;
            if over.is_some() || cursor.is_none() {
                return Ok(over.map(|run| run.id));
            }
        }
    }
}

impl EngineInner {
    /// Creates a run under a lease of ours. No lease, if it existed.
    async fn create(
        self: &Arc<Self>,
        run: &RunId,
        definition: &Definition,
        begin: Begin,
    ) -> Result<(Option<Lease>, RunState), EngineError> {
        let Begin { started, added, follows, about } = begin;
        self.keep(definition).await?;
        let now = self.clock.now();
        let entries = self.first_entries(plan::start(&definition.graph, started, added, now));
        let corrupt = |error: &dyn std::fmt::Display| {
            EngineError::Unable(ErrorInfo::new("internal", error.to_string()))
        };
        let mut state = RunState::fold(&entries).map_err(|error| corrupt(&error))?;
        if let Some(before) = state.started.continues.clone() {
            state.prior = self.messages_of(&before)?;
        }
        let shown = self.live.watched().then(|| entries.clone().into());
        let created = self
            .store
            .create_run(NewRun {
                id: run.clone(),
                entries,
                status: RunStatus::Running,
                deadline: definition.workflow.limits.wall.map(|wall| now.plus(wall)),
                claim: Some(self.roster.claim()),
                follows,
                about,
            })
            .await?;
        if let (Some(_), Some(shown)) = (&created, shown) {
            let root = state.started.parent.as_ref().map_or(run, |parent| &parent.root);
            self.live.send(run, root, LiveEvent::Committed(shown));
        }
        Ok((created.and_then(|created| created.lease), state))
    }

    /// Makes sure that a definition is in the store before a run on it is.
    pub(crate) async fn keep(&self, definition: &Definition) -> Result<(), EngineError> {
        if lock(&self.stored).contains(&definition.version) {
            return Ok(());
        }
        let stored = signoff_store::Definition {
            hash: definition.version.clone(),
            id: definition.workflow.id.as_str().into(),
            body: definition.workflow.canonical_json(),
        };
        self.store.put_definition(stored).await?;
        for version in definition.workflow.uses.values() {
            let used = self.definition(version).map_err(EngineError::Unable)?;
            Box::pin(self.keep(&used)).await?;
        }
        lock(&self.stored).insert(definition.version.clone());
        Ok(())
    }

    /// Starts the run of a sub-workflow, unless it is there already.
    pub(crate) async fn start_child(
        self: &Arc<Self>,
        parent: &Context,
        key: &Key,
        id: &str,
        input: Value,
    ) -> Result<(), ErrorInfo> {
        let cell = &parent.cell;
        let run = cell.id.child(parent.activation, key);
        let store = |error: &dyn std::fmt::Display| ErrorInfo::new("store", error.to_string());
        if self.store.run(&run).map_err(|error| store(&error))?.is_some() {
            return Ok(());
        }
        let version = cell.definition.workflow.uses.get(id).ok_or_else(|| {
            ErrorInfo::new("unknown_workflow", format!("workflow `{id}` is not linked"))
        })?;
        let definition = self.definition(version)?;
        if let Err(problems) = definition.check_input(&input) {
            let message = format!("the input does not fit `{id}`: {}", problems.join("; "));
            return Err(ErrorInfo::new("invalid_input", message));
        }
        let (conversation, tenant, by) = {
            let inner = cell.lock();
            let started = &inner.state.started;
            (started.conversation.clone(), started.tenant.clone(), started.by.clone())
        };
        let started = journal::Started {
            workflow: id.into(),
            version: definition.version.clone(),
            conversation,
            tenant,
            input,
            by,
            continues: None,
            parent: Some(Parent {
                run: cell.id.clone(),
                root: cell.root.clone(),
                activation: parent.activation,
                key: key.clone(),
                path: parent.path(),
            }),
            forked_from: None,
            reason: None,
            added: 0,
            sent: None,
        };
        let begin = Begin { started, added: Vec::new(), follows: Follows::Anything, about: None };
        let (lease, state) =
            self.create(&run, &definition, begin).await.map_err(|error| store(&error))?;
        if let Some(lease) = lease {
            self.spawn_with(lease, Some(Box::new(AtHand::begun(state))));
        }
        Ok(())
    }
}
