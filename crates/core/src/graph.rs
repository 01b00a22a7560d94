//! The graph of a workflow: executors and the edges between them, ready to route by.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::expr::Expr;
use crate::id::Name;
use crate::request::RequestKind;

/// One node of a workflow.
#[derive(Clone, Debug)]
pub struct ExecutorDef {
    /// Its name.
    pub name: Name,
    /// What it does.
    pub kind: ExecutorKind,
}

/// What an executor does.
#[derive(Clone, Debug)]
pub enum ExecutorKind {
    /// An agent of the workflow takes a turn.
    Agent {
        /// Which agent.
        agent: Name,
    },
    /// A coordinator sends the work round its specialists.
    Coordinator,
    /// Agents hand the conversation to each other.
    Handoff {
        /// When the run ends.
        until: Option<Arc<Expr>>,
    },
    /// Agents speak in turn.
    GroupChat {
        /// When the chat ends.
        until: Option<Arc<Expr>>,
        /// Who speaks next.
        rule: Option<Arc<Expr>>,
    },
    /// A plan is made and carried out.
    Phases,
    /// A function registered with the engine under this name.
    Function {
        /// Its name there.
        name: Name,
    },
    /// A CEL expression makes the output from the message.
    Transform {
        /// The expression; it sees `output` (the message) and `input` (the run's).
        expr: Arc<Expr>,
    },
    /// A person is asked.
    Ask {
        /// What kind of question.
        kind: RequestKind,
        /// The question.
        prompt: String,
        /// The answers of a selection.
        options: Vec<String>,
        /// How much can go wrong.
        risk: Option<crate::request::Risk>,
        /// How long it waits.
        within: Option<crate::time::Span>,
    },
    /// A person is asked what the message says.
    AskGiven {
        /// How long it waits, if the message does not say.
        within: Option<crate::time::Span>,
        /// Who may decide, besides what the message says of it.
        who: Option<crate::deciders::Who>,
    },
    /// Another workflow runs as a run of its own.
    Workflow {
        /// Its id.
        id: Name,
    },
}

/// A way from one executor to another.
#[derive(Clone, Debug)]
pub enum Edge {
    /// From one executor to others. With several edges out of one executor, each is judged by itself.
    Direct {
        /// Where it starts.
        from: Name,
        /// Where it leads: one executor, or several for a fan-out.
        to: Vec<Name>,
        /// When it is taken; always, if empty.
        when: Option<Arc<Expr>>,
        /// How often it may be taken in one run.
        max: Option<u32>,
    },
    /// The first case whose condition holds.
    Switch {
        /// Where it starts.
        from: Name,
        /// Condition and target; no condition means always.
        cases: Vec<(Option<Arc<Expr>>, Name)>,
        /// How often it may be taken in one run.
        max: Option<u32>,
    },
    /// Waits for all its sources, then delivers their outputs together.
    FanIn {
        /// Where it starts.
        from: Vec<Name>,
        /// Where it leads.
        to: Name,
    },
}

impl Edge {
    /// The executors it starts from.
    pub fn sources(&self) -> &[Name] {
        match self {
            Self::Direct { from, .. } | Self::Switch { from, .. } => std::slice::from_ref(from),
            Self::FanIn { from, .. } => from,
        }
    }

    /// The executors it can lead to.
    pub fn targets(&self) -> Vec<&Name> {
        match self {
            Self::Direct { to, .. } => to.iter().collect(),
            Self::Switch { cases, .. } => cases.iter().map(|(_, to)| to).collect(),
            Self::FanIn { to, .. } => vec![to],
        }
    }

    /// How often it may be taken in one run.
    pub fn max(&self) -> Option<u32> {
        match self {
            Self::Direct { max, .. } | Self::Switch { max, .. } => *max,
            Self::FanIn { .. } => None,
        }
    }
}

/// Executors and edges, indexed.
#[derive(Clone, Debug)]
pub struct Graph {
    start: Name,
    executors: Vec<ExecutorDef>,
    edges: Vec<Edge>,
    by_name: HashMap<Name, usize>,
    /// For each executor, the numbers of the edges that leave it.
    out: Vec<Vec<u32>>,
}

impl Graph {
    /// A graph that begins at `start`. Names are expected to have been checked; an edge to or from an
    /// unknown executor is never taken. A source named twice in one fan-in counts once.
    pub fn new(start: impl Into<Name>, executors: Vec<ExecutorDef>, mut edges: Vec<Edge>) -> Self {
        for edge in &mut edges {
            if let Edge::FanIn { from, .. } = edge {
                let mut seen = HashSet::new();
                from.retain(|source| seen.insert(source.clone()));
            }
        }
        let by_name: HashMap<Name, usize> =
            executors.iter().enumerate().map(|(n, def)| (def.name.clone(), n)).collect();
        let mut out = vec![Vec::new(); executors.len()];
        for (number, edge) in (0_u32..).zip(&edges) {
            for source in edge.sources() {
                if let Some(&n) = by_name.get(source) {
                    out[n].push(number);
                }
            }
        }
        Self { start: start.into(), executors, edges, by_name, out }
    }

    /// Where a run begins.
    pub fn start(&self) -> &Name {
        &self.start
    }

    /// All executors, in the order of the definition.
    pub fn executors(&self) -> &[ExecutorDef] {
        &self.executors
    }

    /// All edges, in the order of the definition.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The executor of this name.
    pub fn executor(&self, name: &str) -> Option<&ExecutorDef> {
        self.by_name.get(name).map(|&n| &self.executors[n])
    }

    /// The position of an executor in [`Graph::executors`].
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The edge of this number.
    pub fn edge(&self, number: u32) -> Option<&Edge> {
        self.edges.get(number as usize)
    }

    /// The numbers of the edges that leave `executor`.
    pub fn leaving(&self, executor: &str) -> &[u32] {
        self.by_name.get(executor).map_or(&[], |&n| &self.out[n])
    }
}
