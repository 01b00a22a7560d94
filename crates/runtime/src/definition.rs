//! A workflow definition made ready to run: graph, executors, agents with their models and tools.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use signoff_core::graph::{ExecutorKind, Graph};
use signoff_core::journal::ErrorInfo;
use signoff_core::plan::Rules;
use signoff_core::policy::{Gate, Policy};
use signoff_core::schema::{self, Validator};
use signoff_core::workflow::Phases;
use signoff_core::{Name, Workflow};

use crate::agent::{AgentExecutor, AgentProfile, AgentSpec};
use crate::engine::Parts;
use crate::executor::{Executor, Listed};
use crate::patterns::coordinator::CoordinatorExecutor;
use crate::patterns::group_chat::GroupChatExecutor;
use crate::patterns::handoff::HandoffExecutor;
use crate::patterns::phases::PhasesExecutor;

/// A definition that this process can run.
pub struct Definition {
    /// The definition itself.
    pub workflow: Workflow,
    /// Its content hash.
    pub version: Name,
    /// Its graph.
    pub graph: Graph,
    /// Its gates.
    pub policy: Arc<Policy>,
    executors: Vec<Arc<dyn Executor>>,
    agents: HashMap<Name, AgentProfile>,
    input: Validator,
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Definition({} {})", self.workflow.id, self.version)
    }
}

impl Definition {
    /// Makes `workflow` ready, or says what this process lacks for it.
    pub(crate) fn compile(workflow: Workflow, parts: &Parts) -> Result<Self, ErrorInfo> {
        let graph =
            workflow.graph().map_err(|problem| ErrorInfo::new("invalid_workflow", problem))?;
        let policy = Arc::new(policy(&workflow)?);
        let mut agents: HashMap<Name, Arc<AgentSpec>> = HashMap::new();
        for id in workflow.agents.keys() {
            let spec = AgentSpec::new(&workflow, id, parts)?;
            agents.insert(id.as_str().into(), Arc::new(spec));
        }
        let agent = |name: &str| {
            agents.get(name).cloned().ok_or_else(|| {
                ErrorInfo::new("unknown_agent", format!("there is no agent `{name}`"))
            })
        };
        let mut executors: Vec<Arc<dyn Executor>> = Vec::with_capacity(graph.executors().len());
        for def in graph.executors() {
            executors.push(match &def.kind {
                ExecutorKind::Agent { agent: name } => Arc::new(AgentExecutor(agent(name)?)),
                ExecutorKind::Coordinator => {
                    let settings = workflow.coordinator.clone().ok_or_else(|| {
                        ErrorInfo::new("invalid_workflow", "`coordinator` is missing")
                    })?;
                    let lead = agent(&settings.agent)?;
                    Arc::new(CoordinatorExecutor::new(settings, lead))
                }
                ExecutorKind::Handoff { until } => {
                    let settings = workflow.handoff.clone().ok_or_else(|| {
                        ErrorInfo::new("invalid_workflow", "`handoff` is missing")
                    })?;
                    Arc::new(HandoffExecutor::new(settings, until.clone()))
                }
                ExecutorKind::GroupChat { until, rule } => {
                    let settings = workflow.group_chat.clone().ok_or_else(|| {
                        ErrorInfo::new("invalid_workflow", "`group_chat` is missing")
                    })?;
                    Arc::new(GroupChatExecutor::new(settings, until.clone(), rule.clone()))
                }
                ExecutorKind::Phases => {
                    let settings = workflow
                        .phases
                        .clone()
                        .ok_or_else(|| ErrorInfo::new("invalid_workflow", "`phases` is missing"))?;
                    Arc::new(PhasesExecutor::new(settings))
                }
                ExecutorKind::Function { name } => parts.function(name)?,
                kind => Arc::new(Listed(kind.clone())),
            });
        }
        let agents = agents.into_iter().map(|(name, spec)| (name, spec.profile())).collect();
        let input = schema::compile(&workflow.input_schema())
            .map_err(|problem| ErrorInfo::new("invalid_workflow", problem))?;
        let version = workflow.version().into();
        Ok(Self { workflow, version, graph, policy, executors, agents, input })
    }

    /// Whether a run can start on `input`; if not, every problem.
    pub(crate) fn check_input(&self, input: &Value) -> Result<(), Vec<String>> {
        schema::problems(&self.input, input)
    }

    /// The agent behind an executor, if there is one.
    pub fn agent(&self, executor: &str) -> Option<&AgentProfile> {
        match &self.graph.executor(executor)?.kind {
            ExecutorKind::Agent { agent } => self.agents.get(agent),
            // A coordinator is called what its agent is called.
            ExecutorKind::Coordinator => self.agents.get(executor),
            _ => None,
        }
    }

    pub(crate) fn executor(&self, name: &str) -> Option<&Arc<dyn Executor>> {
        self.executors.get(self.graph.position(name)?)
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { graph: &self.graph, limits: &self.workflow.limits }
    }
}

/// The gates of a definition, ready to judge.
fn policy(workflow: &Workflow) -> Result<Policy, ErrorInfo> {
    let mut gates = Vec::with_capacity(workflow.gates.len());
    let ask_tools = workflow.in_phases().is_some_and(|phases| phases.asks().tools);
    for file in workflow.gates.iter().chain(ask_tools.then(Phases::tool_gate).iter()) {
        gates.push(Gate::compile(file.clone()).map_err(|problems| {
            let said: Vec<String> = problems.into_iter().map(|it| it.message).collect();
            let message = format!("gate `{}`: {}", file.name, said.join("; "));
            ErrorInfo::new("invalid_workflow", message)
        })?);
    }
    Ok(Policy { gates, smart: workflow.smart.clone().unwrap_or_default(), shadow: false })
}
