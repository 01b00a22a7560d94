//! Putting an engine together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use signoff_core::journal::ErrorInfo;
use signoff_core::visible::Secrets;
use signoff_core::{Name, Span, Workflow};
use signoff_models::Provider;
use signoff_store::{NodeId, Store};
use signoff_tools::{Remote, Tool, ToolSource};
use tokio::sync::Notify;

use super::{Engine, EngineInner, Parts};
use crate::builtin;
use crate::clock::{Clock, SystemClock};
use crate::context::Context;
use crate::definition::Definition;
use crate::executor::{Executor, Function};
use crate::live::Broadcaster;
use crate::roster::Roster;
use crate::rules::RuleBook;

/// Collects what an engine needs.
pub struct EngineBuilder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    node: Option<NodeId>,
    lease_ttl: Span,
    parts: Parts,
    workflows: Vec<Workflow>,
    environment: Option<Name>,
    secrets: Secrets,
}

impl std::fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EngineBuilder({} workflows)", self.workflows.len())
    }
}

impl EngineBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            clock: Arc::new(SystemClock),
            node: None,
            lease_ttl: crate::roster::LEASE,
            parts: Parts::default(),
            workflows: Vec::new(),
            environment: None,
            secrets: Secrets::default(),
        }
    }

    /// The name of this process among those that share the store. Unique, if not given.
    #[must_use]
    pub fn node(mut self, node: NodeId) -> Self {
        self.node = Some(node);
        self
    }

    /// A clock other than the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// How long a run is ours without a sign of life.
    #[must_use]
    pub fn lease(mut self, ttl: Span) -> Self {
        self.lease_ttl = ttl;
        self
    }

    /// A workflow that can be started. Checked before, with its sub-workflows linked.
    #[must_use]
    pub fn workflow(mut self, workflow: Workflow) -> Self {
        self.workflows.push(workflow);
        self
    }

    /// An async function that workflows can use as an executor.
    #[must_use]
    pub fn function<F, Fut>(self, name: &str, body: F) -> Self
    where
        F: Fn(Context, Arc<Value>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ErrorInfo>> + Send + 'static,
    {
        self.executor(name.to_owned(), Arc::new(Function(body)))
    }

    /// An executor of any kind, under the name workflows call it by.
    #[must_use]
    pub fn executor(mut self, name: String, executor: Arc<dyn Executor>) -> Self {
        self.parts.functions.insert(name, executor);
        self
    }

    /// A tool that agents can be given.
    #[must_use]
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// A tool that is shared with others.
    #[must_use]
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.parts.tools.insert(tool.spec().name.to_string(), tool);
        self
    }

    /// Tools that agents can be given.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        for tool in tools {
            self.parts.tools.insert(tool.spec().name.to_string(), tool);
        }
        self
    }

    /// A source of tools, known to workflow files as `mcp:NAME/…`.
    #[must_use]
    pub fn source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.parts.sources.insert(source.name().to_owned(), source);
        self
    }

    /// An agent that runs elsewhere, known to workflow files as `remote: NAME`.
    #[must_use]
    pub fn remote(mut self, remote: Arc<dyn Remote>) -> Self {
        self.parts.remotes.insert(remote.name().to_owned(), remote);
        self
    }

    /// A model, by the alias workflows call it.
    #[must_use]
    pub fn model(mut self, alias: &str, provider: Arc<dyn Provider>) -> Self {
        self.parts.models.insert(alias.to_owned(), provider);
        self
    }

    /// A model for one workflow, used where its alias is not configured.
    #[must_use]
    pub fn script(mut self, workflow: &str, provider: Arc<dyn Provider>) -> Self {
        self.parts.scripts.insert(workflow.to_owned(), provider);
        self
    }

    /// What the operator calls this place: `production`, `staging` …
    #[must_use]
    pub fn environment(mut self, name: Option<Name>) -> Self {
        self.environment = name;
        self
    }

    /// Values that nobody is shown: keys that this process has.
    #[must_use]
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// The engine, or what is missing.
    pub fn build(self) -> Result<Engine, ErrorInfo> {
        let (mut current, mut agents) = (BTreeMap::new(), BTreeMap::new());
        let (mut by_version, mut builtin) = (HashMap::new(), BTreeMap::new());
        for definition in builtin::definitions()? {
            by_version.insert(definition.version.clone(), Arc::clone(&definition));
            builtin.insert(definition.workflow.id.clone(), definition);
        }
        for workflow in self.workflows {
            if builtin.contains_key(&workflow.id) {
                let message = format!("`{}` is a workflow that is always there", workflow.id);
                let hint = "give the other one another id";
                return Err(ErrorInfo::new("invalid_workflow", message).hint(hint));
            }
            for alone in workflow.agents.keys().filter_map(|agent| workflow.alone(agent)) {
                let definition = Arc::new(Definition::compile(alone, &self.parts)?);
                agents.insert(definition.workflow.id.clone(), definition);
            }
            let definition = Arc::new(Definition::compile(workflow, &self.parts)?);
            by_version.insert(definition.version.clone(), Arc::clone(&definition));
            current.insert(definition.workflow.id.clone(), definition);
        }
        let node = self.node.unwrap_or_else(|| super::new_id().into());
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let inner = EngineInner {
            roster: Roster::new(store, clock, Arc::clone(&node), self.lease_ttl),
            store: self.store,
            clock: self.clock,
            node,
            live: Broadcaster::new(),
            schemas: signoff_core::schema::Compiled::default(),
            parts: self.parts,
            rules: RuleBook::new(self.environment),
            secrets: self.secrets,
            current,
            builtin,
            agents,
            by_version: Mutex::new(by_version),
            stored: Mutex::new(HashSet::new()),
            active: Mutex::new(HashMap::new()),
            driving: AtomicUsize::new(0),
            looked_at: AtomicI64::new(0),
            changed: Notify::new(),
            draining: AtomicBool::new(false),
        };
        Ok(Engine::new(inner))
    }
}
