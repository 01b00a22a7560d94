//! What people said in a run that counts for the rest of it: shown, added, taken back.

use std::time::Duration;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signoff_core::RunId;
use signoff_core::feedback::{Feedback as Kept, FeedbackScope, MAX_FEEDBACK_BYTES, Timing};

use super::operation::of;
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Id, Query, json};
use crate::shape::List;

/// How long an answer waits for the run to take it up.
const PATIENCE: Duration = Duration::from_secs(2);

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs/{id}/feedback",
    id: "list_feedback",
    summary: "What people said in a run that counts for the rest of it, oldest first",
    query: None,
    body: None,
    answers: &[Answer::json(200, "All of it.", of::<List<Feedback>>)],
    problems: &[Problem::InvalidQuery, Problem::UnknownRun],
};

static ADD: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/runs/{id}/feedback",
    id: "add_feedback",
    summary: "Says something to a run that its agents are told from then on",
    query: None,
    body: Some(of::<Say>),
    answers: &[
        Answer::json(201, "It counts. All of it.", of::<List<Feedback>>),
        Answer::json(202, "It will count when the run comes to it.", of::<List<Feedback>>),
    ],
    problems: &[
        Problem::UnknownRun,
        Problem::RunOver,
        Problem::FeedbackNotTaken,
        Problem::ShuttingDown,
    ],
};

static REMOVE: Operation = Operation {
    verb: Verb::Delete,
    path: "/v1/runs/{id}/feedback/{n}",
    id: "remove_feedback",
    summary: "Lets something that was said count no more",
    query: None,
    body: None,
    answers: &[
        Answer::json(200, "It counts no more. What is left.", of::<List<Feedback>>),
        Answer::json(202, "It will count no more when the run comes to it.", of::<List<Feedback>>),
    ],
    problems: &[
        Problem::UnknownRun,
        Problem::UnknownFeedback,
        Problem::RunOver,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&LIST, list).add(&ADD, add).add(&REMOVE, remove)
}

/// Something a person said.
#[derive(Debug, Serialize, JsonSchema)]
struct Feedback {
    /// Its number in the run, from 1.
    n: u32,
    /// What it is about.
    scope: FeedbackScope,
    /// The step it was said at.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    /// When it was said, as the plan goes.
    timing: Timing,
    /// Who said it.
    author: String,
    /// What.
    text: String,
    /// When.
    at: String,
}

impl From<&Kept> for Feedback {
    fn from(kept: &Kept) -> Self {
        let given = &kept.given;
        Self {
            n: given.n,
            scope: given.scope,
            step: given.step,
            timing: given.timing,
            author: given.author.to_string(),
            text: given.text.clone(),
            at: kept.at.rfc3339(),
        }
    }
}

/// Something to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Say {
    /// What.
    #[schemars(length(min = 1, max = 16384))]
    text: String,
}

async fn list(app: App, Id(id): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let kept = kept(&app, &RunId::new(id)).await?;
    Ok(shown(StatusCode::OK, &kept))
}

async fn add(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(said): Body<Say>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let run = RunId::new(id);
    let before = kept(&app, &run).await?.last().map_or(0, |last| last.given.n);
    if said.text.trim().is_empty() || said.text.len() > MAX_FEEDBACK_BYTES {
        let message = format!("`text` has between 1 and {MAX_FEEDBACK_BYTES} bytes");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    takes_feedback(&app, &run).await?;
    app.engine.add_feedback(&run, caller.actor.clone(), said.text.clone()).await?;
    let there = move |kept: &[Kept]| {
        let same = |it: &&Kept| it.given.author == caller.actor && it.given.text == said.text;
        kept.iter().filter(same).any(|it| it.given.n > before)
    };
    settled(&app, &run, there, StatusCode::CREATED).await
}

async fn remove(
    app: App,
    path: Result<Path<(String, String)>, PathRejection>,
    caller: Caller,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let Path((id, wanted)) =
        path.map_err(|error| ApiError::new(Problem::InvalidPath, error.body_text()))?;
    let run = RunId::new(id);
    let kept = kept(&app, &run).await?;
    let found = kept.iter().find(|it| it.given.n.to_string() == wanted);
    let Some(n) = found.map(|it| it.given.n) else {
        let message = format!("nothing that counts in this run has the number `{wanted}`");
        return Err(ApiError::new(Problem::UnknownFeedback, message)
            .hint("GET /v1/runs/ID/feedback lists what does"));
    };
    app.engine.remove_feedback(&run, caller.actor, n).await?;
    let gone = move |kept: &[Kept]| kept.iter().all(|it| it.given.n != n);
    settled(&app, &run, gone, StatusCode::OK).await
}

/// Only a run in phases has agents who are told.
async fn takes_feedback(app: &App, run: &RunId) -> Result<(), ApiError> {
    let id = run.clone();
    let record = app.read(move |engine| Ok(engine.view(&id)?.record)).await?;
    let definition = app.engine.definition(&record.version)?;
    if definition.workflow.in_phases().is_none() {
        let message = format!("`{}` has no phases, so nobody would be told", record.workflow);
        return Err(ApiError::new(Problem::FeedbackNotTaken, message));
    }
    Ok(())
}

async fn kept(app: &App, run: &RunId) -> Result<Vec<Kept>, ApiError> {
    let id = run.clone();
    app.read(move |engine| Ok(engine.state(&id)?.progress.feedback)).await
}

/// What counts, once it is as it should be, or when that takes too long.
async fn settled(
    app: &App,
    run: &RunId,
    wanted: impl Fn(&[Kept]) -> bool,
    done: StatusCode,
) -> Result<Response, ApiError> {
    let mut listening = app.hub.listen(run);
    let settle = async {
        loop {
            let kept = kept(app, run).await?;
            if wanted(&kept) {
                return Ok::<_, ApiError>(kept);
            }
            listening.next().await;
        }
    };
    match tokio::time::timeout(PATIENCE, settle).await {
        Ok(kept) => Ok(shown(done, &kept?)),
        Err(_) => Ok(shown(StatusCode::ACCEPTED, &kept(app, run).await?)),
    }
}

fn shown(status: StatusCode, kept: &[Kept]) -> Response {
    let data: Vec<Feedback> = kept.iter().map(Feedback::from).collect();
    json(status, &List { data, next_cursor: None })
}
