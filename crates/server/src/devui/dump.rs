//! A workflow's graph in the words of the Agent Framework, from which the page draws it.
//!
//! Patterns whose lead calls the others have no edges here; they are drawn as what can happen: who may be
//! called, and who may hand to whom.

use serde_json::{Map, Value, json};
use signoff_core::graph::{Edge, ExecutorKind};
use signoff_core::workflow::Workflow;
use signoff_runtime::{Definition, Engine};

/// How deep workflows inside workflows are shown.
const MAX_DEPTH: usize = 4;

/// The graph of a workflow.
pub(super) fn dump(engine: &Engine, definition: &Definition) -> Value {
    at_depth(engine, definition, 0)
}

fn at_depth(engine: &Engine, definition: &Definition, depth: usize) -> Value {
    let (workflow, graph) = (&definition.workflow, &definition.graph);
    let mut executors: Map<String, Value> = Map::new();
    for executor in graph.executors() {
        let (kind, of) = kind(&executor.kind);
        let mut shown = json!({ "id": executor.name, "type": kind });
        if let Some(agent) = of.and_then(|of| workflow.agents.get(of)) {
            shown["name"] = agent.name.as_deref().unwrap_or(&executor.name).into();
        }
        if let ExecutorKind::Workflow { id } = &executor.kind
            && depth < MAX_DEPTH
            && let Some(part) = workflow.uses.get(&**id)
            && let Ok(part) = engine.definition(part)
        {
            shown["workflow"] = at_depth(engine, &part, depth + 1);
        }
        executors.insert(executor.name.to_string(), shown);
    }
    let mut groups: Vec<Value> = graph.edges().iter().map(group).collect();
    groups.extend(called(workflow, graph.start()));
    for (number, group) in groups.iter_mut().enumerate() {
        let id = format!("{}/{number}", group["type"].as_str().unwrap_or_default());
        group["id"] = id.into();
    }
    json!({
        "name": workflow.id,
        "id": definition.version,
        "description": workflow.description,
        "start_executor_id": graph.start(),
        "max_iterations": workflow.limits.activations,
        "edge_groups": groups,
        "executors": executors,
        "output_executors": null,
        "intermediate_executors": null,
    })
}

/// What an executor is there, and the agent it stands for.
fn kind(kind: &ExecutorKind) -> (&'static str, Option<&str>) {
    match kind {
        ExecutorKind::Agent { agent } => ("AgentExecutor", Some(agent)),
        ExecutorKind::Coordinator => ("Coordinator", None),
        ExecutorKind::Handoff { .. } => ("HandoffExecutor", None),
        ExecutorKind::GroupChat { .. } => ("GroupChatOrchestrator", None),
        ExecutorKind::Phases => ("Phases", None),
        ExecutorKind::Function { .. } => ("FunctionExecutor", None),
        ExecutorKind::Transform { .. } => ("Transform", None),
        ExecutorKind::Ask { .. } | ExecutorKind::AskGiven { .. } => ("RequestInfoExecutor", None),
        ExecutorKind::Workflow { .. } => ("WorkflowExecutor", None),
    }
}

fn group(edge: &Edge) -> Value {
    match edge {
        Edge::Direct { from, to, when, .. } => {
            let condition = when.as_ref().map(|when| when.source());
            let kind = if to.len() > 1 { "FanOutEdgeGroup" } else { "SingleEdgeGroup" };
            let edges = to.iter().map(|to| way(from, to, condition));
            of_type(kind, edges)
        }
        Edge::Switch { from, cases, .. } => {
            let edges = cases
                .iter()
                .map(|(when, to)| way(from, to, when.as_ref().map(|when| when.source())));
            let mut group = of_type("SwitchCaseEdgeGroup", edges);
            let cases = cases.iter().map(|(when, to)| match when {
                Some(when) => {
                    json!({ "target_id": to, "type": "Case", "condition_name": when.source() })
                }
                None => json!({ "target_id": to, "type": "Default" }),
            });
            group["cases"] = cases.collect();
            group
        }
        Edge::FanIn { from, to } => {
            of_type("FanInEdgeGroup", from.iter().map(|from| way(from, to, None)))
        }
    }
}

/// The ways of a pattern whose lead calls the others.
fn called(workflow: &Workflow, lead: &str) -> Vec<Value> {
    let mut groups = Vec::new();
    if let Some(coordinator) = &workflow.coordinator {
        groups.push(chosen(lead, &coordinator.specialists, "next_agent"));
        groups.extend(coordinator.specialists.iter().map(|from| single(from, lead)));
    }
    if let Some(chat) = &workflow.group_chat {
        let others = chat.moderator.iter().chain(&chat.summarizer);
        let all: Vec<String> = chat.agents.iter().chain(others).cloned().collect();
        groups.push(chosen(lead, &all, "next_speaker"));
        groups.extend(all.iter().map(|from| single(from, lead)));
    }
    if let Some(phases) = &workflow.phases {
        let all: Vec<String> = phases.agents().cloned().collect();
        groups.push(chosen(lead, &all, "next"));
        groups.extend(all.iter().map(|from| single(from, lead)));
    }
    if let Some(handoff) = &workflow.handoff {
        let start = handoff.start.as_ref().or(handoff.agents.first());
        groups.extend(start.map(|start| single(lead, start)));
        for agent in &handoff.agents {
            let anybody = handoff.agents.iter().filter(|it| *it != agent).cloned().collect();
            let targets = match handoff.handoffs.get(agent) {
                Some(targets) => targets.clone(),
                None if handoff.handoffs.is_empty() => anybody,
                None => Vec::new(),
            };
            if !targets.is_empty() {
                groups.push(chosen(agent, &targets, "handoff"));
            }
        }
    }
    groups
}

/// From one to whom it chooses.
fn chosen(from: &str, to: &[String], by: &str) -> Value {
    if let [only] = to {
        return single(from, only);
    }
    let edges = to.iter().map(|to| way(from, to, None));
    let mut group = of_type("FanOutEdgeGroup", edges);
    group["selection_func_name"] = by.into();
    group
}

fn single(from: &str, to: &str) -> Value {
    of_type("SingleEdgeGroup", std::iter::once(way(from, to, None)))
}

fn of_type(kind: &str, edges: impl Iterator<Item = Value>) -> Value {
    json!({ "id": "", "type": kind, "edges": edges.collect::<Vec<_>>() })
}

fn way(from: &str, to: &str, condition: Option<&str>) -> Value {
    let mut way = json!({ "source_id": from, "target_id": to });
    if let Some(condition) = condition {
        way["condition_name"] = condition.into();
    }
    way
}
