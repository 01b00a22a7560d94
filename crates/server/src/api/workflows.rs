//! Workflows that can be started.

use axum::http::StatusCode;
use axum::response::Response;

use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem, unknown_workflow};
use crate::extract::{Id, Query, json};
use crate::shape::{List, Workflow, WorkflowSummary};

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/workflows",
    id: "list_workflows",
    summary: "The workflows that can be started",
    query: None,
    body: None,
    answers: &[Answer::json(200, "All of them, by id.", of::<List<WorkflowSummary>>)],
    problems: &[Problem::InvalidQuery],
};

static ONE: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/workflows/{id}",
    id: "get_workflow",
    summary: "A workflow: its definition, graph, input schema and version",
    query: None,
    body: None,
    answers: &[Answer::json(200, "The workflow.", of::<Workflow>)],
    problems: &[Problem::InvalidQuery, Problem::UnknownWorkflow],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&LIST, list).add(&ONE, one)
}

/// No parameters.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

async fn list(app: App, _: Query<Nothing>) -> Response {
    let data: Vec<WorkflowSummary> =
        app.engine.workflows().map(|definition| (&**definition).into()).collect();
    json(StatusCode::OK, &List { data, next_cursor: None })
}

async fn one(app: App, Id(id): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let definition = app.engine.workflow(&id).ok_or_else(|| {
        let known: Vec<String> = app.engine.workflows().map(|it| it.workflow.id.clone()).collect();
        unknown_workflow(&id, &known)
    })?;
    Ok(json(StatusCode::OK, &Workflow::from(&**definition)))
}
