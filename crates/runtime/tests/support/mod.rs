//! An engine on each store, with a clock that stands still.

#![allow(dead_code, unreachable_pub)] // each test binary uses its part
#![allow(clippy::unwrap_used)] // it is a test

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use signoff_core::journal::ErrorInfo;
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{Decision, RequestId, RunId, RunStatus, Timestamp};
use signoff_runtime::{
    DecideError, DecideOutcome, DecideRequest, Engine, EngineBuilder, ManualClock, StartRun, new_id,
};
use signoff_store::{MemoryStore, RequestFilter, Scope, SqliteOptions, SqliteStore, Store};

pub struct World {
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
    _folder: Option<tempfile::TempDir>,
}

impl World {
    /// One world on memory, one on SQLite.
    pub fn all(build: impl Fn(EngineBuilder) -> EngineBuilder) -> Vec<World> {
        let folder = tempfile::tempdir().unwrap();
        let node: signoff_store::NodeId = new_id().into();
        let options = SqliteOptions::new(folder.path().join("test.db"), node.clone());
        let sqlite = Arc::new(SqliteStore::open(options).unwrap());
        vec![
            World::on(Arc::new(MemoryStore::new()), None, None, &build),
            World::on(sqlite, Some(node), Some(folder), &build),
        ]
    }

    fn on(
        store: Arc<dyn Store>,
        node: Option<signoff_store::NodeId>,
        folder: Option<tempfile::TempDir>,
        build: &impl Fn(EngineBuilder) -> EngineBuilder,
    ) -> World {
        let clock = Arc::new(ManualClock::new(Timestamp(1_794_700_800_000)));
        let mut builder = Engine::builder(Arc::clone(&store)).clock(clock.clone());
        if let Some(node) = node {
            builder = builder.node(node);
        }
        let engine = build(builder).build().unwrap();
        World { engine, store, clock, _folder: folder }
    }

    pub async fn run(&self, workflow: &str, input: Value) -> RunId {
        self.engine.run(StartRun::new(workflow, input)).await.unwrap().run
    }

    pub fn status(&self, run: &RunId) -> RunStatus {
        self.store.run(run).unwrap().unwrap().status
    }

    pub fn pending(&self, run: &RunId) -> Vec<Request> {
        let filter = RequestFilter {
            status: Some(RequestStatus::Pending),
            root: Some(run.clone()),
            ..RequestFilter::default()
        };
        self.store.requests(&filter, None, 100).unwrap().items
    }

    pub async fn answer(
        &self,
        id: &RequestId,
        decision: Decision,
    ) -> Result<DecideOutcome, DecideError> {
        self.engine.decide(DecideRequest::new(id.clone(), decision)).await
    }

    /// Lets the scheduler look once and waits for what it finds.
    pub async fn look(&self) {
        self.engine.look_for_work(&Scope::All).await.unwrap();
        self.engine.idle().await;
    }
}

static COUNTS: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// Counts a call and returns how many there have been.
pub fn count(name: &str) -> u32 {
    let mut counts = COUNTS.lock().unwrap();
    let count = counts.entry(name.to_owned()).or_default();
    *count += 1;
    *count
}

/// How many calls there have been.
pub fn counted(name: &str) -> u32 {
    COUNTS.lock().unwrap().get(name).copied().unwrap_or(0)
}

pub fn error(message: impl Into<String>) -> ErrorInfo {
    ErrorInfo::new("test", message)
}
