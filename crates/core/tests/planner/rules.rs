//! Every run comes to an end or to a question; joins and bounds are exact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use signoff_core::graph::{Edge, Graph};
use signoff_core::journal::{Entry, Event, Payload};
use signoff_core::state::RunEnd;
use signoff_core::{ActivationId, Decision, Name};

use super::play::{MAX_ACTIVATIONS, Play, choices, graphs};

/// Finishes whatever is open, oldest or newest first, until nothing is.
fn play_out(play: &mut Play, newest: bool) -> u32 {
    let mut finished = 0;
    loop {
        let open = &play.state.open;
        let next = if newest { open.last_key_value() } else { open.first_key_value() };
        let Some((&id, _)) = next else { return finished };
        play.finish(id, Ok(Payload::value(json!({ "n": finished }))));
        finished += 1;
        assert!(finished <= MAX_ACTIVATIONS + 1, "it does not end");
    }
}

/// What a journal says of edges: arrivals and firings of each fan-in, uses of each other edge.
#[derive(Default)]
struct Traffic {
    /// By edge and source.
    arrived: BTreeMap<(u32, Name), u32>,
    /// By edge.
    fired: BTreeMap<u32, u32>,
    uses: BTreeMap<u32, u32>,
}

fn traffic(graph: &Graph, entries: &[Entry]) -> Traffic {
    let mut traffic = Traffic::default();
    let mut executors: BTreeMap<ActivationId, Name> = BTreeMap::new();
    for entry in entries {
        match &entry.event {
            Event::Delivered(delivered) => {
                let fresh = executors.insert(delivered.activation, delivered.to.clone());
                assert!(fresh.is_none(), "activation {} opened twice", delivered.activation);
                if let Payload::Join(edge) = delivered.payload {
                    *traffic.fired.entry(edge).or_default() += 1;
                    let Some(Edge::FanIn { to, .. }) = graph.edge(edge) else {
                        panic!("edge {edge} is no fan-in");
                    };
                    assert_eq!(*to, delivered.to);
                }
            }
            Event::Completed(completed) => {
                let from = executors[&completed.activation].clone();
                for &edge in &completed.joined {
                    *traffic.arrived.entry((edge, from.clone())).or_default() += 1;
                }
                let mut taken = BTreeSet::new();
                for next in &completed.next {
                    let fresh = executors.insert(next.activation, next.to.clone());
                    assert!(fresh.is_none(), "activation {} opened twice", next.activation);
                    let edge = graph.edge(next.edge).unwrap();
                    assert!(edge.sources().contains(&from) && edge.targets().contains(&&next.to));
                    taken.insert(next.edge);
                }
                for edge in taken {
                    *traffic.uses.entry(edge).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    traffic
}

fn check_traffic(play: &Play, complete: bool) {
    let traffic = traffic(&play.graph, &play.entries);
    for (number, edge) in (0_u32..).zip(play.graph.edges()) {
        let uses = traffic.uses.get(&number).copied().unwrap_or(0);
        assert!(edge.max().is_none_or(|max| uses <= max), "edge {number}: {uses} of {edge:?}");
        assert_eq!(play.state.edge_uses.get(&number).copied().unwrap_or(0), uses);
        let Edge::FanIn { from, .. } = edge else { continue };
        let arrivals =
            |source: &Name| traffic.arrived.get(&(number, source.clone())).copied().unwrap_or(0);
        let least = from.iter().map(arrivals).min().unwrap_or(0);
        let fired = traffic.fired.get(&number).copied().unwrap_or(0);
        assert_eq!(fired, least, "edge {number} of {:?}", play.graph.edges());
        if complete && play.state.end == Some(RunEnd::Completed) {
            assert!(from.iter().all(|source| arrivals(source) == least), "arrivals left over");
        }
    }
    assert!(play.state.last_activation <= MAX_ACTIVATIONS);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn a_run_ends_in_a_bounded_number_of_activations(graph in graphs(), newest in any::<bool>()) {
        let mut play = Play::new(&graph);
        play_out(&mut play, newest);
        prop_assert!(play.state.end.is_some());
        let codes = ["join_incomplete", "limit_activations", "edge_condition"];
        if let Some(RunEnd::Failed(error)) = &play.state.end {
            prop_assert!(codes.contains(&error.code.as_str()), "{:?}", error);
        }
        check_traffic(&play, true);
    }

    #[test]
    fn whatever_happens_a_run_ends_or_waits(
        graph in graphs(),
        choices in choices(),
        newest in any::<bool>(),
    ) {
        let mut play = Play::through(&graph, &choices);
        check_traffic(&play, false);
        if let Some(end) = play.entries.iter().position(|entry| {
            matches!(entry.event, Event::RunCompleted {})
        }) {
            let before = signoff_core::RunState::fold(&play.entries[..end]).unwrap();
            prop_assert!(before.open.is_empty() && before.joins.is_empty());
            prop_assert!(before.pending().next().is_none());
        }
        if play.state.end.is_none() {
            prop_assert!(!play.state.open.is_empty(), "nothing is open, and it has not ended");
        }
        // Whoever waits for an answer gets one; then everything can be finished.
        let pending: Vec<u32> = play.state.pending().map(|(request, _)| request).collect();
        for request in pending {
            play.input(&signoff_core::Input::Decided {
                request,
                decision: Decision::respond("x"),
                by: signoff_core::Actor::local(),
                sent: None,
            });
        }
        prop_assert!(play.state.pending().next().is_none());
        play_out(&mut play, newest);
        prop_assert!(play.state.end.is_some());
        check_traffic(&play, true);
    }

    #[test]
    fn each_arrival_is_used_once_and_in_order(rounds in 1_usize..5, order in choices()) {
        // `start` is finished again and again; `a`, `b` and `c` meet at `end`.
        let names = ["start", "a", "b", "c", "end"];
        let executors = names
            .iter()
            .map(|name| signoff_core::ExecutorDef {
                name: (*name).into(),
                kind: signoff_core::ExecutorKind::Function { name: (*name).into() },
            })
            .collect();
        let edges = vec![
            Edge::Direct {
                from: "start".into(),
                to: names[..4].iter().map(|name| (*name).into()).collect(),
                when: None,
                max: Some(u32::try_from(rounds).unwrap()),
            },
            Edge::FanIn { from: vec!["a".into(), "b".into(), "c".into()], to: "end".into() },
        ];
        let graph = Arc::new(Graph::new("start", executors, edges));
        let mut play = Play::new(&graph);
        let mut sent: BTreeMap<Name, Vec<Value>> = BTreeMap::new();
        let mut got: Vec<Value> = Vec::new();
        for n in 0.. {
            let open: Vec<ActivationId> = play.state.open.keys().copied().collect();
            let choice = order.get(n).copied().map_or(0, usize::from);
            let Some(&id) = open.get(choice % open.len().max(1)) else { break };
            let (executor, payload) = {
                let open = &play.state.open[&id];
                (open.executor.clone(), Value::clone(&open.payload))
            };
            if &*executor == "end" {
                got.push(payload);
            } else if &*executor != "start" {
                sent.entry(executor).or_default().push(json!(n));
            }
            play.finish(id, Ok(Payload::value(json!(n))));
        }
        prop_assert_eq!(&play.state.end, &Some(RunEnd::Completed));
        prop_assert_eq!(got.len(), rounds);
        for (source, values) in sent {
            let mut received: Vec<Value> =
                got.iter().map(|joined| joined[&*source].clone()).collect();
            received.sort_by_key(Value::as_u64);
            prop_assert_eq!(received, values);
        }
        check_traffic(&play, true);
    }
}
