//! The route by which agents are called.

use axum::http::{HeaderMap, header};
use axum::response::Response;
use futures_util::stream;

use super::begin::begin;
use super::follow::Stream;
use super::input::{Input, RunAgentInput};
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem, unknown_workflow};
use crate::extract::{AnyBody, Id};
use crate::stream::sse;

static RUN: Operation = Operation {
    verb: Verb::Post,
    path: "/ag-ui/{workflow}",
    id: "ag_ui_run",
    summary: "Starts a run, answers it or follows it (AG-UI, docs/ag-ui.md)",
    query: None,
    body: Some(of::<RunAgentInput>),
    answers: &[Answer::other(200, "Events until the run rests.", "text/event-stream")],
    problems: &[
        Problem::UnknownWorkflow,
        Problem::NotAcceptable,
        Problem::TooManyStreams,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&RUN, run)
}

async fn run(
    app: App,
    Id(workflow): Id,
    caller: Caller,
    headers: HeaderMap,
    AnyBody(body): AnyBody,
) -> Result<Response, ApiError> {
    accepts_events(&headers)?;
    known(&app, &workflow)?;
    let input = Input::read(body)?;
    app.takes_work()?;
    app.room("close some pages")?;
    let begun = begin(&app, &caller, &workflow, &input).await;
    let stream = Stream::new(&app, input, begun).await;
    Ok(sse::body(stream::unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok(event), stream))
    })))
}

/// Whether there is such a workflow.
pub(super) fn known(app: &App, workflow: &str) -> Result<(), ApiError> {
    if app.engine.workflow(workflow).is_some() {
        return Ok(());
    }
    let known: Vec<String> = app.engine.workflows().map(|it| it.workflow.id.clone()).collect();
    Err(unknown_workflow(workflow, &known))
}

/// Whether the client takes what is sent here. The binary form of the protocol is not.
fn accepts_events(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut wanted = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let takes = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        ["text/event-stream", "text/*", "*/*"].contains(&kind.as_str())
    };
    if headers.get(header::ACCEPT).is_none() || wanted.any(|kinds| kinds.split(',').any(takes)) {
        return Ok(());
    }
    Err(ApiError::new(Problem::NotAcceptable, "only `text/event-stream` is sent here")
        .hint("send `Accept: text/event-stream`"))
}
