//! A run whose tool asks a person parks in the store, and another engine goes on with it.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::workflow::{Known, MapFiles};
use signoff_core::{Decision, RunId, RunStatus, Workflow};
use signoff_mcp::McpSource;
use signoff_models::Scripted;
use signoff_runtime::{DecideRequest, Engine, StartRun, new_id};
use signoff_store::{RequestFilter, Scope, SqliteOptions, SqliteStore};

use crate::support::everything_source;

/// An engine on the database in `folder`, with one server and one workflow.
pub(crate) fn engine(folder: &Path, source: McpSource, workflow: &str, script: &str) -> Engine {
    let name = signoff_tools::ToolSource::name(&source).to_owned();
    let known =
        Known { tools: vec!["request_user_input"], sources: vec![&name], ..Known::default() };
    let workflow = Workflow::parse(workflow, &MapFiles::default(), &known).unwrap().workflow;
    let script = signoff_core::workflow::yaml(script).unwrap();
    let node: signoff_store::NodeId = new_id().into();
    let options = SqliteOptions::new(folder.join("runs.db"), Arc::clone(&node));
    let store = Arc::new(SqliteStore::open(options).unwrap());
    Engine::builder(store)
        .node(node)
        .source(Arc::new(source))
        .model("default", Arc::new(Scripted::from_value(script).unwrap()))
        .workflow(workflow)
        .build()
        .unwrap()
}

pub(crate) fn pending(engine: &Engine, run: &RunId) -> Request {
    let filter = RequestFilter {
        status: Some(RequestStatus::Pending),
        root: Some(run.clone()),
        ..RequestFilter::default()
    };
    let mut found = engine.store().requests(&filter, None, 10).unwrap().items;
    assert_eq!(found.len(), 1, "{:#?}", engine.state(run).unwrap().output());
    found.remove(0)
}

pub(crate) async fn start(engine: &Engine, workflow: &str) -> RunId {
    let run = engine.run(StartRun::new(workflow, json!("go"))).await.unwrap().run;
    engine.idle().await;
    assert_eq!(engine.store().run(&run).unwrap().unwrap().status, RunStatus::Waiting);
    run
}

pub(crate) async fn decide(engine: &Engine, run: &RunId, decision: Decision) {
    let request = pending(engine, run);
    engine.decide(DecideRequest::new(request.id, decision)).await.unwrap();
    engine.look_for_work(&Scope::All).await.unwrap();
    engine.idle().await;
}

pub(crate) fn output(engine: &Engine, run: &RunId) -> Value {
    let status = engine.store().run(run).unwrap().unwrap().status;
    assert_eq!(status, RunStatus::Completed, "{:?}", engine.state(run).unwrap());
    engine.state(run).unwrap().output().unwrap()
}

const WORKFLOW: &str = r#"
workflow: registry
input: { type: string }
agents:
  clerk:
    instructions: Ask for the particulars.
    tools: ["mcp:all/trigger-elicitation-request"]
pattern: sequential
sequential: { agents: [clerk] }
"#;

const SCRIPT: &str = r#"
- agent: clerk
  turn: 1
  call: [{ tool: all_trigger-elicitation-request, arguments: {} }]
- agent: clerk
  text: "{{ results['all_trigger-elicitation-request'] }}"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_parks_on_a_question_and_another_engine_finishes_it() {
    let folder = tempfile::tempdir().unwrap();
    let first = engine(folder.path(), everything_source(), WORKFLOW, SCRIPT);
    let run = start(&first, "registry").await;
    let request = pending(&first, &run);
    assert!(request.body.prompt.contains("Please provide inputs"), "{}", request.body.prompt);
    drop(first);

    let second = engine(folder.path(), everything_source(), WORKFLOW, SCRIPT);
    let particulars = json!({ "name": "Ada Lovelace", "check": true });
    decide(&second, &run, Decision::respond(particulars)).await;
    let said = output(&second, &run);
    assert!(said.as_str().unwrap().contains("Ada Lovelace"), "{said}");
}

const SLOW: &str = r#"
workflow: slow
input: { type: string }
agents:
  clerk:
    instructions: Let it run.
    tools: ["mcp:all/trigger-long-running-operation"]
pattern: sequential
sequential: { agents: [clerk] }
"#;

const SLOW_SCRIPT: &str = r#"
- agent: clerk
  turn: 1
  call: [{ tool: all_trigger-long-running-operation, arguments: { duration: 60, steps: 60 } }]
- agent: clerk
  text: "{{ results['all_trigger-long-running-operation'] }}"
"#;

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_mid_call_is_told_to_the_agent_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), everything_source(), SLOW, SLOW_SCRIPT);
    let run = engine.start(StartRun::new("slow", json!("go"))).await.unwrap().run;
    let called = |entries: &[signoff_core::journal::Entry]| {
        let is_intent = |event: &_| matches!(event, signoff_core::Event::Intent { .. });
        entries.iter().any(|entry| is_intent(&entry.event))
    };
    let mut tries = 0;
    while !called(&engine.store().entries(&run, 0, 100).unwrap()) {
        tries += 1;
        assert!(tries < 600, "the tool was not called");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    for pid in children() {
        std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    }
    engine.idle().await;
    let said = output(&engine, &run);
    assert!(said.to_string().contains("may have happened"), "{said}");
}

/// The processes this one has started.
#[cfg(target_os = "linux")]
fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).ok())
        .flat_map(|pids| pids.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}
