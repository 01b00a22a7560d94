//! Stopping, pausing, resuming and forking runs.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use signoff_core::{Decision, RunId, RunStatus, Seq};
use signoff_runtime::ForkRun;

use super::operation::of;
use super::start::located;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Id, json};
use crate::shape::{self, Run};
use crate::stream::Subscription;

/// How long an answer waits for the run to do what it was told.
const PATIENCE: Duration = Duration::from_secs(2);

const DONE: Answer = Answer::json(200, "It is done.", of::<Run>);
const TOLD: Answer =
    Answer::json(202, "It is told, and will be done when the run comes to it.", of::<Run>);

static CANCEL: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/runs/{id}/cancel",
    id: "cancel_run",
    summary: "Stops a run for good",
    query: None,
    body: Some(of::<Stop>),
    answers: &[DONE, TOLD],
    problems: &[Problem::UnknownRun, Problem::RunOver, Problem::ShuttingDown],
};

static PAUSE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/runs/{id}/pause",
    id: "pause_run",
    summary: "Lets nothing new start in a run",
    query: None,
    body: Some(of::<Stop>),
    answers: &[DONE, TOLD],
    problems: &[Problem::UnknownRun, Problem::RunOver, Problem::ShuttingDown],
};

static RESUME: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/runs/{id}/resume",
    id: "resume_run",
    summary: "Lets a paused run go on",
    query: None,
    body: Some(of::<Plain>),
    answers: &[DONE, TOLD],
    problems: &[Problem::UnknownRun, Problem::RunOver, Problem::ShuttingDown],
};

static FORK: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/runs/{id}/fork",
    id: "fork_run",
    summary: "Makes a new run from a place in another's journal, perhaps with another answer",
    query: None,
    body: Some(of::<Fork>),
    answers: &[Answer::json(201, "The new run. `Location` says where it is.", of::<Run>)],
    problems: &[
        Problem::UnknownRun,
        Problem::CannotFork,
        Problem::DecisionNotAllowed,
        Problem::InvalidAnswer,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&CANCEL, cancel).add(&PAUSE, pause).add(&RESUME, resume).add(&FORK, fork)
}

/// Why a run is stopped or paused.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stop {
    /// For the record.
    #[serde(default, deserialize_with = "reason")]
    #[schemars(with = "Option<String>", length(max = 16384))]
    reason: Option<String>,
}

/// The longest reason, in characters.
const MAX_REASON: usize = 16 * 1024;

/// A reason that is not too long to be kept.
pub(super) fn reason<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let reason = Option::<String>::deserialize(from)?;
    if reason.as_ref().is_some_and(|it| it.chars().count() > MAX_REASON) {
        let message = format!("`reason` has at most {MAX_REASON} characters");
        return Err(serde::de::Error::custom(message));
    }
    Ok(reason)
}

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Plain {}

async fn cancel(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(stop): Body<Stop>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let run = RunId::new(id);
    let listening = app.hub.listen(&run);
    app.engine.cancel(&run, caller.actor, stop.reason).await?;
    settled(&app, &run, listening, RunStatus::is_over).await
}

async fn pause(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(stop): Body<Stop>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let run = RunId::new(id);
    let listening = app.hub.listen(&run);
    app.engine.pause(&run, caller.actor, stop.reason).await?;
    settled(&app, &run, listening, |it| it == RunStatus::Paused || it.is_over()).await
}

async fn resume(
    app: App,
    Id(id): Id,
    caller: Caller,
    _: Body<Plain>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let run = RunId::new(id);
    let listening = app.hub.listen(&run);
    app.engine.unpause(&run, caller.actor).await?;
    settled(&app, &run, listening, |it| it != RunStatus::Paused).await
}

/// The run, once it stands where it should, or when that takes too long.
async fn settled(
    app: &App,
    run: &RunId,
    mut listening: Subscription,
    wanted: fn(RunStatus) -> bool,
) -> Result<Response, ApiError> {
    let settle = async {
        loop {
            let id = run.clone();
            let record = app.read(move |engine| Ok(engine.store().run(&id)?)).await?;
            if record.is_none_or(|record| wanted(record.status)) {
                return Ok::<_, ApiError>(());
            }
            listening.next().await;
        }
    };
    let status = match tokio::time::timeout(PATIENCE, settle).await {
        Ok(done) => done.map(|()| StatusCode::OK)?,
        Err(_) => StatusCode::ACCEPTED,
    };
    let id = run.clone();
    let run = app.read(move |engine| shape::run(engine, &id)).await?;
    Ok(json(status, &run))
}

/// A fork to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fork {
    /// The last entry both runs share. If it is a decision, the fork is just before it.
    #[schemars(range(min = 1))]
    at: Seq,
    /// A decision for the request that waits there.
    decision: Option<Decision>,
    /// Why, for the journal of the new run.
    #[serde(default, deserialize_with = "reason")]
    #[schemars(with = "Option<String>", length(max = 16384))]
    reason: Option<String>,
}

async fn fork(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(fork): Body<Fork>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let Fork { at, decision, reason } = fork;
    let fork = ForkRun { run: RunId::new(id), at, decision, by: caller.actor, reason };
    let started = app.engine.fork(fork).await?;
    app.metrics.run_started();
    located(&app, StatusCode::CREATED, started.run).await
}
