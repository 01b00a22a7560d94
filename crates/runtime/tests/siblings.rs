//! Calls of one turn, decided in every order on two nodes that die: a rejection takes back what nobody had decided, what
//! was approved before is done, and nothing else.

#![allow(clippy::unwrap_used)] // tests

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};
use signoff_core::decision::Then;
use signoff_core::policy::GateFile;
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{Actor, Decision, Effects, RunId, RunStatus, Span, Timestamp, ToolSpec};
use signoff_runtime::{Context, DecideRequest, Engine, ManualClock, StartRun, WorkflowBuilder};
use signoff_store::{MemoryStore, RequestFilter, Scope, Store};
use signoff_tools::{FnTool, Tool};

const ORDERS: u64 = 3_000;
const CALLS: u64 = 4;

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn place(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap()
    }
}

struct World {
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    nodes: Vec<Engine>,
    /// How often each call was made.
    done: Arc<Mutex<BTreeMap<u64, u32>>>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            store: Arc::new(MemoryStore::new()),
            clock: Arc::new(ManualClock::new(Timestamp(1_794_700_800_000))),
            nodes: Vec::new(),
            done: Arc::default(),
        };
        world.nodes = (0..2).map(|_| world.node()).collect();
        world
    }

    fn node(&self) -> Engine {
        let done = Arc::clone(&self.done);
        let spec = ToolSpec {
            name: "launch".into(),
            description: "Launches.".to_owned(),
            parameters: json!({ "type": "object" }),
            effects: Effects { idempotent: true, ..Effects::default() },
        };
        let tool: Arc<dyn Tool> = Arc::new(FnTool::new(spec, move |invocation| {
            let n = invocation.arguments["n"].as_u64().unwrap();
            *done.lock().unwrap().entry(n).or_default() += 1;
            async { Ok(json!("launched")) }
        }));
        let turn = move |ctx: Context, _: Arc<Value>| {
            let tool = Arc::clone(&tool);
            async move {
                let calls = (0..CALLS).map(|n| {
                    let (ctx, tool) = (ctx.clone(), Arc::clone(&tool));
                    async move {
                        let key = format!("m1/c{n}");
                        match ctx.call(&key, &tool, &json!({ "n": n })).await {
                            Ok(value) => Value::clone(&value),
                            Err(error) => json!(error.code),
                        }
                    }
                });
                Ok(Value::Array(join_all(calls).await))
            }
        };
        let gate = json!([{ "name": "all", "when": "true", "siblings": "replan" }]);
        let gates: Vec<GateFile> = serde_json::from_value(gate).unwrap();
        let workflow = WorkflowBuilder::new("turn").function("turn", turn).gates(gates);
        Engine::builder(Arc::clone(&self.store))
            .clock(self.clock.clone())
            .lease(Span::seconds(2))
            .built(workflow)
            .build()
            .unwrap()
    }

    fn requests(&self) -> Vec<Request> {
        self.store.requests(&RequestFilter::default(), None, 100).unwrap().items
    }
}

async fn one_order(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut world = World::new();
    let run = world.nodes[0].run(StartRun::new("turn", json!(null))).await.unwrap().run;
    let over = |world: &World| world.store.run(&run).unwrap().unwrap().status.is_over();
    for _ in 0..60 {
        if over(&world) {
            break;
        }
        let node = dice.place(2);
        match dice.below(6) {
            0 => world.clock.advance(Span(dice.below(3_000))),
            1 => {
                let _ = world.nodes[node].look_for_work(&Scope::All).await;
            }
            // A node dies with whatever it was doing, and another takes its place.
            2 => world.nodes[node] = world.node(),
            _ => {
                let requests = world.requests();
                let mut tries = (0..3).map(|_| {
                    let request = requests[dice.place(requests.len())].id.clone();
                    let decision = match dice.below(3) {
                        0 => Decision::reject(None, Then::Continue),
                        _ => Decision::approve(),
                    };
                    DecideRequest::new(request, decision).by(Actor::new("ann"))
                });
                let [one, two, three] =
                    [tries.next(), tries.next(), tries.next()].map(Option::unwrap);
                // At once, on both nodes, beside the search for work.
                let (a, b) = (world.nodes[0].clone(), world.nodes[1].clone());
                let _ = tokio::join!(
                    a.decide(one),
                    b.decide(two),
                    a.take_decision(three),
                    b.look_for_work(&Scope::All),
                );
            }
        }
    }
    for _ in 0..40 {
        if over(&world) {
            break;
        }
        world.clock.advance(Span::seconds(3));
        for node in &world.nodes {
            node.look_for_work(&Scope::All).await.unwrap();
            node.idle().await;
        }
        let pending = world.requests().into_iter().find(|it| it.status == RequestStatus::Pending);
        if let Some(request) = pending {
            let _ =
                world.nodes[0].decide(DecideRequest::new(request.id, Decision::approve())).await;
        }
    }
    check(seed, &world, &run);
}

/// The store, the journal and the world say the same of each call.
fn check(seed: u64, world: &World, run: &RunId) {
    let record = world.store.run(run).unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Completed, "order {seed}: {:?}", record.error);
    let entries = world.store.entries(run, 0, 10_000).unwrap();
    let told = signoff_core::RunState::fold(&entries).unwrap().output().unwrap();
    let done = world.done.lock().unwrap().clone();
    let audit = world.store.audit(None, 0, 1000).unwrap();
    let requests = world.requests();
    assert_eq!(requests.len() as u64, CALLS, "order {seed}: each call is asked about once");
    let mut rejected = 0;
    for request in &requests {
        let n = request.body.context["proposal"]["n"].as_u64().unwrap();
        let result = &told[usize::try_from(n).unwrap()];
        let decision = request.decision.as_ref().map(|taken| &taken.decision);
        let (expected, made) = match (request.status, decision) {
            (RequestStatus::Decided, Some(Decision::Approve { .. })) => ("launched", true),
            (RequestStatus::Decided, Some(Decision::Reject { .. })) => {
                rejected += 1;
                ("denied", false)
            }
            (RequestStatus::Cancelled, None) => ("withdrawn", false),
            other => panic!("order {seed}: {other:?}"),
        };
        assert_eq!(result, expected, "order {seed}: call {n}");
        assert_eq!(done.contains_key(&n), made, "order {seed}: call {n}");
        assert_eq!(request.withdrawn.is_some(), request.status == RequestStatus::Cancelled);
        let lines = audit.iter().filter(|line| line.request == request.id && line.ends_request());
        assert_eq!(lines.count(), 1, "order {seed}: {} ends once", request.id);
    }
    let executed = audit.iter().filter(|line| line.decision.contains(r#""decision":"executed""#));
    assert_eq!(executed.count(), done.len(), "order {seed}: what was done is in the audit, once");
    assert!(rejected <= 1, "order {seed}: after a rejection there is nothing left to reject");
}

fn part(n: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for seed in (n * ORDERS / 2)..((n + 1) * ORDERS / 2) {
        runtime.block_on(one_order(seed));
    }
}

#[test]
fn a_turn_has_one_outcome_in_orders_of_the_first_half() {
    part(0);
}

#[test]
fn a_turn_has_one_outcome_in_orders_of_the_second_half() {
    part(1);
}
