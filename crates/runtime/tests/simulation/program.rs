//! Workflows from a seed. What they give depends on their input and on the answers they get, and on
//! nothing else: not on the order in which things happen, nor on how often they are started again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::request::RequestBody;
use signoff_core::state::Answer;
use signoff_core::{Decision, Message, Span};
use signoff_runtime::{BoxFuture, Context, Effect, EngineBuilder, WorkflowBuilder};

use super::dice::{Dice, hash};

/// One thing an executor does.
#[derive(Clone, Debug)]
pub enum Op {
    /// An effect. Slow ones let others go first, before and after they happen.
    Effect { once: bool, slow: u8 },
    /// An effect that may be repeated and always fails.
    Fails,
    /// An effect made of other effects.
    Nested { once: bool, parts: Vec<Op> },
    /// All at once.
    Both(Vec<Op>),
    /// A question, with or without a deadline.
    Ask { within: Option<u64> },
    /// Some seconds of rest.
    Sleep(u64),
    /// A call of a helper.
    Invoke(usize),
    /// A sub-workflow, started by itself or by calling the executor that stands for it.
    Sub { workflow: usize, called: bool },
    /// The same several times.
    Repeat(u32, Vec<Op>),
    /// Something said.
    Say,
    /// A message to a helper, which runs on its own.
    Send(usize),
    /// An output of the run.
    Give,
}

/// How the executors of a workflow are linked.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Chain,
    Diamond,
    Switch,
    Loop,
    BoundedLoop,
    ThroughSub,
}

#[derive(Clone, Debug)]
pub struct Flow {
    pub shape: Shape,
    pub bodies: Vec<Vec<Op>>,
    pub helpers: Vec<Vec<Op>>,
    /// It may use the workflows before it.
    pub subs: usize,
}

/// Workflows that use each other; the last one is what runs are started on.
#[derive(Clone, Debug)]
pub struct Program(pub Vec<Flow>);

impl Program {
    pub fn new(dice: &mut Dice) -> Self {
        let count = 1 + dice.below(3);
        Self((0..count).map(|subs| flow(dice, subs)).collect())
    }

    /// What runs are started on.
    pub fn top(&self) -> String {
        format!("w{}", self.0.len() - 1)
    }

    /// Registers everything with an engine.
    pub fn install(&self, lab: &Arc<Lab>, mut engine: EngineBuilder) -> EngineBuilder {
        let mut known: Vec<signoff_core::Workflow> = Vec::new();
        for (n, flow) in self.0.iter().enumerate() {
            let builder = flow.build(n, lab, &known);
            known.push(builder.definition().clone());
            engine = engine.built(builder);
        }
        engine
    }
}

fn flow(dice: &mut Dice, subs: usize) -> Flow {
    let shape = match dice.below(if subs > 0 { 6 } else { 5 }) {
        0 => Shape::Chain,
        1 => Shape::Diamond,
        2 => Shape::Switch,
        3 => Shape::Loop,
        4 => Shape::BoundedLoop,
        _ => Shape::ThroughSub,
    };
    let helpers = 1 + dice.below(2);
    let mut maker = Maker { dice, subs, helpers: 0 };
    let mut made = Vec::new();
    for n in 0..helpers {
        maker.helpers = n;
        made.push(maker.body(1));
    }
    maker.helpers = helpers;
    let bodies = (0..4).map(|_| maker.body(2)).collect();
    Flow { shape, bodies, helpers: made, subs }
}

struct Maker<'a> {
    dice: &'a mut Dice,
    subs: usize,
    helpers: usize,
}

impl Maker<'_> {
    fn body(&mut self, depth: u32) -> Vec<Op> {
        let count = self.dice.below(4);
        (0..count)
            .map(|_| match self.dice.below(10) {
                0 => Op::Say,
                1 if self.helpers > 0 => Op::Send(self.dice.below(self.helpers)),
                2 if self.dice.per_mille(500) => Op::Give,
                _ => self.op(depth),
            })
            .collect()
    }

    fn some(&mut self, most: usize, depth: u32) -> Vec<Op> {
        let count = 1 + self.dice.below(most);
        (0..count).map(|_| self.op(depth)).collect()
    }

    fn op(&mut self, depth: u32) -> Op {
        match self.dice.below(16) {
            3..=4 => self.effect(false),
            5 => Op::Fails,
            6 => {
                let count = 1 + self.dice.below(2);
                let parts = (0..count)
                    .map(|_| {
                        let once = self.dice.per_mille(500);
                        self.effect(once)
                    })
                    .collect();
                Op::Nested { once: self.dice.per_mille(500), parts }
            }
            7..=8 => Op::Ask { within: None },
            9 => {
                let spans = [1, 20, 90, 600];
                Op::Ask { within: self.dice.pick(&spans).copied() }
            }
            10 => Op::Sleep(self.dice.next() % 40),
            11 if self.helpers > 0 => Op::Invoke(self.dice.below(self.helpers)),
            12 if self.subs > 0 && depth > 1 => {
                let called = self.dice.per_mille(500);
                Op::Sub { workflow: self.dice.below(self.subs), called }
            }
            13..=14 if depth > 0 => Op::Both(self.some(3, depth - 1)),
            15 if depth > 0 => {
                let times = 1 + u32::from(self.dice.per_mille(500));
                Op::Repeat(times, self.some(2, depth - 1))
            }
            _ => self.effect(true),
        }
    }

    fn effect(&mut self, once: bool) -> Op {
        Op::Effect { once, slow: u8::try_from(self.dice.below(6)).unwrap_or(0) }
    }
}

impl Flow {
    fn build(&self, n: usize, lab: &Arc<Lab>, known: &[signoff_core::Workflow]) -> WorkflowBuilder {
        let mut builder = WorkflowBuilder::new(format!("w{n}")).description(format!("{self:?}"));
        for (name, ops) in (0..).map(|n: u32| format!("e{n}")).zip(&self.bodies) {
            builder = node(builder, &name, ops, lab);
        }
        for (name, ops) in (0..).map(|n: u32| format!("h{n}")).zip(&self.helpers) {
            builder = node(builder, &name, ops, lab);
        }
        for (n, sub) in known.iter().take(self.subs).enumerate() {
            builder = builder.sub_workflow(&format!("s{n}"), sub);
        }
        match self.shape {
            Shape::Chain => builder.edge("e0", "e1").edge("e1", "e2"),
            Shape::Diamond => builder.fan_out("e0", &["e1", "e2"]).fan_in(&["e1", "e2"], "e3"),
            Shape::Switch => builder
                .switch("e0", &[(Some("output.v % 2 == 0"), "e1"), (None, "e2")])
                .edge("e1", "e3"),
            Shape::Loop => builder
                .edge("e0", "e1")
                .edge_when("e1", "e0", "output.n < 4", None)
                .edge_when("e1", "e2", "output.n >= 4", None),
            Shape::BoundedLoop => {
                builder.edge("e0", "e1").edge_when("e1", "e0", "true", Some(2)).edge("e1", "e2")
            }
            Shape::ThroughSub => builder.fan_out("e0", &["e1", "s0"]).fan_in(&["e1", "s0"], "e2"),
        }
    }
}

fn node(builder: WorkflowBuilder, name: &str, ops: &[Op], lab: &Arc<Lab>) -> WorkflowBuilder {
    let (ops, lab): (Arc<[Op]>, _) = (ops.into(), Arc::clone(lab));
    builder.function(name, move |ctx: Context, message: Arc<Value>| {
        let (ops, lab) = (Arc::clone(&ops), Arc::clone(&lab));
        async move {
            let given = Given::read(&message);
            let path = format!("{}>{}", given.path, ctx.executor());
            let done = all(ctx, lab, ops, path.clone(), "o".to_owned()).await?;
            let v = hash(&format!("{} {done}", given.v));
            Ok(json!({ "path": path, "n": given.n + 1, "v": v }))
        }
    })
}

/// What an executor is given, from one executor or from several.
struct Given {
    path: String,
    n: u64,
    v: u64,
}

impl Given {
    fn read(message: &Value) -> Self {
        if let (Some(path), Some(n), Some(v)) =
            (message["path"].as_str(), message["n"].as_u64(), message["v"].as_u64())
        {
            return Self { path: path.to_owned(), n, v };
        }
        let mut parts: Vec<Self> = match message {
            Value::Object(fields) => fields.values().map(Self::read).collect(),
            Value::Array(items) => items.iter().map(Self::read).collect(),
            other => return Self { path: String::new(), n: 0, v: hash(&other.to_string()) },
        };
        parts.sort_by(|a, b| (&a.path, a.v).cmp(&(&b.path, b.v)));
        let paths: Vec<&str> = parts.iter().map(|part| part.path.as_str()).collect();
        let values: Vec<String> = parts.iter().map(|part| part.v.to_string()).collect();
        Self {
            path: format!("{:x}", hash(&paths.join("|"))),
            n: parts.iter().map(|part| part.n).max().unwrap_or(0),
            v: hash(&values.join(" ")),
        }
    }
}

/// The same value, with lists in an order of their own.
pub fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(canonical).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        other => other.clone(),
    }
}

fn all(
    ctx: Context,
    lab: Arc<Lab>,
    ops: Arc<[Op]>,
    path: String,
    key: String,
) -> BoxFuture<'static, Result<u64, ErrorInfo>> {
    Box::pin(async move {
        let mut done = String::new();
        for (n, op) in ops.iter().enumerate() {
            let key = format!("{key}.{n}");
            let value = one(ctx.clone(), Arc::clone(&lab), op.clone(), path.clone(), key).await?;
            done = format!("{done} {value}");
        }
        Ok(hash(&done))
    })
}

fn one(
    ctx: Context,
    lab: Arc<Lab>,
    op: Op,
    path: String,
    key: String,
) -> BoxFuture<'static, Result<u64, ErrorInfo>> {
    Box::pin(async move {
        let place = format!("{path}/{key}");
        Ok(match op {
            Op::Effect { once, slow } => {
                let work = |id: Arc<str>| {
                    let run = ctx.run().to_string();
                    let (lab, place) = (Arc::clone(&lab), place.clone());
                    async move { Ok(lab.execute(&run, &place, &id, slow).await) }
                };
                read(&*ctx.effect(&key, kind(once, &place), work).await?)
            }
            Op::Fails => {
                let work = |_| async { Err(ErrorInfo::new("expected", "this always fails")) };
                match ctx.effect(&key, Effect::repeatable(), work).await {
                    Err(error) if error.code == "expected" => 1,
                    Err(error) => return Err(error),
                    Ok(_) => 0,
                }
            }
            Op::Nested { once, parts } => {
                let work = |id: Arc<str>| {
                    let (ctx, lab, place) = (ctx.clone(), Arc::clone(&lab), place.clone());
                    let (path, key) = (path.clone(), key.clone());
                    async move {
                        let run = ctx.run().to_string();
                        all(ctx, Arc::clone(&lab), parts.into(), path, key).await?;
                        Ok(lab.execute(&run, &place, &id, 0).await)
                    }
                };
                read(&*ctx.effect(&key, kind(once, &place), work).await?)
            }
            Op::Both(ops) => {
                let parts = ops.into_iter().enumerate().map(|(n, op)| {
                    let key = format!("{key}.{n}");
                    one(ctx.clone(), Arc::clone(&lab), op, path.clone(), key)
                });
                let done: Result<Vec<u64>, _> = join_all(parts).await.into_iter().collect();
                hash(&format!("{:?}", done?))
            }
            Op::Ask { within } => {
                let mut body = RequestBody::input(place);
                if let Some(seconds) = within {
                    let asked = ctx.now(&format!("{key} asked")).await?;
                    body.expires_at = Some(asked.plus(Span::seconds(seconds)));
                }
                match ctx.ask(&key, body).await? {
                    Answer::Decided { decision: Decision::Respond { content }, .. } => {
                        hash(&content.to_string())
                    }
                    Answer::Expired => 2,
                    other => return Err(ErrorInfo::new("answer", format!("{other:?}"))),
                }
            }
            Op::Sleep(seconds) => {
                ctx.sleep(&key, Span::seconds(seconds)).await?;
                3
            }
            Op::Invoke(helper) => {
                let message = json!({ "path": place, "n": 0, "v": 0 });
                Given::read(&*ctx.invoke(&key, &format!("h{helper}"), message).await?).v
            }
            Op::Sub { workflow, called } => {
                let message = json!({ "path": place, "n": 0, "v": 0 });
                let output = if called {
                    let name = format!("s{workflow}");
                    Value::clone(&*ctx.invoke(&key, &name, message).await?)
                } else {
                    ctx.workflow(&key, &format!("w{workflow}"), message).await?
                };
                Given::read(&output).v
            }
            Op::Repeat(times, ops) => {
                let ops: Arc<[Op]> = ops.into();
                let mut done = 0;
                for n in 0..times {
                    let key = format!("{key}.r{n}");
                    let ops = Arc::clone(&ops);
                    done ^= all(ctx.clone(), Arc::clone(&lab), ops, path.clone(), key).await?;
                }
                done
            }
            Op::Say => {
                ctx.say(Message::assistant(ctx.executor().clone(), place));
                4
            }
            Op::Send(helper) => {
                let message = json!({ "path": place, "n": 0, "v": 0 });
                ctx.send(format!("h{helper}"), message);
                5
            }
            Op::Give => {
                ctx.output(json!({ "path": place, "n": 0, "v": 6 }));
                6
            }
        })
    })
}

fn kind(once: bool, place: &str) -> Effect {
    if once { Effect::once(json!({ "place": place })) } else { Effect::repeatable() }
}

fn read(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The world outside: what effects have really done to it.
#[derive(Debug, Default)]
pub struct Lab {
    done: Mutex<BTreeMap<(String, String), Deed>>,
}

/// What came of one effect of one run.
#[derive(Clone, Debug, Default)]
pub struct Deed {
    pub times: u32,
    /// The idempotency keys it was handed.
    pub keys: BTreeSet<String>,
}

impl Lab {
    async fn execute(&self, run: &str, place: &str, id: &str, slow: u8) -> Value {
        if slow == 5 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        for _ in 0..slow {
            tokio::task::yield_now().await;
        }
        {
            let mut done = self.done.lock().unwrap();
            let deed = done.entry((run.to_owned(), place.to_owned())).or_default();
            deed.times += 1;
            deed.keys.insert(id.to_owned());
        }
        for _ in 0..slow {
            tokio::task::yield_now().await;
        }
        Self::value(place)
    }

    /// What an effect at `place` gives.
    pub fn value(place: &str) -> Value {
        hash(place).into()
    }

    pub fn deed(&self, run: &str, place: &str) -> Deed {
        let key = (run.to_owned(), place.to_owned());
        self.done.lock().unwrap().get(&key).cloned().unwrap_or_default()
    }

    /// The places of all effects that really happened, of whatever run.
    pub fn deeds(&self) -> BTreeMap<(String, String), Deed> {
        self.done.lock().unwrap().clone()
    }
}
