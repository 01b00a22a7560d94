//! Workflows written in Rust: async functions as executors, edges between them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use serde_json::Value;
use signoff_core::Workflow;
use signoff_core::journal::ErrorInfo;
use signoff_core::policy::GateFile;
use signoff_core::workflow::{
    Agent, AskFile, AskGivenFile, CaseFile, EdgeFile, ExecutorFile, Limits, OneOrMany, Pattern,
};

use crate::context::Context;
use crate::engine::EngineBuilder;
use crate::executor::{Executor, Function};

/// A workflow built in Rust. The first executor added is where a run begins.
pub struct WorkflowBuilder {
    workflow: Workflow,
    functions: Vec<(String, Arc<dyn Executor>)>,
}

impl std::fmt::Debug for WorkflowBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WorkflowBuilder({})", self.workflow.id)
    }
}

impl WorkflowBuilder {
    /// A workflow of this id, with nothing in it.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            workflow: Workflow {
                id: id.into(),
                description: String::new(),
                model: "default".to_owned(),
                input: Some(Value::Bool(true)),
                samples: Vec::new(),
                types: BTreeMap::new(),
                agents: BTreeMap::new(),
                tools: BTreeMap::new(),
                pattern: Pattern::Graph,
                coordinator: None,
                sequential: None,
                concurrent: None,
                handoff: None,
                group_chat: None,
                phases: None,
                executors: BTreeMap::new(),
                edges: Vec::new(),
                start: None,
                costs: BTreeMap::new(),
                gates: Vec::new(),
                smart: None,
                limits: Limits::default(),
                uses: BTreeMap::new(),
            },
            functions: Vec::new(),
        }
    }

    /// What it does, for people.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.workflow.description = text.into();
        self
    }

    /// JSON Schema of the input. Anything, if not given.
    #[must_use]
    pub fn input(mut self, schema: Value) -> Self {
        self.workflow.input = Some(schema);
        self
    }

    /// Bounds on a run.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.workflow.limits = limits;
        self
    }

    /// Which actions need a person.
    #[must_use]
    pub fn gates(mut self, gates: Vec<GateFile>) -> Self {
        self.workflow.gates = gates;
        self
    }

    /// An async function as an executor. Its code is not part of the definition's hash: change the
    /// workflow's id or description when runs that wait must not go on with new code.
    #[must_use]
    pub fn function<F, Fut>(mut self, name: &str, body: F) -> Self
    where
        F: Fn(Context, Arc<Value>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ErrorInfo>> + Send + 'static,
    {
        let registered = format!("{}/{name}", self.workflow.id);
        self.functions.push((registered.clone(), Arc::new(Function(body))));
        self.executor(name, ExecutorFile { function: Some(registered), ..ExecutorFile::default() })
    }

    /// A question to people as an executor.
    #[must_use]
    pub fn ask(self, name: &str, ask: AskFile) -> Self {
        self.executor(name, ExecutorFile { ask: Some(ask), ..ExecutorFile::default() })
    }

    /// A question that comes with the message as an executor.
    #[must_use]
    pub fn ask_given(self, name: &str, ask: AskGivenFile) -> Self {
        self.executor(name, ExecutorFile { ask_given: Some(ask), ..ExecutorFile::default() })
    }

    /// A CEL expression over `output` (the message) and `input` (the run's) as an executor.
    #[must_use]
    pub fn transform(self, name: &str, expr: &str) -> Self {
        let transform = Some(expr.to_owned());
        self.executor(name, ExecutorFile { transform, ..ExecutorFile::default() })
    }

    /// An agent, which is an executor of the same name.
    #[must_use]
    pub fn agent(mut self, name: &str, agent: Agent) -> Self {
        self.workflow.agents.insert(name.to_owned(), agent);
        let file = ExecutorFile { agent: Some(name.to_owned()), ..ExecutorFile::default() };
        self.executor(name, file)
    }

    /// Another workflow as an executor. It must be given to the same engine before this one.
    #[must_use]
    pub fn sub_workflow(mut self, name: &str, workflow: &Workflow) -> Self {
        self.workflow.uses.insert(workflow.id.clone(), workflow.version());
        let id = Some(workflow.id.clone());
        self.executor(name, ExecutorFile { workflow: id, ..ExecutorFile::default() })
    }

    fn executor(mut self, name: &str, file: ExecutorFile) -> Self {
        self.workflow.start.get_or_insert_with(|| name.to_owned());
        self.workflow.executors.insert(name.to_owned(), file);
        self
    }

    /// An edge that is always taken.
    #[must_use]
    pub fn edge(self, from: &str, to: &str) -> Self {
        self.any_edge(one(from), Some(one(to)), None, None)
    }

    /// An edge that is taken when a CEL condition over `output`, `input` and `visits` holds, at most
    /// `max` times in a run.
    #[must_use]
    pub fn edge_when(self, from: &str, to: &str, when: &str, max: Option<u32>) -> Self {
        self.any_edge(one(from), Some(one(to)), Some(when.to_owned()), max)
    }

    /// From one executor to several at once.
    #[must_use]
    pub fn fan_out(self, from: &str, to: &[&str]) -> Self {
        self.any_edge(one(from), Some(many(to)), None, None)
    }

    /// From several executors to one, when all of them have given something.
    #[must_use]
    pub fn fan_in(self, from: &[&str], to: &str) -> Self {
        self.any_edge(many(from), Some(one(to)), None, None)
    }

    /// The first case that holds. A case without a condition always does.
    #[must_use]
    pub fn switch(mut self, from: &str, cases: &[(Option<&str>, &str)]) -> Self {
        let switch = cases
            .iter()
            .map(|(when, to)| CaseFile { when: when.map(str::to_owned), to: (*to).to_owned() })
            .collect();
        let edge = EdgeFile { from: one(from), to: None, when: None, switch, max: None };
        self.workflow.edges.push(edge);
        self
    }

    fn any_edge(
        mut self,
        from: OneOrMany,
        to: Option<OneOrMany>,
        when: Option<String>,
        max: Option<u32>,
    ) -> Self {
        self.workflow.edges.push(EdgeFile { from, to, when, switch: Vec::new(), max });
        self
    }

    /// The definition by itself, without its functions.
    pub(crate) fn into_definition(self) -> Workflow {
        self.workflow
    }

    /// The definition.
    pub fn definition(&self) -> &Workflow {
        &self.workflow
    }
}

fn one(name: &str) -> OneOrMany {
    OneOrMany::One(name.to_owned())
}

fn many(names: &[&str]) -> OneOrMany {
    OneOrMany::Many(names.iter().map(|name| (*name).to_owned()).collect())
}

impl EngineBuilder {
    /// A workflow written in Rust, with its functions.
    #[must_use]
    pub fn built(mut self, builder: WorkflowBuilder) -> Self {
        for (name, function) in builder.functions {
            self = self.executor(name, function);
        }
        self.workflow(builder.workflow)
    }
}
