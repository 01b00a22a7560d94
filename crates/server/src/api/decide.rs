//! Deciding requests. Decisions of clients come through here.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;
use signoff_core::request::RequestStatus;
use signoff_core::{Decision, Request, RequestId};
use signoff_runtime::{DecideError, DecideRequest};

use super::operation::of;
use super::start::key;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{AnyBody, Id, from_value, json};
use crate::shape;

static DECIDE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/decision",
    id: "decide_request",
    summary: "Decides a request; its run goes on",
    query: None,
    body: Some(of::<shape::Decide>),
    answers: &[
        Answer::json(
            200,
            "The decision stands. The same decision again changes nothing.",
            of::<shape::Request>,
        ),
        Answer::json(202, "It counts, and others must agree.", of::<shape::Request>),
    ],
    problems: &[
        Problem::UnknownRequest,
        Problem::AlreadyDecided,
        Problem::VersionConflict,
        Problem::Expired,
        Problem::Cancelled,
        Problem::DecisionNotAllowed,
        Problem::NotAsked,
        Problem::OwnRun,
        Problem::InvalidAnswer,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&DECIDE, decide)
}

async fn decide(
    app: App,
    Id(id): Id,
    caller: Caller,
    AnyBody(body): AnyBody,
) -> Result<Response, ApiError> {
    let decided = decide_as_said(&app, caller, RequestId::new(id), body).await?;
    let status = match decided.status {
        RequestStatus::Pending => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    Ok(json(status, &shape::request(&decided)))
}

/// Takes the decision that a client sent, with the version it saw. The request as decided.
pub(crate) async fn decide_as_said(
    app: &App,
    caller: Caller,
    id: RequestId,
    body: Value,
) -> Result<Request, ApiError> {
    let said = match app.takes_work() {
        Ok(()) => read(body),
        Err(error) => Err(error),
    };
    match said {
        Ok((decision, version)) => decide_request(app, caller, id, decision, version).await,
        Err(error) => {
            app.metrics.decision(error.code());
            Err(error)
        }
    }
}

/// Takes a decision in the caller's name. The request as decided.
pub(crate) async fn decide_request(
    app: &App,
    caller: Caller,
    id: RequestId,
    decision: Decision,
    version: Option<u32>,
) -> Result<Request, ApiError> {
    let decide = DecideRequest::new(id, decision)
        .by(caller.actor)
        .with_roles(&caller.roles)
        .seen_at(version);
    take_decision(app, decide).await.map(|(request, _)| request)
}

/// Takes a decision. The request as decided, and whether that changed anything.
pub(crate) async fn take_decision(
    app: &App,
    decide: DecideRequest,
) -> Result<(Request, bool), ApiError> {
    let taken = take(app, decide).await;
    app.metrics.decision(match &taken {
        Ok((_, true)) => "taken",
        Ok((_, false)) => "repeated",
        Err(error) => error.code(),
    });
    app.inbox.look_soon();
    taken
}

async fn take(app: &App, decide: DecideRequest) -> Result<(Request, bool), ApiError> {
    app.takes_work()?;
    let id = decide.request.clone();
    let changed = app.engine.decide(decide).await?.changed;
    let decided = app.read(move |engine| {
        let found = engine.store().request(&id)?;
        found.ok_or_else(|| DecideError::Unknown(id).into())
    });
    Ok((decided.await?, changed))
}

/// The decision in a body, and the version of the request that was seen.
pub(super) fn read(body: Value) -> Result<(Decision, Option<u32>), ApiError> {
    let Value::Object(mut fields) = body else {
        return Err(ApiError::new(Problem::InvalidBody, "the body must be an object")
            .hint(r#"for example {"decision":"approve"}"#));
    };
    let version = fields.remove("version").map(from_value::<Option<u32>>).transpose()?.flatten();
    let named =
        fields.remove("idempotency_key").map(from_value::<Option<String>>).transpose()?.flatten();
    named.as_deref().map(key).transpose()?;
    if !fields.contains_key("decision") {
        return Err(ApiError::new(Problem::InvalidBody, "`decision` is missing")
            .hint(r#"for example {"decision":"respond","content":"text"}"#));
    }
    Ok((from_value(Value::Object(fields))?, version))
}
