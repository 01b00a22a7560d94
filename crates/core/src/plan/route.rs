//! Where an output goes.

use serde_json::Value;

use super::Rules;
use crate::graph::Edge;
use crate::id::{ActivationId, Name};
use crate::journal::{Completed, Delivered, ErrorInfo, Event, Next, Payload};
use crate::state::RunState;

/// The events after an activation has given `output`.
pub fn completed(
    state: &RunState,
    rules: Rules<'_>,
    activation: ActivationId,
    output: Payload,
) -> Vec<Event> {
    let Some(done) = state.open.get(&activation) else {
        return Vec::new();
    };
    let mut completed = Completed { activation, output, next: Vec::new(), joined: Vec::new() };
    let mut events: Vec<Event> = withdrawn(state, Some(activation)).collect();
    let leaving = rules.graph.leaving(&done.executor);
    // A called executor answers its caller; edges are for what is sent.
    if done.caller.is_some() || leaving.is_empty() {
        events.push(Event::Completed(completed));
        return events;
    }
    let mut taken = Taken::default();
    for &number in leaving {
        let Some(edge) = rules.graph.edge(number) else { continue };
        if let Err(problem) =
            take(state, &done.executor, number, edge, &completed.output, &mut taken)
        {
            let error = ErrorInfo::new("edge_condition", problem)
                .hint("an edge's condition must give true or false for every output it can see");
            return withdrawn(state, None).chain([Event::RunFailed { error }]).collect();
        }
    }
    let mut id = state.last_activation;
    for (edge, to) in taken.next {
        id += 1;
        completed.next.push(Next { activation: id, to, edge });
    }
    completed.joined = taken.joined;
    events.push(Event::Completed(completed));
    for (edge, to) in taken.full {
        id += 1;
        events.push(Event::Delivered(Delivered {
            activation: id,
            to,
            payload: Payload::Join(edge),
            from: None,
            caller: None,
        }));
    }
    if id > rules.limits.activations {
        let error = ErrorInfo::new(
            "limit_activations",
            format!("the run opened {id} activations, more than its limit allows"),
        )
        .hint("look for a loop, or raise limits.activations in the workflow file");
        return withdrawn(state, None).chain([Event::RunFailed { error }]).collect();
    }
    events
}

#[derive(Default)]
struct Taken {
    next: Vec<(u32, Name)>,
    joined: Vec<u32>,
    full: Vec<(u32, Name)>,
}

/// Looks whether `edge` is taken, and what follows.
fn take(
    state: &RunState,
    executor: &Name,
    number: u32,
    edge: &Edge,
    output: &Payload,
    taken: &mut Taken,
) -> Result<(), String> {
    let used_up = |max: &Option<u32>| {
        max.is_some_and(|max| state.edge_uses.get(&number).copied().unwrap_or(0) >= max)
    };
    match edge {
        Edge::Direct { max, .. } | Edge::Switch { max, .. } if used_up(max) => {}
        Edge::Direct { to, when, .. } => {
            if holds(state, when.as_deref(), output)? {
                taken.next.extend(to.iter().map(|to| (number, to.clone())));
            }
        }
        Edge::Switch { cases, .. } => {
            for (when, to) in cases {
                if holds(state, when.as_deref(), output)? {
                    taken.next.push((number, to.clone()));
                    break;
                }
            }
        }
        Edge::FanIn { from, to } => {
            taken.joined.push(number);
            let arrived = state.joins.get(&number);
            // A second arrival of a source that is already there waits for the next round.
            let first = !arrived.is_some_and(|arrived| arrived.contains_key(executor));
            let others = arrived.map_or(0, std::collections::BTreeMap::len);
            if first && others + 1 == from.len() {
                taken.full.push((number, to.clone()));
            }
        }
    }
    Ok(())
}

fn holds(
    state: &RunState,
    when: Option<&crate::expr::Expr>,
    output: &Payload,
) -> Result<bool, String> {
    let Some(when) = when else {
        return Ok(true);
    };
    let output = state.resolve(output).map_err(|error| error.to_string())?;
    let visits: Value =
        state.visits.iter().map(|(name, &n)| (name.to_string(), Value::from(n))).collect();
    when.holds(&[("output", &output), ("input", &state.input), ("visits", &visits)])
}

/// The events after an activation has failed.
pub fn failed(state: &RunState, activation: ActivationId, error: ErrorInfo) -> Vec<Event> {
    match state.open.get(&activation) {
        None => Vec::new(),
        Some(open) if open.caller.is_some() => withdrawn(state, Some(activation))
            .chain([Event::Failed { activation, error }])
            .collect(),
        Some(_) => {
            let end =
                [Event::Failed { activation, error: error.clone() }, Event::RunFailed { error }];
            withdrawn(state, None).chain(end).collect()
        }
    }
}

/// What waits for people is taken back, when whoever asked has gone on without it: all of it, or
/// what one activation asked.
fn withdrawn(
    state: &RunState,
    activation: Option<ActivationId>,
) -> impl Iterator<Item = Event> + '_ {
    state
        .pending()
        .filter(move |(_, waits)| {
            activation.is_none_or(|activation| waits.activation == activation)
        })
        .map(|(request, _)| Event::Withdrawn { request, by: None, reason: None })
}

/// The event that ends a run in which nothing is open any more.
pub fn settle(state: &RunState, rules: Rules<'_>) -> Option<Event> {
    if state.end.is_some() || !state.open.is_empty() {
        return None;
    }
    let Some((&number, arrived)) = state.joins.iter().next() else {
        return Some(Event::RunCompleted {});
    };
    let (missing, to) = match rules.graph.edge(number) {
        Some(Edge::FanIn { from, to }) => (
            from.iter().filter(|source| !arrived.contains_key(*source)).cloned().collect(),
            to.clone(),
        ),
        _ => (Vec::new(), Name::from("?")),
    };
    let error = ErrorInfo::new(
        "join_incomplete",
        format!(
            "`{to}` still waits for {}, and nothing is left that could send it",
            missing.join(", ")
        ),
    )
    .hint("every source of a fan-in must be reached whenever one of them is");
    Some(Event::RunFailed { error })
}
