//! Runs on generated graphs, driven by a list of numbers: each number chooses what happens next
//! among what can.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use signoff_core::expr::Expr;
use signoff_core::graph::{Edge, ExecutorDef, ExecutorKind, Graph};
use signoff_core::journal::{
    Delivered, EffectKind, Entry, ErrorInfo, Event, Input, Outcome, Payload, Started,
};
use signoff_core::plan::{self, Rules};
use signoff_core::request::RequestBody;
use signoff_core::state::EffectState;
use signoff_core::workflow::Limits;
use signoff_core::{
    ActivationId, Actor, Caller, ConversationId, Decision, Message, Name, RunState, Tenant,
    Timestamp,
};

/// No run of these tests may open more activations.
pub(crate) const MAX_ACTIVATIONS: u32 = 60;

pub(crate) fn limits() -> Limits {
    Limits { activations: MAX_ACTIVATIONS, ..Limits::default() }
}

fn name(n: usize) -> Name {
    format!("e{n}").into()
}

fn condition() -> impl Strategy<Value = Option<Arc<Expr>>> {
    let source = prop_oneof![
        6 => Just(None),
        2 => Just(Some("output.n % 2 == 0")),
        2 => Just(Some("output.n > 3")),
        1 => Just(Some("visits.e0 < 3")),
        1 => Just(Some("output.missing == 1")),
    ];
    source.prop_map(|source| {
        source
            .map(|source| Arc::new(Expr::compile(source, &["output", "input", "visits"]).unwrap()))
    })
}

fn edge(executors: usize) -> impl Strategy<Value = Edge> {
    let any = 0..executors;
    let max = prop_oneof![1 => Just(None), 3 => (0_u32..4).prop_map(Some)];
    let some = prop::collection::vec(any.clone(), 1..4);
    prop_oneof![
        (any.clone(), some.clone(), condition(), max.clone()).prop_map(|(from, to, when, max)| {
            Edge::Direct { from: name(from), to: to.into_iter().map(name).collect(), when, max }
        }),
        (any.clone(), prop::collection::vec((condition(), any.clone()), 1..4), max).prop_map(
            |(from, cases, max)| Edge::Switch {
                from: name(from),
                cases: cases.into_iter().map(|(when, to)| (when, name(to))).collect(),
                max,
            }
        ),
        (some, any).prop_map(|(from, to)| Edge::FanIn {
            from: from.into_iter().map(name).collect(),
            to: name(to),
        }),
    ]
}

pub(crate) fn graphs() -> impl Strategy<Value = Arc<Graph>> {
    (2_usize..=8).prop_flat_map(|executors| {
        prop::collection::vec(edge(executors), 0..10).prop_map(move |edges| {
            let executors = (0..executors)
                .map(|n| ExecutorDef {
                    name: name(n),
                    kind: ExecutorKind::Function { name: name(n) },
                })
                .collect();
            Arc::new(Graph::new("e0", executors, edges))
        })
    })
}

/// What happens, step by step.
pub(crate) fn choices() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..120)
}

/// A run as it goes.
pub(crate) struct Play {
    pub(crate) graph: Arc<Graph>,
    pub(crate) limits: Limits,
    pub(crate) entries: Vec<Entry>,
    pub(crate) state: RunState,
}

impl Play {
    pub(crate) fn new(graph: &Arc<Graph>) -> Self {
        let started = Started {
            workflow: "w".into(),
            version: "sha256:0".into(),
            conversation: ConversationId::from_unique("c"),
            input: json!({ "n": 1 }),
            by: Actor::local(),
            continues: None,
            parent: None,
            forked_from: None,
            reason: None,
            tenant: Tenant::local(),
            added: 0,
            sent: None,
        };
        let events = plan::start(graph, started, Vec::new(), Timestamp(0));
        let entries: Vec<Entry> =
            (1..).zip(events).map(|(seq, event)| Entry { seq, at: Timestamp(0), event }).collect();
        let state = RunState::fold(&entries).unwrap();
        Self { graph: Arc::clone(graph), limits: limits(), entries, state }
    }

    /// Plays all `choices`.
    pub(crate) fn through(graph: &Arc<Graph>, choices: &[u16]) -> Self {
        let mut play = Self::new(graph);
        for &choice in choices {
            play.step(choice);
        }
        play
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { graph: &self.graph, limits: &self.limits }
    }

    /// Appends what was planned. The planner's events always fit.
    pub(crate) fn append(&mut self, events: Vec<Event>) {
        for event in events {
            let seq = self.state.seq + 1;
            let at = Timestamp(i64::try_from(seq).unwrap_or(0));
            let entry = Entry { seq, at, event };
            self.state.apply(&entry).unwrap_or_else(|error| panic!("{error}: {entry:?}"));
            self.entries.push(entry);
        }
    }

    /// Gives the run an input, as its writer does.
    pub(crate) fn input(&mut self, input: &Input) {
        let events = plan::input(&self.state, input);
        self.append(events);
    }

    /// Ends an activation, as its driver does.
    pub(crate) fn finish(&mut self, id: ActivationId, result: Result<Payload, ErrorInfo>) {
        let events = match result {
            Ok(output) => plan::completed(&self.state, self.rules(), id, output),
            Err(error) => plan::failed(&self.state, id, error),
        };
        self.append(events);
        let end = plan::settle(&self.state, self.rules());
        self.append(end.into_iter().collect());
    }

    /// Lets something happen that can, among it what comes from outside too late or twice.
    pub(crate) fn step(&mut self, choice: u16) {
        let (what, which) = (choice % 32, usize::from(choice / 32));
        if self.state.end.is_some() || what >= 20 {
            self.outside(what, which);
            return;
        }
        let open: Vec<ActivationId> = self.state.open.keys().copied().collect();
        let Some(&id) = open.get(which % open.len().max(1)) else { return };
        self.within(what, which, id);
    }

    fn within(&mut self, what: u16, which: usize, id: ActivationId) {
        let activation = &self.state.open[&id];
        let key = |n: usize| -> signoff_core::Key { format!("k{}", n % 3).into() };
        let key = key(which);
        let value = json!({ "n": which % 7 });
        let events = match what {
            0..=6 => {
                self.finish(id, Ok(Payload::value(value)));
                return;
            }
            7 => {
                // What was said first: the input.
                self.finish(id, Ok(Payload::Text(0)));
                return;
            }
            8 => {
                // Most failures are those of called executors, which do not end the run.
                if activation.caller.is_some() || which.is_multiple_of(16) {
                    self.finish(id, Err(ErrorInfo::new("test", "failed")));
                }
                return;
            }
            9..=11 => {
                if activation.asked.contains_key(&key) {
                    return;
                }
                let request = self.state.last_request + 1;
                let body = Box::new(RequestBody::input("?"));
                vec![Event::Asked { activation: id, key, request, body }]
            }
            12 => match activation.effects.get(&key) {
                Some(EffectState::Done(_)) => return,
                _ => vec![Event::Intent { activation: id, key, action: value }],
            },
            13 | 14 => {
                if let Some(EffectState::Done(_)) = activation.effects.get(&key) {
                    return;
                }
                let kind = [EffectKind::Model, EffectKind::Tool][which % 2];
                let outcome = Outcome::Ok(Arc::new(value));
                let part = signoff_core::Part::Effect(key.clone());
                let message = Message { parts: vec![part], ..Message::user("") };
                vec![
                    Event::Effect { activation: id, key, kind, outcome, took: 0, audited: None },
                    Event::Said { activation: Some(id), message: Arc::new(message) },
                ]
            }
            15 => {
                let due = Timestamp(5);
                vec![Event::TimerSet { activation: id, key, due }]
            }
            16 => vec![Event::ChildStarted { activation: id, key }],
            17 => vec![Event::Output { activation: id, value: Payload::value(value) }],
            _ => {
                let called = what == 18;
                if self.state.last_activation >= self.limits.activations
                    || (called && activation.calls.contains_key(&key))
                {
                    return;
                }
                vec![Event::Delivered(Delivered {
                    activation: self.state.last_activation + 1,
                    to: name(which % self.graph.executors().len()),
                    payload: Payload::value(value),
                    from: (!called).then_some(id),
                    caller: called.then_some(Caller { activation: id, key }),
                })]
            }
        };
        self.append(events);
    }

    fn outside(&mut self, what: u16, which: usize) {
        let request = u32::try_from(which).unwrap() % (self.state.last_request + 2);
        let activation = u32::try_from(which).unwrap() % (self.state.last_activation + 2);
        let key: signoff_core::Key = format!("k{}", which % 3).into();
        let by = Actor::new("ann");
        let input = match what % 12 {
            0..=3 => Input::Decided {
                request,
                decision: Decision::respond(Value::from(which)),
                by,
                sent: None,
            },
            4 => Input::Expired { request },
            5 | 6 => Input::Timer { activation, key },
            7 | 8 => Input::ChildEnded {
                activation,
                key,
                outcome: Outcome::Ok(Arc::new(json!({ "n": 1 }))),
                stopped_by: None,
            },
            9 => Input::Pause { by, reason: None },
            10 => Input::Resume { by },
            _ if !which.is_multiple_of(8) => return,
            _ => match which / 8 % 4 {
                0 => Input::Cancel { by, reason: None },
                1 => Input::OutOfTime {},
                2 => Input::Decided {
                    request,
                    decision: Decision::Abort { reason: None },
                    by,
                    sent: None,
                },
                _ => Input::ChildEnded {
                    activation,
                    key,
                    outcome: Outcome::Err(ErrorInfo::new("cancelled", "stopped")),
                    stopped_by: Some(by),
                },
            },
        };
        self.input(&input);
    }
}
