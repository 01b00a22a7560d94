//! Runs, in the shapes of clients that ask how one stands.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use signoff_core::RunId;
use signoff_store::{RunFilter, RunRecord};

use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem, unknown_workflow};
use crate::extract::{Id, json};

/// How many runs are listed, the newest first.
const MAX_RUNS: usize = 100;

static RUNS: Operation = Operation {
    verb: Verb::Get,
    path: "/bridge/v1/workflows/{id}/runs",
    id: "bridge_runs",
    summary: "The latest runs of a workflow (docs/bridge.md)",
    query: None,
    body: None,
    answers: &[Answer::json(200, "At most 100, newest first.", of::<Vec<BridgeRun>>)],
    problems: &[Problem::UnknownWorkflow],
};

static STATUS: Operation = Operation {
    verb: Verb::Get,
    path: "/bridge/v1/runs/{id}/status",
    id: "bridge_run_status",
    summary: "How a run stands (docs/bridge.md)",
    query: None,
    body: None,
    answers: &[Answer::json(200, "The run.", of::<BridgeRun>)],
    problems: &[Problem::UnknownRun],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&RUNS, runs).add(&STATUS, status)
}

/// A run, in few words.
#[derive(Debug, Serialize, JsonSchema)]
struct BridgeRun {
    /// Its id.
    id: String,
    /// Where it stands.
    status: String,
    /// Why it failed.
    last_error: Option<String>,
    /// When it was started.
    started_at: String,
    /// When it was over.
    completed_at: Option<String>,
}

impl From<RunRecord> for BridgeRun {
    fn from(run: RunRecord) -> Self {
        let over = run.status.is_over();
        Self {
            id: run.id.to_string(),
            status: run.status.to_string(),
            last_error: run.error.map(|error| error.message),
            started_at: run.created_at.rfc3339(),
            completed_at: over.then(|| run.updated_at.rfc3339()),
        }
    }
}

async fn runs(app: App, Id(id): Id) -> Result<Response, ApiError> {
    if app.engine.workflow(&id).is_none() {
        let known: Vec<String> = app.engine.workflows().map(|it| it.workflow.id.clone()).collect();
        return Err(unknown_workflow(&id, &known));
    }
    let filter = RunFilter { workflow: Some(id.into()), ..RunFilter::default() };
    let page = app.search(move |engine| Ok(engine.store().runs(&filter, None, MAX_RUNS)?)).await?;
    let runs: Vec<BridgeRun> = page.items.into_iter().map(BridgeRun::from).collect();
    Ok(json(StatusCode::OK, &runs))
}

async fn status(app: App, Id(id): Id) -> Result<Response, ApiError> {
    let run = app.read(move |engine| {
        let found = engine.store().run(&RunId::new(id.as_str()))?;
        found.ok_or_else(|| ApiError::unknown_run(&id))
    });
    Ok(json(StatusCode::OK, &BridgeRun::from(run.await?)))
}
