//! Starting runs.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use signoff_core::journal::Event;
use signoff_core::{ConversationId, RunId};
use signoff_runtime::{Engine, StartRun};

use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, json};
use crate::idempotency::{self, MAX_KEY};
use crate::shape::{self, Run};

static START: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/runs",
    id: "start_run",
    summary: "Starts a run; it goes on by itself",
    query: None,
    body: Some(of::<Start>),
    answers: &[
        Answer::json(201, "It was started. `Location` says where it is.", of::<Run>),
        Answer::json(200, "It was started before under this `idempotency_key`.", of::<Run>),
    ],
    problems: &[
        Problem::UnknownWorkflow,
        Problem::InvalidInput,
        Problem::ConversationBusy,
        Problem::IdempotencyConflict,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&START, start)
}

/// A run to start.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    /// The id of a workflow.
    workflow: String,
    /// What it is given; must fit its input schema.
    input: Value,
    /// The conversation it goes on with. A new one, if not given.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]{1,128}$"))]
    conversation: Option<String>,
    /// The same key again gives the same run, and starts nothing.
    #[schemars(length(min = 1, max = 255))]
    idempotency_key: Option<String>,
}

async fn start(app: App, caller: Caller, Body(start): Body<Start>) -> Result<Response, ApiError> {
    let (run, created) = start_run(&app, caller, start).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    located(&app, status, run).await
}

/// Starts a run in the caller's name. Its id, and whether it was not there before.
pub(crate) async fn start_run(
    app: &App,
    caller: Caller,
    start: Start,
) -> Result<(RunId, bool), ApiError> {
    app.takes_work()?;
    let key = start.idempotency_key.as_deref().map(key).transpose()?;
    let named = start.conversation.as_deref().map(conversation).transpose()?;
    let derived = key.map(|key| idempotency::derive(caller.tenant.as_str(), key));
    let keyed = derived.is_some();
    let (run, made) = derived.map(|ids| (ids.run, ids.conversation)).unzip();
    let wanted = StartRun {
        conversation: named.or(made),
        by: caller.actor,
        run,
        ..StartRun::new(start.workflow, start.input)
    };
    let again = keyed.then(|| wanted.clone());
    let started = app.engine.start(wanted).await?;
    if let (false, Some(again)) = (started.created, again) {
        let run = started.run.clone();
        app.read(move |engine| same(engine, &run, &again)).await?;
    } else {
        app.metrics.run_started();
    }
    Ok((started.run, started.created))
}

/// A run, and where it is.
pub(super) async fn located(
    app: &App,
    status: StatusCode,
    run: RunId,
) -> Result<Response, ApiError> {
    let place = format!("/v1/runs/{run}");
    let run = app.read(move |engine| shape::run(engine, &run)).await?;
    let mut response = json(status, &run);
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Whether a run was started with the same as is wanted now.
fn same(engine: &Engine, run: &RunId, wanted: &StartRun) -> Result<(), ApiError> {
    let first = engine.store().entries(run, 0, 1)?.into_iter().next().map(|entry| entry.event);
    let same = matches!(&first, Some(Event::Started(started))
        if *started.workflow == *wanted.workflow
            && started.input == wanted.input
            && Some(&started.conversation) == wanted.conversation.as_ref());
    if same {
        return Ok(());
    }
    Err(ApiError::new(
        Problem::IdempotencyConflict,
        "this `idempotency_key` was used for another run before",
    )
    .hint("take a new key for a new run")
    .details(serde_json::json!({ "run": run })))
}

/// A key that names a run to start, or a decision.
pub(crate) fn key(key: &str) -> Result<&str, ApiError> {
    if key.is_empty() || key.len() > MAX_KEY {
        let message = format!("`idempotency_key` has between 1 and {MAX_KEY} bytes");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    Ok(key)
}

/// The id of a conversation, as a client names it.
pub(crate) fn conversation(text: &str) -> Result<ConversationId, ApiError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if text.is_empty() || text.len() > 128 || !text.chars().all(plain) {
        let message = "`conversation` has at most 128 letters, digits, `_`, `-` and `.`";
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    Ok(ConversationId::new(text))
}
