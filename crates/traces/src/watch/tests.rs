//! Real engines on one store, watched.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::request::RequestBody;
use signoff_core::{Actor, Decision, RunId};
use signoff_runtime::{DecideRequest, Engine, StartRun, WorkflowBuilder};
use signoff_store::{MemoryStore, Store};
use tokio::sync::{mpsc, watch as signal};

use super::Watch;
use crate::Counts;
use crate::span::Span;

/// `first`, then `ask`, which asks, then `last`.
fn engine(store: &Arc<dyn Store>) -> Engine {
    let workflow = WorkflowBuilder::new("three")
        .function("first", |_, _| async { Ok(Value::Null) })
        .function("ask", |ctx, _| async move {
            ctx.ask("q", RequestBody::input("Well?")).await?;
            Ok(Value::Null)
        })
        .function("last", |_, _| async { Ok(Value::Null) })
        .edge("first", "ask")
        .edge("ask", "last");
    Engine::builder(Arc::clone(store)).built(workflow).build().unwrap()
}

/// An engine that is watched.
struct Watched {
    engine: Engine,
    counts: Arc<Counts>,
    stop: signal::Sender<bool>,
    watching: tokio::task::JoinHandle<()>,
    spans: mpsc::Receiver<Span>,
}

impl Watched {
    fn new(store: &Arc<dyn Store>, room: usize) -> Self {
        let (engine, counts) = (engine(store), Arc::<Counts>::default());
        let (stop, stopping) = signal::channel(false);
        let (sender, spans) = mpsc::channel(room);
        let watch = Watch::new(engine.clone(), sender, Arc::clone(&counts));
        let watching = tokio::spawn(watch.run(engine.watch(), stopping));
        Self { engine, counts, stop, watching, spans }
    }

    async fn start(&self) -> RunId {
        let started = self.engine.start(StartRun::new("three", json!({}))).await.unwrap();
        self.engine.idle().await;
        started.run
    }

    async fn answer(&self, run: &RunId) {
        let decision = Decision::Respond { content: json!("yes") };
        let decide = DecideRequest::new(run.request(1), decision).by(Actor::new("bob"));
        self.engine.decide(decide).await.unwrap();
        self.engine.idle().await;
    }

    async fn names(mut self) -> Vec<String> {
        self.stop.send_replace(true);
        self.watching.await.unwrap();
        let mut names = Vec::new();
        while let Some(span) = self.spans.recv().await {
            names.push(span.name);
        }
        names
    }
}

#[tokio::test]
async fn each_process_tells_what_ended_in_it() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (one, other) = (Watched::new(&store, 64), Watched::new(&store, 64));
    let run = one.start().await;
    other.answer(&run).await;
    assert_eq!(one.names().await, ["first"]);
    let rest = ["wait_for_person input", "ask", "last", "invoke_workflow three"];
    assert_eq!(other.names().await, rest);
}

#[tokio::test]
async fn a_run_that_wakes_is_told_once() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let one = Watched::new(&store, 64);
    let run = one.start().await;
    one.answer(&run).await;
    let all = ["first", "wait_for_person input", "ask", "last", "invoke_workflow three"];
    assert_eq!(one.names().await, all);
}

#[tokio::test]
async fn what_does_not_fit_is_dropped_and_counted() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let one = Watched::new(&store, 2);
    let run = one.start().await;
    one.answer(&run).await;
    let counts = Arc::clone(&one.counts);
    assert_eq!(one.names().await, ["first", "wait_for_person input"]);
    assert_eq!((counts.sent(), counts.dropped()), (0, 3));
}

#[tokio::test]
async fn what_was_not_heard_is_read_from_the_store() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let engine = engine(&store);
    let (sender, mut spans) = mpsc::channel(64);
    let counts = Arc::<Counts>::default();
    let mut watch = Watch::new(engine.clone(), sender, Arc::clone(&counts));
    let mut live = engine.watch();
    let run = engine.start(StartRun::new("three", json!({}))).await.unwrap().run;
    engine.idle().await;
    // The first piece is heard; the rest, that it rests among it, is not.
    watch.hear(live.recv().await.unwrap()).await;
    assert_eq!(watch.readers.len(), 1);
    let decision = Decision::Respond { content: json!("yes") };
    engine.decide(DecideRequest::new(run.request(1), decision)).await.unwrap();
    engine.idle().await;
    watch.catch_up(7).await;
    assert!(watch.readers.is_empty());
    drop(watch);
    let mut names = Vec::new();
    while let Some(span) = spans.recv().await {
        names.push(span.name);
    }
    let all = ["first", "wait_for_person input", "ask", "last", "invoke_workflow three"];
    assert_eq!(names, all);
    assert_eq!(counts.dropped(), 7);
}
