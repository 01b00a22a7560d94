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
use crate::error::{ApiError, Problem, standing};
use crate::extract::{AnyBody, Id, from_value, json};
use crate::shape;

static DECIDE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/decision",
    id: "decide_request",
    summary: "Decides a request; its run goes on",
    query: None,
    body: Some(of::<shape::Decide>),
    answers: &[Answer::json(
        200,
        "The decision stands. The same decision again changes nothing.",
        of::<shape::Request>,
    )],
    problems: &[
        Problem::UnknownRequest,
        Problem::AlreadyDecided,
        Problem::VersionConflict,
        Problem::Expired,
        Problem::Cancelled,
        Problem::DecisionNotAllowed,
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
    Ok(json(StatusCode::OK, &shape::request(&decided)))
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
    let taken = take(app, id, caller, decision, version).await;
    app.metrics.decision(match &taken {
        Ok((_, true)) => "taken",
        Ok((_, false)) => "repeated",
        Err(error) => error.code(),
    });
    app.inbox.look_soon();
    taken.map(|(request, _)| request)
}

/// The request as decided, and whether that changed anything.
async fn take(
    app: &App,
    id: RequestId,
    caller: Caller,
    decision: Decision,
    version: Option<u32>,
) -> Result<(Request, bool), ApiError> {
    app.takes_work()?;
    if let Some(version) = version {
        check_version(app, &id, version).await?;
    }
    let decide = DecideRequest::new(id.clone(), decision).by(caller.actor);
    let changed = app.engine.decide(decide).await?.changed;
    let decided = app.read(move |engine| {
        let found = engine.store().request(&id)?;
        found.ok_or_else(|| DecideError::Unknown(id).into())
    });
    Ok((decided.await?, changed))
}

/// The decision in a body, and the version of the request that was seen.
fn read(body: Value) -> Result<(Decision, Option<u32>), ApiError> {
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

/// Whether the request is still as it was seen. One that is decided is left to the decision itself,
/// which says who was faster.
async fn check_version(app: &App, id: &RequestId, seen: u32) -> Result<(), ApiError> {
    let wanted = id.clone();
    let found = app.read(move |engine| Ok(engine.store().request(&wanted)?)).await?;
    let request = found.ok_or_else(|| ApiError::unknown_request(id.as_str()))?;
    if request.status == RequestStatus::Pending && request.version != seen {
        let message = format!("the request is at version {}, not {seen}", request.version);
        return Err(ApiError::new(Problem::VersionConflict, message)
            .hint("read it again and decide on what it says now")
            .details(standing(&request)));
    }
    Ok(())
}
