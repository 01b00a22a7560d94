//! What the simulation has found, each as small as it gets.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, join, select};
use serde_json::json;
use signoff_core::journal::Input;
use signoff_core::request::{RequestBody, RequestStatus};
use signoff_core::{Actor, Decision, RunStatus, Span, Timestamp};
use signoff_runtime::{
    Context, DecideRequest, Effect, Engine, ManualClock, StartRun, WorkflowBuilder,
};
use signoff_store::{MemoryStore, RequestFilter, Scope, Store as _};

use super::dice::Dice;
use super::disk::{Disk, Fate, Faulty};
use super::planted::Broken;
use super::process::paused_runtime;

struct Small {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    engine: Engine,
}

impl Small {
    fn new(workflow: WorkflowBuilder) -> Self {
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::new(ManualClock::new(Timestamp(0)));
        let builder = Engine::builder(store.clone()).clock(clock.clone());
        Self { engine: builder.built(workflow).build().unwrap(), store, clock }
    }

    fn pending(&self) -> Vec<signoff_core::Request> {
        let filter =
            RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
        self.store.requests(&filter, None, 10).unwrap().items
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_seen_while_a_neighbour_works() {
    let both = |ctx: Context, _| async move {
        let work = ctx.effect("work", Effect::repeatable(), |_| async {
            tokio::time::sleep(Duration::from_secs(90)).await;
            Ok(json!(1))
        });
        let (answer, work) = join(ctx.ask("q", RequestBody::input("?")), work).await;
        answer.and(work).map(|_| json!("done"))
    };
    let small = Small::new(WorkflowBuilder::new("w").function("both", both));
    let run = small.engine.start(StartRun::new("w", 1)).await.unwrap().run;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let pending = small.pending();
    assert_eq!(pending.len(), 1, "the question waits for the work");
    let decide = DecideRequest::new(pending[0].id.clone(), Decision::respond("x"));
    small.engine.decide(decide).await.unwrap();
    small.engine.idle().await;
    assert_eq!(small.store.run(&run).unwrap().unwrap().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_does_not_keep_the_run_from_ending() {
    let lead = |ctx: Context, _| async move {
        let call = ctx.invoke("call", "helper", 1).boxed();
        let limit = ctx.sleep("limit", Span::seconds(10)).boxed();
        match select(call, limit).await {
            Either::Left(_) => Ok(json!("answered")),
            Either::Right(_) => Ok(json!("gave up")),
        }
    };
    let helper = |ctx: Context, _| async move {
        ctx.sleep("work", Span::seconds(60)).await?;
        Ok(json!("late"))
    };
    let workflow = WorkflowBuilder::new("w").function("lead", lead).function("helper", helper);
    let small = Small::new(workflow);
    let run = small.engine.run(StartRun::new("w", 1)).await.unwrap().run;
    for _ in 0..10 {
        small.clock.advance(Span::seconds(11));
        small.engine.look_for_work(&Scope::All).await.unwrap();
        small.engine.idle().await;
    }
    assert_eq!(small.store.run(&run).unwrap().unwrap().status, RunStatus::Completed);
    assert_eq!(small.engine.state(&run).unwrap().output(), Some(json!("gave up")));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_is_taken_back() {
    let ask = |ctx: Context, _| async move {
        let question = ctx.ask("q", RequestBody::input("?")).boxed();
        select(question, ctx.sleep("limit", Span::seconds(10)).boxed()).await;
        Ok(json!(1))
    };
    let wait = |ctx: Context, _| async move {
        ctx.sleep("long", Span::seconds(100)).await?;
        Ok(json!(2))
    };
    let small = Small::new(
        WorkflowBuilder::new("w").function("ask", ask).function("wait", wait).edge("ask", "wait"),
    );
    let run = small.engine.run(StartRun::new("w", 1)).await.unwrap().run;
    let question = small.pending().remove(0).id;
    small.clock.advance(Span::seconds(11));
    small.engine.look_for_work(&Scope::All).await.unwrap();
    small.engine.idle().await;
    assert_eq!(small.store.run(&run).unwrap().unwrap().status, RunStatus::Waiting);
    let decide = DecideRequest::new(question, Decision::respond("x"));
    let late = small.engine.decide(decide).await.unwrap_err();
    assert_eq!(late.code(), "cancelled", "it was accepted, and nobody would ever have looked");
}

#[test]
fn a_sub_run_that_could_not_be_stored_is_tried_again() {
    let inner = WorkflowBuilder::new("inner").function("a", |_, _| async { Ok(json!(7)) });
    let outer = WorkflowBuilder::new("outer").sub_workflow("sub", inner.definition());
    let disk = Arc::new(Disk::new(Dice::new(0), 0, Broken::No));
    let clock = Arc::new(ManualClock::new(Timestamp(0)));
    let store = Faulty { process: 0, disk: Arc::clone(&disk) };
    let builder = Engine::builder(Arc::new(store)).clock(clock.clone());
    let engine = builder.built(inner).built(outer).build().unwrap();
    let runtime = paused_runtime();
    let go_on = |failing: &mut bool| {
        for _ in 0..100 {
            runtime.block_on(tokio::task::yield_now());
            let Some(queue) = disk.waiting().into_iter().next() else { continue };
            // The queue of the sub-run: its creation comes first.
            let refuse = *failing && queue.1.ends_with(".workflow");
            *failing &= !refuse;
            disk.carry_out(&queue, if refuse { Fate::Refused } else { Fate::Done });
        }
    };
    let starting = engine.clone();
    let started =
        runtime.spawn(async move { starting.start(StartRun::new("outer", 1)).await.unwrap().run });
    let mut failing = true;
    go_on(&mut failing);
    assert!(!failing, "the first try was refused");
    let run = runtime.block_on(started).unwrap();
    assert_eq!(disk.store.run(&run).unwrap().unwrap().status, RunStatus::Running);
    clock.advance(Span::seconds(100));
    runtime.spawn(async move {
        engine.look_for_work(&Scope::All).await.unwrap();
    });
    go_on(&mut failing);
    assert_eq!(disk.store.run(&run).unwrap().unwrap().status, RunStatus::Completed);
}

#[test]
fn the_disk_keeps_the_order_of_each_caller() {
    let disk = Arc::new(Disk::new(Dice::new(0), 0, Broken::No));
    let store = Faulty { process: 0, disk: Arc::clone(&disk) };
    let pause = |n: u32| Input::Pause { by: Actor::new(n.to_string()), reason: None };
    let (first, second) = (
        store.deliver(&"run_x".into(), pause(1), Timestamp(0)),
        store.deliver(&"run_x".into(), pause(2), Timestamp(0)),
    );
    let queue = disk.waiting().remove(0);
    disk.carry_out(&queue, Fate::Silent);
    assert!(first.now_or_never().is_none());
    disk.carry_out(&queue, Fate::Done);
    assert!(second.now_or_never().is_some_and(|answer| answer.is_err()), "there is no such run");
    assert!(disk.waiting().is_empty());
}
