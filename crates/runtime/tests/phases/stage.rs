//! A team that plans and works as it is told, and a person who answers.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::message::ToolCall;
use signoff_core::request::Request;
use signoff_core::workflow::{Known, NoFiles};
use signoff_core::{Decision, Effects, Part, RunId, RunStatus, ToolSpec, Workflow};
use signoff_models::{BoxFuture, Delta, ModelError, ModelReply, ModelRequest, Provider};
use signoff_runtime::EngineBuilder;
use signoff_tools::{FnTool, Tool};

use crate::support::World;

/// What an agent does when it is asked.
pub(crate) enum Plays {
    Says(String),
    Calls(&'static str, Value),
    Fails(&'static str),
}

/// What it says as JSON.
pub(crate) fn says(value: Value) -> Plays {
    Plays::Says(match value {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

struct Model<F>(F);

impl<F> std::fmt::Debug for Model<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Model")
    }
}

impl<F: Fn(&ModelRequest) -> Plays + Send + Sync> Provider for Model<F> {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let parts = match (self.0)(request) {
            Plays::Says(text) => Ok(vec![Part::Text(text)]),
            Plays::Calls(name, arguments) => {
                let id = format!("{name}-{}", request.turn);
                Ok(vec![Part::ToolCall(ToolCall { id, name: name.into(), arguments })])
            }
            Plays::Fails(message) => Err(ModelError::new(ErrorInfo::new("broken", message))),
        };
        Box::pin(async move { Ok(ModelReply { parts: parts?, ..ModelReply::default() }) })
    }
}

/// A tool that changes a file, as far as anybody knows.
fn edit() -> Arc<dyn Tool> {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let effects = Effects { idempotent: true, file_edit: true, ..Effects::default() };
    let spec = ToolSpec { name: "edit".into(), description: String::new(), parameters, effects };
    Arc::new(FnTool::new(spec, |_| async { Ok(json!("edited")) }))
}

/// The team's file, with more settings for planning, for control, and for the file.
pub(crate) fn team(planning: &str, control: &str, more: &str) -> String {
    format!(
        r#"
workflow: team
pattern: phases
agents:
  planner: {{ instructions: Plan. }}
  engineer: {{ instructions: Build., tools: [edit] }}
  researcher: {{ instructions: Find out. }}
phases:
  planning: {{ planner: planner, {planning} }}
  control: {{ workers: [engineer, researcher], {control} }}
{more}"#
    )
}

/// The same with an improver, a reviewer and a controller.
pub(crate) fn full_team(planning: &str, control: &str) -> String {
    team(
        &format!("improver: improver, reviewer: reviewer, {planning}"),
        &format!("controller: lead, {control}"),
        "",
    )
    .replace(
        "agents:\n",
        "agents:\n  improver: { instructions: Improve. }\n  reviewer: { instructions: Review. }\n  lead: { instructions: Lead. }\n",
    )
}

pub(crate) fn read(file: &str) -> Result<Workflow, Vec<signoff_core::workflow::Diagnostic>> {
    let known = Known { tools: vec!["edit", "request_user_input"], ..Known::default() };
    Workflow::parse(file, &NoFiles, &known).map(|parsed| parsed.workflow)
}

/// A plan of these steps, each for the engineer.
pub(crate) fn plan(titles: &[&str]) -> Value {
    let step = |title: &&str| json!({ "title": title, "detail": "As well as you can.", "agent": "engineer" });
    json!({ "steps": titles.iter().map(step).collect::<Vec<_>>() })
}

pub(crate) fn worlds(
    file: &str,
    model: impl Fn(&ModelRequest) -> Plays + Send + Sync + Clone + 'static,
) -> Vec<World> {
    let workflow = read(file).unwrap_or_else(|problems| panic!("{problems:?}"));
    World::all(move |engine: EngineBuilder| {
        let engine = engine.workflow(workflow.clone()).tools(vec![edit()]);
        engine.model("default", Arc::new(Model(model.clone())))
    })
}

/// Plans two steps, and does each by saying so.
pub(crate) fn plainly(request: &ModelRequest) -> Plays {
    match &*request.agent {
        "planner" => says(plan(&["one", "two"])),
        who => says(json!(format!("{who} did it"))),
    }
}

/// What the model was told last.
pub(crate) fn told(request: &ModelRequest) -> String {
    request.messages.last().unwrap().text()
}

pub(crate) async fn start(world: &World) -> RunId {
    world.run("team", json!("Do it")).await
}

/// The one request that waits.
pub(crate) fn waits(world: &World, run: &RunId) -> Request {
    let mut pending = world.pending(run);
    assert_eq!(pending.len(), 1, "{pending:?}");
    pending.remove(0)
}

/// What waits, as one word; how the run ended, if nothing does.
pub(crate) fn stands(world: &World, run: &RunId) -> String {
    let pending = world.pending(run);
    match pending.as_slice() {
        [] => world.status(run).to_string(),
        [one] => one.body.kind.to_string(),
        several => panic!("{several:?}"),
    }
}

/// Answers what waits, and says what came next.
pub(crate) async fn answer(world: &World, run: &RunId, decision: Decision) -> String {
    let request = waits(world, run);
    world.answer(&request.id, decision).await.unwrap();
    world.engine.idle().await;
    stands(world, run)
}

/// Answers everything with yes, and lists what was asked and how it ended.
pub(crate) async fn approve_all(world: &World, run: &RunId) -> Vec<String> {
    let mut seen = vec![stands(world, run)];
    while world.status(run) == RunStatus::Waiting {
        seen.push(answer(world, run, Decision::approve()).await);
    }
    seen
}

pub(crate) fn output(world: &World, run: &RunId) -> Value {
    let record = world.store.run(run).unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Completed, "{:?}", record.error);
    world.engine.state(run).unwrap().output().unwrap()
}

pub(crate) fn error(world: &World, run: &RunId) -> ErrorInfo {
    world.store.run(run).unwrap().unwrap().error.unwrap()
}

pub(crate) fn revise(text: &str) -> Decision {
    Decision::Revise { feedback: Some(text.to_owned()) }
}

pub(crate) fn redo(text: &str) -> Decision {
    Decision::Redo { feedback: Some(text.to_owned()) }
}

pub(crate) fn retry(text: &str) -> Decision {
    Decision::Retry { feedback: Some(text.to_owned()) }
}

pub(crate) fn note(text: &str) -> Decision {
    Decision::Approve { note: Some(text.to_owned()), remember: None }
}
