//! An engine with one agent elsewhere.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_a2a::{A2aAgent, A2aConfig};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::workflow::{Known, MapFiles};
use signoff_core::{Decision, RunId, RunStatus, Workflow};
use signoff_runtime::{DecideRequest, Engine, StartRun, new_id};
use signoff_store::{RequestFilter, Scope, SqliteOptions, SqliteStore};
use signoff_tools::{Remote as _, RemoteMessage, RemotePart};

pub(crate) const WORKFLOW: &str = r"
workflow: complaint
agents: { clerk: { remote: refunds } }
pattern: sequential
sequential: { agents: [clerk] }
";

pub(crate) fn agent(text: &str) -> A2aAgent {
    let config: A2aConfig = toml::from_str(text).unwrap();
    A2aAgent::new("refunds", &config).unwrap()
}

pub(crate) fn at(port: u16) -> A2aAgent {
    agent(&format!("url = \"http://127.0.0.1:{port}\""))
}

/// An engine on the database in `folder`.
pub(crate) fn engine(folder: &Path, agent: A2aAgent, workflow: &str) -> Engine {
    let name = agent.name().to_owned();
    let known = Known { remotes: vec![&name], ..Known::default() };
    let workflow = Workflow::parse(workflow, &MapFiles::default(), &known).unwrap().workflow;
    let node: signoff_store::NodeId = new_id().into();
    let options = SqliteOptions::new(folder.join("runs.db"), Arc::clone(&node));
    let store = Arc::new(SqliteStore::open(options).unwrap());
    let builder = Engine::builder(store).node(node).remote(Arc::new(agent));
    builder.workflow(workflow).build().unwrap()
}

pub(crate) async fn start(engine: &Engine, input: &str) -> RunId {
    let run = engine.run(StartRun::new("complaint", json!(input))).await.unwrap().run;
    engine.idle().await;
    run
}

pub(crate) fn pending(engine: &Engine, run: &RunId) -> Request {
    let filter = RequestFilter {
        status: Some(RequestStatus::Pending),
        root: Some(run.clone()),
        ..RequestFilter::default()
    };
    let mut found = engine.store().requests(&filter, None, 10).unwrap().items;
    assert_eq!(found.len(), 1, "{:#?}", engine.state(run).unwrap());
    found.remove(0)
}

pub(crate) async fn decide(engine: &Engine, run: &RunId, decision: Decision) {
    let request = pending(engine, run);
    engine.decide(DecideRequest::new(request.id, decision)).await.unwrap();
    engine.look_for_work(&Scope::All).await.unwrap();
    engine.idle().await;
}

pub(crate) fn output(engine: &Engine, run: &RunId) -> Value {
    let record = engine.store().run(run).unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Completed, "{:?}", engine.state(run).unwrap());
    engine.state(run).unwrap().output().unwrap()
}

pub(crate) fn says(text: &str) -> RemoteMessage {
    let part = RemotePart::Text { text: text.to_owned(), about: Value::Null };
    RemoteMessage { id: "our-message".to_owned(), parts: vec![part] }
}
