//! What people said in a run that its agents are told: shown, added, taken back.

use std::time::Duration;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signoff_core::feedback::{
    Feedback as Kept, FeedbackScope, MAX_FEEDBACK, MAX_FEEDBACK_BYTES, Remark, Timing,
};
use signoff_core::state::Progress;
use signoff_core::time::{Span, Timestamp};
use signoff_core::{Name, RunId};

use super::operation::of;
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Id, Query, json};
use crate::shape::List;

/// The longest time for which something may be said to count.
const LONGEST: Span = Span::seconds(366 * 86_400);

/// How many agents something can be for.
const MOST_AGENTS: usize = 64;

/// How long an answer waits for the run to take it up.
const PATIENCE: Duration = Duration::from_secs(2);

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs/{id}/feedback",
    id: "list_feedback",
    summary: "What people said in a run that its agents are told, oldest first",
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
    /// What it is about, and so for how long it counts.
    scope: FeedbackScope,
    /// The phase outside of which it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Name>,
    /// The step it was said at.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    /// When it was said, as the plan goes.
    timing: Timing,
    /// Who said it.
    author: String,
    /// The agents that are told. Not there: all.
    #[serde(rename = "for", skip_serializing_if = "Vec::is_empty")]
    agents: Vec<Name>,
    /// What.
    text: String,
    /// When.
    at: String,
    /// From when on it counts no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// Whether it counts now. It does not if it has expired, if the step it is about is over, and while the run is in another
    /// phase than it is about.
    counts: bool,
}

impl Feedback {
    fn of(kept: &Kept, phase: Option<&str>, now: Timestamp) -> Self {
        let given = &kept.given;
        Self {
            n: given.n,
            scope: given.scope,
            phase: given.phase.clone(),
            step: given.step,
            timing: given.timing,
            author: given.author.to_string(),
            agents: given.agents.clone(),
            text: given.text.clone(),
            at: kept.at.rfc3339(),
            expires: given.expires.map(Timestamp::rfc3339),
            counts: kept.counts(phase, now),
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
    /// What it is about, and so for how long it counts: the run (the default), the phase it is in, or the step it is at.
    #[serde(default)]
    scope: FeedbackScope,
    /// The agents that are told, if not all.
    #[serde(default, rename = "for")]
    #[schemars(length(max = 64))]
    agents: Vec<Name>,
    /// From when on it counts no more: a time (`2026-01-31T18:00:00Z`), or a length of time from now (`2h`).
    #[serde(default)]
    #[schemars(length(max = 64))]
    expires: Option<String>,
}

async fn list(app: App, Id(id): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let progress = progress(&app, &RunId::new(id)).await?;
    Ok(shown(&app, StatusCode::OK, &progress))
}

async fn add(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(said): Body<Say>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let run = RunId::new(id);
    let known = progress(&app, &run).await?;
    let before = known.last_feedback;
    if said.text.trim().is_empty() || said.text.len() > MAX_FEEDBACK_BYTES {
        let message = format!("`text` has between 1 and {MAX_FEEDBACK_BYTES} bytes");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    if said.agents.len() > MOST_AGENTS {
        let message = format!("`for` names at most {MOST_AGENTS} agents");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    takes_feedback(&app, &run, &said.agents).await?;
    if known.feedback.len() >= MAX_FEEDBACK {
        let message = format!("{MAX_FEEDBACK} things were said in this run already");
        return Err(
            ApiError::new(Problem::FeedbackNotTaken, message).hint("take back what counts no more")
        );
    }
    if said.scope == FeedbackScope::Step && known.step.is_none() {
        let message = "the run is at no step that this could be about".to_owned();
        return Err(ApiError::new(Problem::FeedbackNotTaken, message)
            .hint("say it about the `phase` or the `run`"));
    }
    let expires = until(said.expires.as_deref(), app.engine.clock().now())?;
    let Say { text, scope, agents, .. } = said;
    let remark = Remark { text: text.clone(), scope, agents, expires };
    app.engine.add_feedback(&run, caller.actor.clone(), remark).await?;
    let there = move |kept: &[Kept]| {
        let same = |it: &&Kept| it.given.author == caller.actor && it.given.text == text;
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
    let known = progress(&app, &run).await?;
    let found = known.feedback.iter().find(|it| it.given.n.to_string() == wanted);
    let Some(n) = found.map(|it| it.given.n) else {
        let message = format!("nothing that was said in this run has the number `{wanted}`");
        return Err(ApiError::new(Problem::UnknownFeedback, message)
            .hint("GET /v1/runs/ID/feedback lists what was"));
    };
    app.engine.remove_feedback(&run, caller.actor, n).await?;
    let gone = move |kept: &[Kept]| kept.iter().all(|it| it.given.n != n);
    settled(&app, &run, gone, StatusCode::OK).await
}

/// From when on something counts no more: at a time, or after a length of time.
fn until(said: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>, ApiError> {
    let Some(said) = said else { return Ok(None) };
    let after = said.parse::<Span>().ok().filter(|span| *span <= LONGEST);
    let until = after.map(|span| now.plus(span)).or_else(|| Timestamp::from_rfc3339(said));
    let until = until.filter(|until| *until > now && *until <= now.plus(LONGEST));
    let message = "`expires` is a time to come within a year, or a length of time like `2h`";
    until.map(Some).ok_or_else(|| ApiError::new(Problem::InvalidBody, message.to_owned()))
}

/// Only a run in phases has agents who are told, and only those that have a part in them.
async fn takes_feedback(app: &App, run: &RunId, agents: &[Name]) -> Result<(), ApiError> {
    let id = run.clone();
    let record = app.read(move |engine| Ok(engine.view(&id)?.record)).await?;
    let definition = app.engine.definition(&record.version)?;
    let Some(phases) = definition.workflow.in_phases() else {
        let message = format!("`{}` has no phases, so nobody would be told", record.workflow);
        return Err(ApiError::new(Problem::FeedbackNotTaken, message));
    };
    let has_part = |name: &Name| phases.agents().any(|agent| agent.as_str() == &**name);
    if let Some(stranger) = agents.iter().find(|name| !has_part(name)) {
        let parts: Vec<&str> = phases.agents().map(String::as_str).collect();
        let message = format!("no agent in these phases is called `{stranger}`");
        return Err(ApiError::new(Problem::FeedbackNotTaken, message)
            .hint(format!("there are {}", parts.join(", "))));
    }
    Ok(())
}

async fn progress(app: &App, run: &RunId) -> Result<Progress, ApiError> {
    let id = run.clone();
    app.read(move |engine| Ok(engine.state(&id)?.progress)).await
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
            let progress = progress(app, run).await?;
            if wanted(&progress.feedback) {
                return Ok::<_, ApiError>(progress);
            }
            listening.next().await;
        }
    };
    match tokio::time::timeout(PATIENCE, settle).await {
        Ok(progress) => Ok(shown(app, done, &progress?)),
        Err(_) => Ok(shown(app, StatusCode::ACCEPTED, &progress(app, run).await?)),
    }
}

fn shown(app: &App, status: StatusCode, progress: &Progress) -> Response {
    let (now, phase) = (app.engine.clock().now(), progress.phase.as_deref());
    let data: Vec<Feedback> =
        progress.feedback.iter().map(|kept| Feedback::of(kept, phase, now)).collect();
    json(status, &List { data, next_cursor: None })
}
