//! A time in which nobody could renew a lease, because the store was away or the machine slept: whoever looks first afterwards does
//! not take what others hold and are about to renew, and does take what nobody renews.

#![allow(clippy::unwrap_used)] // tests

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use signoff_core::{RunId, RunStatus, Span, Timestamp};
use signoff_runtime::{Context, Engine, ManualClock, StartRun, WorkflowBuilder};
use signoff_store::{MemoryStore, Scope, Store};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

struct World {
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    /// How often the work was begun, and what lets it end.
    begun: Arc<AtomicU32>,
    enough: Arc<Notify>,
}

impl World {
    fn new() -> Self {
        Self {
            store: Arc::new(MemoryStore::new()),
            clock: Arc::new(ManualClock::new(Timestamp(1_794_700_800_000))),
            begun: Arc::default(),
            enough: Arc::default(),
        }
    }

    fn node(&self, name: &str) -> Engine {
        let (begun, enough) = (Arc::clone(&self.begun), Arc::clone(&self.enough));
        let work = move |_: Context, _: Arc<Value>| {
            let enough = Arc::clone(&enough);
            begun.fetch_add(1, Ordering::SeqCst);
            async move {
                enough.notified().await;
                Ok(json!("done"))
            }
        };
        Engine::builder(Arc::clone(&self.store))
            .node(name.into())
            .clock(self.clock.clone())
            .built(WorkflowBuilder::new("work").function("work", work))
            .build()
            .unwrap()
    }

    /// Both times pass alike, in small steps.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds * 10 {
            self.clock.advance(Span(100));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn begun(&self) -> u32 {
        self.begun.load(Ordering::SeqCst)
    }

    async fn begin(&self, node: &Engine) -> RunId {
        let run = node.start(StartRun::new("work", Value::Null)).await.unwrap().run;
        self.pass(1).await;
        assert_eq!(self.begun(), 1);
        run
    }
}

fn schedule(node: &Engine) -> JoinHandle<()> {
    let node = node.clone();
    tokio::spawn(async move { node.schedule(Scope::All).await.unwrap() })
}

#[tokio::test(start_paused = true)]
async fn who_lives_keeps_what_it_holds() {
    let world = World::new();
    let (one, two) = (world.node("one"), world.node("two"));
    let (looks, others) = (schedule(&one), schedule(&two));
    let run = world.begin(&one).await;
    looks.abort();
    world.pass(2).await;
    // Nobody gets through for a minute; then the other one does first.
    world.clock.advance(Span::seconds(60));
    world.pass(1).await;
    assert_eq!(world.begun(), 1, "it was taken from somebody who could not renew it");
    let looks = schedule(&one);
    world.pass(30).await;
    assert_eq!(world.begun(), 1, "it was renewed");
    world.enough.notify_one();
    world.pass(1).await;
    assert_eq!(world.store.run(&run).unwrap().unwrap().status, RunStatus::Completed);
    looks.abort();
    others.abort();
}

#[tokio::test(start_paused = true)]
async fn what_nobody_renews_is_taken_a_moment_later() {
    let world = World::new();
    let (one, two) = (world.node("one"), world.node("two"));
    let others = schedule(&two);
    // Dropped in the middle of it, as a process that is gone: its lease is left behind.
    let driving = tokio::spawn(async move { one.run(StartRun::new("work", Value::Null)).await });
    world.pass(2).await;
    driving.abort();
    world.clock.advance(Span::seconds(60));
    world.pass(2).await;
    assert_eq!(world.begun(), 1, "who holds it may still come");
    world.pass(5).await;
    assert_eq!(world.begun(), 2, "nobody came");
    others.abort();
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_meanwhile_is_taken_at_once() {
    let world = World::new();
    let (one, two) = (world.node("one"), world.node("two"));
    let others = schedule(&two);
    let driving = tokio::spawn(async move { one.run(StartRun::new("work", Value::Null)).await });
    world.pass(2).await;
    driving.abort();
    // It was renewed at 0 s, and lasts 9 s. Somebody looks every second.
    world.pass(6).await;
    assert_eq!(world.begun(), 1);
    world.pass(3).await;
    assert_eq!(world.begun(), 2);
    others.abort();
}
