//! Who looks after a request, and what people say about it among themselves.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Actor, RequestId};
use signoff_store::{Mark, Marked, Noted};

use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem, standing};
use crate::extract::{Body, Id, json};
use crate::shape::{self, Request};

/// The longest comment, in bytes.
const MAX_COMMENT: usize = 16 * 1024;
/// The longest name, in bytes.
const MAX_NAME: usize = 128;

const NOTED: Answer = Answer::json(200, "It is noted. The request as it stands.", of::<Request>);

static CLAIM: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/claim",
    id: "claim_request",
    summary: "Says that the caller looks after a request; others may still decide it",
    query: None,
    body: Some(of::<Nothing>),
    answers: &[NOTED],
    problems: &[
        Problem::UnknownRequest,
        Problem::AlreadyClaimed,
        Problem::AlreadyDecided,
        Problem::Expired,
        Problem::Cancelled,
    ],
};

static RELEASE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/release",
    id: "release_request",
    summary: "Says that the caller looks after a request no more",
    ..CLAIM
};

static REASSIGN: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/reassign",
    id: "reassign_request",
    summary: "Says who looks after a request, whoever did before",
    body: Some(of::<Reassign>),
    problems: &[
        Problem::UnknownRequest,
        Problem::AlreadyDecided,
        Problem::Expired,
        Problem::Cancelled,
    ],
    ..CLAIM
};

static COMMENT: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/comment",
    id: "comment_request",
    summary: "Adds a comment for others who look at a request",
    body: Some(of::<Comment>),
    problems: &[Problem::UnknownRequest],
    ..CLAIM
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&CLAIM, claim).add(&RELEASE, release).add(&REASSIGN, reassign).add(&COMMENT, comment)
}

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Plain")]
struct Nothing {}

/// Who looks after a request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reassign {
    /// A name; nobody, if not given.
    #[schemars(length(min = 1, max = 128))]
    to: Option<String>,
}

/// What to know about a request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Comment {
    /// The comment.
    #[schemars(length(min = 1, max = 16384))]
    text: String,
}

async fn claim(
    app: App,
    Id(id): Id,
    caller: Caller,
    _: Body<Nothing>,
) -> Result<Response, ApiError> {
    mark(&app, &id, caller, Noted::Claimed).await
}

async fn release(
    app: App,
    Id(id): Id,
    caller: Caller,
    _: Body<Nothing>,
) -> Result<Response, ApiError> {
    mark(&app, &id, caller, Noted::Released).await
}

async fn reassign(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(body): Body<Reassign>,
) -> Result<Response, ApiError> {
    let fits = |name: &String| (1..=MAX_NAME).contains(&name.trim().len());
    if body.to.as_ref().is_some_and(|name| !fits(name)) {
        let message = format!("`to` is a name of 1 to {MAX_NAME} bytes");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    let to = body.to.map(|name| Actor::new(name.trim()));
    mark(&app, &id, caller, Noted::Assigned { to }).await
}

async fn comment(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(body): Body<Comment>,
) -> Result<Response, ApiError> {
    if body.text.trim().is_empty() || body.text.len() > MAX_COMMENT {
        let message = format!("`text` has between 1 and {MAX_COMMENT} bytes");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    mark(&app, &id, caller, Noted::Commented { text: body.text }).await
}

async fn mark(app: &App, id: &str, caller: Caller, what: Noted) -> Result<Response, ApiError> {
    app.takes_work()?;
    let request = RequestId::new(id);
    let at = app.engine.clock().now();
    let mark = Mark { request: request.clone(), by: caller.actor, at, what };
    match app.engine.store().mark(mark).await? {
        Marked::Done(_) => {
            app.inbox.look_soon();
            shown(app, request).await
        }
        Marked::Held(held) => {
            let who = held.assignee.as_ref().map(ToString::to_string).unwrap_or_default();
            Err(ApiError::new(Problem::AlreadyClaimed, format!("`{who}` looks after it"))
                .hint("POST …/reassign gives it to somebody else")
                .details(json!({ "request": held.id, "assignee": held.assignee })))
        }
        Marked::Closed(closed) => {
            let problem = match closed.status {
                signoff_core::RequestStatus::Expired => Problem::Expired,
                signoff_core::RequestStatus::Cancelled => Problem::Cancelled,
                _ => Problem::AlreadyDecided,
            };
            Err(ApiError::new(problem, "the request does not wait any more")
                .details(standing(&closed)))
        }
    }
}

/// Answers with a request and what was noted on it.
pub(super) async fn shown(app: &App, id: RequestId) -> Result<Response, ApiError> {
    Ok(json(StatusCode::OK, &with_notes(app, id).await?.1))
}

/// The version of a request, and the request with what was noted on it.
pub(super) async fn with_notes(app: &App, id: RequestId) -> Result<(u32, Value), ApiError> {
    let shown = app.read(move |engine| {
        let found = engine.store().request(&id)?;
        let request = found.ok_or_else(|| ApiError::unknown_request(id.as_str()))?;
        let notes = engine.store().notes(&id)?;
        Ok((request.version, shape::request_with_notes(&request, &notes)))
    });
    shown.await
}
