//! Trying again what failed.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::RunId;

use super::operation::of;
use super::start::located;
use super::steer::reason;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Id};
use crate::shape::Run;

static RETRY: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/runs/{id}/retry",
    id: "retry_run",
    summary: "Makes a new run of one that failed or was stopped, from just before that",
    query: None,
    body: Some(of::<Again>),
    answers: &[Answer::json(201, "The new run. `Location` says where it is.", of::<Run>)],
    problems: &[
        Problem::UnknownRun,
        Problem::NotFailed,
        Problem::CannotFork,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&RETRY, retry)
}

/// Why it is tried again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Again {
    /// Kept in the journal of the new run.
    #[serde(default, deserialize_with = "reason")]
    #[schemars(with = "Option<String>", length(max = 16384))]
    reason: Option<String>,
}

async fn retry(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(again): Body<Again>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let started = app.engine.retry(&RunId::new(id), caller.actor, again.reason).await?;
    app.metrics.run_started();
    located(&app, StatusCode::CREATED, started.run).await
}
