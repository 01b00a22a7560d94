//! The hot paths: what every step of every run goes through.

use std::hint::black_box;
use std::sync::Arc;

use serde_json::json;
use signoff_core::expr::Expr;
use signoff_core::graph::{Edge, ExecutorDef, ExecutorKind, Graph};
use signoff_core::journal::{EffectKind, Entry, Event, Outcome, Payload, Started, decode, encode};
use signoff_core::plan::{self, Rules};
use signoff_core::policy::{Action, Policy, PolicyFile, Remembered};
use signoff_core::workflow::Limits;
use signoff_core::{Actor, ConversationId, Effects, Message, Name, RunState, Tenant, Timestamp};

/// Their names.
pub const NAMES: &[&str] = &[
    "fold 1000 entries",
    "plan a step",
    "encode 16 entries",
    "decode 16 entries",
    "judge by 10 gates",
];

/// A run that goes round and round: an effect, something said, and on to the other of two executors.
struct Journal {
    graph: Graph,
    limits: Limits,
    entries: Vec<Entry>,
    state: RunState,
}

impl Journal {
    fn new(length: usize) -> Self {
        let executor = |name: &str| ExecutorDef {
            name: name.into(),
            kind: ExecutorKind::Function { name: name.into() },
        };
        let when = Expr::compile("output.n < 1000000", &["output", "input", "visits"]).unwrap();
        let edge = |from: &str, to: &str, when: Option<Arc<Expr>>| Edge::Direct {
            from: from.into(),
            to: vec![to.into()],
            when,
            max: None,
        };
        let edges = vec![edge("a", "b", None), edge("b", "a", Some(Arc::new(when)))];
        let graph = Graph::new("a", vec![executor("a"), executor("b")], edges);
        let started = Started {
            workflow: "w".into(),
            version: "sha256:0".into(),
            conversation: ConversationId::from_unique("c"),
            input: json!({ "n": 1 }),
            by: Actor::local(),
            continues: None,
            parent: None,
            forked_from: None,
            tenant: Tenant::local(),
            added: 0,
            sent: None,
            reason: None,
        };
        let first = plan::start(&graph, started, Vec::new(), Timestamp(0));
        let entry = |(seq, event)| Entry { seq, at: Timestamp(0), event };
        let entries: Vec<Entry> = (1..).zip(first).map(entry).collect();
        let state = RunState::fold(&entries).unwrap();
        let mut journal = Self { graph, limits: Limits::default(), entries, state };
        while journal.entries.len() < length {
            journal.step();
        }
        journal
    }

    fn step(&mut self) {
        let activation = *self.state.open.keys().next().unwrap();
        let n = self.state.seq;
        let text =
            format!("message number {n} of a conversation that is not short: {}", "x".repeat(150));
        let author: Name = "a".into();
        let value = json!({ "found": [n, n + 1], "text": "some result of a tool" });
        self.append(vec![
            Event::Effect {
                activation,
                key: "call".into(),
                kind: EffectKind::Local,
                outcome: Outcome::Ok(Arc::new(value)),
                took: 3,
                audited: None,
            },
            Event::Said {
                activation: Some(activation),
                message: Arc::new(Message::assistant(author, text)),
            },
        ]);
        let events = self.plan();
        self.append(events);
    }

    /// What follows when the open activation gives its output.
    fn plan(&self) -> Vec<Event> {
        let activation = *self.state.open.keys().next().unwrap();
        let rules = Rules { graph: &self.graph, limits: &self.limits };
        let output = Payload::value(json!({ "n": self.state.seq }));
        plan::completed(&self.state, rules, activation, output)
    }

    fn append(&mut self, events: Vec<Event>) {
        for event in events {
            let entry = Entry { seq: self.state.seq + 1, at: Timestamp(0), event };
            self.state.apply(&entry).unwrap();
            self.entries.push(entry);
        }
    }
}

/// Gates as people write them, none of which asks, so that all are judged.
fn gates() -> Policy {
    let gate = |n: usize| {
        let when = match n % 3 {
            0 => format!("action.kind == 'tool' && action.tool == 'tool_{n}'"),
            1 => format!("'network' in action.effects && action.environment == 'place_{n}'"),
            _ => {
                format!("has(action.arguments.path) && size(action.arguments.path) > {}", 1_000 + n)
            }
        };
        json!({ "name": format!("gate_{n}"), "when": when })
    };
    let file = json!({ "gates": (0..10).map(gate).collect::<Vec<_>>() });
    serde_json::from_value::<PolicyFile>(file).unwrap().compile().unwrap()
}

/// Goes one of them so many times.
pub fn go(name: &str, times: u64) {
    let repeat = |path: &dyn Fn()| (0..times).for_each(|_| path());
    match name {
        "fold 1000 entries" => {
            let journal = Journal::new(1000);
            repeat(&|| drop(black_box(RunState::fold(&journal.entries[..1000]))));
        }
        "plan a step" => {
            let journal = Journal::new(100);
            repeat(&|| drop(black_box(journal.plan())));
        }
        "encode 16 entries" => {
            let journal = Journal::new(116);
            repeat(&|| drop(black_box(encode(&journal.entries[100..116]))));
        }
        "decode 16 entries" => {
            let journal = Journal::new(116);
            let body = encode(&journal.entries[100..116]);
            repeat(&|| drop(black_box(decode(101, &body))));
        }
        "judge by 10 gates" => {
            let policy = gates();
            let arguments = json!({ "path": "reports/sales.md", "content": "x".repeat(2_000) });
            let effects = Effects { file_edit: true, ..Effects::default() };
            let action = Action::tool("write_file", arguments, effects);
            repeat(&|| drop(black_box(policy.judge(&action, Remembered::default()))));
        }
        other => panic!("there is no path `{other}`"),
    }
}
