//! A workflow and its graph.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use signoff_core::graph::{Edge, ExecutorKind};
use signoff_core::workflow::Pattern;
use signoff_runtime::Definition;

/// A workflow that can be started, in short.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkflowSummary {
    /// Its id.
    id: String,
    /// The content hash of its definition.
    version: String,
    /// What it does.
    description: String,
    /// How its agents work together.
    pattern: Pattern,
    /// JSON Schema of the input of a run.
    input_schema: Value,
    /// Inputs to try it with.
    samples: Vec<Value>,
    /// Its agents.
    agents: Vec<Agent>,
}

/// A workflow that can be started.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Workflow {
    #[serde(flatten)]
    summary: WorkflowSummary,
    /// Its executors and the ways between them.
    graph: Graph,
    /// The definition itself, as its file says it.
    definition: Value,
}

/// An agent of a workflow.
#[derive(Debug, Serialize, JsonSchema)]
struct Agent {
    /// Its id.
    id: String,
    /// What people call it.
    name: String,
}

/// Executors and edges.
#[derive(Debug, Serialize, JsonSchema)]
struct Graph {
    /// Where a run begins.
    start: String,
    /// The executors.
    executors: Vec<Node>,
    /// The ways between them.
    edges: Vec<Way>,
}

/// An executor.
#[derive(Debug, Serialize, JsonSchema)]
struct Node {
    /// Its name.
    name: String,
    /// `agent`, `coordinator`, `handoff`, `group_chat`, `phases`, `function`, `transform`, `ask`, `ask_given` or `workflow`.
    kind: &'static str,
    /// The agent, function or workflow it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
}

/// A way from executors to others.
#[derive(Debug, Serialize, JsonSchema)]
struct Way {
    /// `direct`, `switch` or `fan_in`.
    kind: &'static str,
    /// Where it starts.
    from: Vec<String>,
    /// Where it can lead.
    to: Vec<String>,
    /// How often it may be taken in one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
}

impl From<&Definition> for WorkflowSummary {
    fn from(definition: &Definition) -> Self {
        let workflow = &definition.workflow;
        let agents = workflow.agents.iter().map(|(id, agent)| Agent {
            id: id.clone(),
            name: agent.name.clone().unwrap_or_else(|| id.clone()),
        });
        Self {
            id: workflow.id.clone(),
            version: definition.version.to_string(),
            description: workflow.description.clone(),
            pattern: workflow.pattern,
            input_schema: workflow.input_schema(),
            samples: workflow.samples.clone(),
            agents: agents.collect(),
        }
    }
}

impl From<&Definition> for Workflow {
    fn from(definition: &Definition) -> Self {
        let graph = &definition.graph;
        let node = |def: &signoff_core::ExecutorDef| {
            let (kind, of) = kind(&def.kind);
            Node { name: def.name.to_string(), kind, of }
        };
        let way = |edge: &Edge| Way {
            kind: match edge {
                Edge::Direct { .. } => "direct",
                Edge::Switch { .. } => "switch",
                Edge::FanIn { .. } => "fan_in",
            },
            from: edge.sources().iter().map(ToString::to_string).collect(),
            to: edge.targets().into_iter().map(ToString::to_string).collect(),
            max: edge.max(),
        };
        Self {
            summary: definition.into(),
            graph: Graph {
                start: graph.start().to_string(),
                executors: graph.executors().iter().map(node).collect(),
                edges: graph.edges().iter().map(way).collect(),
            },
            definition: serde_json::to_value(&definition.workflow).unwrap_or_default(),
        }
    }
}

fn kind(kind: &ExecutorKind) -> (&'static str, Option<String>) {
    match kind {
        ExecutorKind::Agent { agent } => ("agent", Some(agent.to_string())),
        ExecutorKind::Coordinator => ("coordinator", None),
        ExecutorKind::Handoff { .. } => ("handoff", None),
        ExecutorKind::GroupChat { .. } => ("group_chat", None),
        ExecutorKind::Phases => ("phases", None),
        ExecutorKind::Function { name } => ("function", Some(name.to_string())),
        ExecutorKind::Transform { .. } => ("transform", None),
        ExecutorKind::Ask { .. } => ("ask", None),
        ExecutorKind::AskGiven { .. } => ("ask_given", None),
        ExecutorKind::Workflow { id } => ("workflow", Some(id.to_string())),
    }
}
