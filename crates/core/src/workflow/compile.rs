//! From a definition to the graph that runs are routed by.

use std::sync::Arc;

use super::{EdgeFile, ExecutorFile, Pattern, Workflow};
use crate::expr::Expr;
use crate::graph::{Edge, ExecutorDef, ExecutorKind, Graph};
use crate::id::Name;

/// The names an edge's condition may use.
pub const EDGE_VARIABLES: &[&str] = &["output", "input", "visits"];
/// The names a transformation may use.
pub const TRANSFORM_VARIABLES: &[&str] = &["output", "input"];

/// The names the end of a handoff may be decided by.
pub const HANDOFF_VARIABLES: &[&str] = &["agent", "text", "turns", "answers", "input"];
/// The names the next speaker and the end of a group chat may be decided by.
pub const CHAT_VARIABLES: &[&str] = &["last", "text", "round", "agents", "input"];

impl Workflow {
    /// The graph of this definition. Fails only on a definition that was not validated.
    pub fn graph(&self) -> Result<Graph, String> {
        match self.pattern {
            Pattern::Coordinator => self.coordinator_graph(),
            Pattern::Sequential => self.sequential_graph(),
            Pattern::Concurrent => self.concurrent_graph(),
            Pattern::Handoff => self.handoff_graph(),
            Pattern::GroupChat => self.group_chat_graph(),
            Pattern::Phases => self.phases_graph(),
            Pattern::Graph => self.listed_graph(),
        }
    }

    /// The agents as executors, and one that leads them by calling them.
    fn coordinator_graph(&self) -> Result<Graph, String> {
        let settings = self.coordinator.as_ref().ok_or("`coordinator` is missing")?;
        let mut executors = vec![ExecutorDef {
            name: settings.agent.as_str().into(),
            kind: ExecutorKind::Coordinator,
        }];
        executors.extend(settings.specialists.iter().map(|name| agent(name)));
        Ok(Graph::new(settings.agent.as_str(), executors, Vec::new()))
    }

    fn sequential_graph(&self) -> Result<Graph, String> {
        let agents = &self.sequential.as_ref().ok_or("`sequential` is missing")?.agents;
        let first = agents.first().ok_or("`sequential.agents` is empty")?;
        let edges = agents.windows(2).map(|pair| direct(&pair[0], &pair[1..])).collect();
        Ok(Graph::new(first.as_str(), agents.iter().map(|name| agent(name)).collect(), edges))
    }

    /// `start` hands the input to all agents; `join` collects what they gave.
    fn concurrent_graph(&self) -> Result<Graph, String> {
        let settings = self.concurrent.as_ref().ok_or("`concurrent` is missing")?;
        let same = Arc::new(Expr::compile("output", TRANSFORM_VARIABLES)?);
        let mut executors = vec![transform("start", &same)];
        executors.extend(settings.agents.iter().map(|name| agent(name)));
        let end = if let Some(aggregator) = &settings.aggregator {
            executors.push(agent(aggregator));
            aggregator.as_str()
        } else {
            executors.push(transform("join", &same));
            "join"
        };
        let edges = vec![
            direct("start", &settings.agents),
            Edge::FanIn { from: names(&settings.agents), to: end.into() },
        ];
        Ok(Graph::new("start", executors, edges))
    }

    /// The agents as executors, and one without an agent that calls them.
    fn handoff_graph(&self) -> Result<Graph, String> {
        let settings = self.handoff.as_ref().ok_or("`handoff` is missing")?;
        let until = condition(settings.until.as_ref(), HANDOFF_VARIABLES)?;
        let lead = ExecutorDef { name: "handoff".into(), kind: ExecutorKind::Handoff { until } };
        let agents = settings.agents.iter().map(|name| agent(name));
        let executors = std::iter::once(lead).chain(agents).collect();
        Ok(Graph::new("handoff", executors, Vec::new()))
    }

    fn group_chat_graph(&self) -> Result<Graph, String> {
        let settings = self.group_chat.as_ref().ok_or("`group_chat` is missing")?;
        let until = condition(settings.until.as_ref(), CHAT_VARIABLES)?;
        let rule = condition(settings.rule.as_ref(), CHAT_VARIABLES)?;
        let lead = ExecutorKind::GroupChat { until, rule };
        let mut executors = vec![ExecutorDef { name: "group_chat".into(), kind: lead }];
        let others = settings.moderator.iter().chain(&settings.summarizer);
        executors.extend(settings.agents.iter().chain(others).map(|name| agent(name)));
        Ok(Graph::new("group_chat", executors, Vec::new()))
    }

    fn phases_graph(&self) -> Result<Graph, String> {
        let settings = self.phases.as_ref().ok_or("`phases` is missing")?;
        let mut executors = vec![ExecutorDef { name: "phases".into(), kind: ExecutorKind::Phases }];
        executors.extend(settings.agents().map(|name| agent(name)));
        Ok(Graph::new("phases", executors, Vec::new()))
    }

    fn listed_graph(&self) -> Result<Graph, String> {
        let mut executors = Vec::new();
        for (name, file) in &self.executors {
            executors.push(ExecutorDef { name: name.as_str().into(), kind: executor(file)? });
        }
        for name in self.agents.keys().filter(|name| !self.executors.contains_key(*name)) {
            executors.push(agent(name));
        }
        let edges = self.edges.iter().map(edge).collect::<Result<Vec<_>, _>>()?;
        let start = self.start.as_deref().ok_or("`start` is missing")?;
        Ok(Graph::new(start, executors, edges))
    }
}

fn condition(source: Option<&String>, known: &[&str]) -> Result<Option<Arc<Expr>>, String> {
    source.map(|text| Expr::compile(text, known).map(Arc::new)).transpose()
}

fn agent(name: &str) -> ExecutorDef {
    ExecutorDef { name: name.into(), kind: ExecutorKind::Agent { agent: name.into() } }
}

fn transform(name: &str, expr: &Arc<Expr>) -> ExecutorDef {
    ExecutorDef { name: name.into(), kind: ExecutorKind::Transform { expr: Arc::clone(expr) } }
}

fn direct(from: &str, to: &[String]) -> Edge {
    Edge::Direct { from: from.into(), to: names(to), when: None, max: None }
}

fn names(list: &[String]) -> Vec<Name> {
    list.iter().map(|name| name.as_str().into()).collect()
}

/// What an executor can be.
pub(super) const EXECUTOR_KINDS: &str = "agent, function, transform, ask, ask_given, workflow";

fn executor(file: &ExecutorFile) -> Result<ExecutorKind, String> {
    let ExecutorFile { agent, function, transform, ask, ask_given, workflow } = file;
    Ok(match (agent, function, transform, ask, ask_given, workflow) {
        (Some(agent), None, None, None, None, None) => {
            ExecutorKind::Agent { agent: agent.as_str().into() }
        }
        (None, Some(name), None, None, None, None) => {
            ExecutorKind::Function { name: name.as_str().into() }
        }
        (None, None, Some(source), None, None, None) => {
            ExecutorKind::Transform { expr: Arc::new(Expr::compile(source, TRANSFORM_VARIABLES)?) }
        }
        (None, None, None, Some(ask), None, None) => ExecutorKind::Ask {
            kind: ask.kind,
            prompt: ask.prompt.clone(),
            options: ask.options.clone(),
            risk: ask.risk,
            within: ask.within,
        },
        (None, None, None, None, Some(ask), None) => {
            ExecutorKind::AskGiven { within: ask.within, who: ask.who.clone() }
        }
        (None, None, None, None, None, Some(id)) => {
            ExecutorKind::Workflow { id: id.as_str().into() }
        }
        _ => {
            return Err(format!("an executor is exactly one of {EXECUTOR_KINDS}"));
        }
    })
}

fn edge(file: &EdgeFile) -> Result<Edge, String> {
    let from = file.from.names();
    let condition = |source: &Option<String>| condition(source.as_ref(), EDGE_VARIABLES);
    let single = || from.first().cloned().ok_or_else(|| "`from` is empty".to_owned());
    if !file.switch.is_empty() {
        let cases = file
            .switch
            .iter()
            .map(|case| Ok((condition(&case.when)?, case.to.as_str().into())))
            .collect::<Result<Vec<_>, String>>()?;
        return Ok(Edge::Switch { from: single()?, cases, max: file.max });
    }
    let to = file.to.as_ref().ok_or("an edge needs `to` or `switch`")?.names();
    if from.len() > 1 {
        let to = to.into_iter().next().ok_or("`to` is empty")?;
        return Ok(Edge::FanIn { from, to });
    }
    Ok(Edge::Direct { from: single()?, to, when: condition(&file.when)?, max: file.max })
}
