//! Decisions that are remembered.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::Span;

use super::operation::of;
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Id, Query, json};
use crate::shape::List;

/// The role that may let nobody be asked.
const ADMIN: &str = "admin";

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/grants",
    id: "list_grants",
    summary: "Decisions that are remembered and still hold",
    query: None,
    body: None,
    answers: &[Answer::json(
        200,
        "All of them, in the order they were granted.",
        of::<List<Value>>,
    )],
    problems: &[Problem::InvalidQuery],
};

static BYPASS: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/grants",
    id: "bypass_gates",
    summary: "Lets nobody be asked for a while; everything is still recorded",
    query: None,
    body: Some(of::<Bypass>),
    answers: &[Answer::json(201, "It holds from now on.", of::<Value>)],
    problems: &[Problem::InvalidBody],
};

static FORGET: Operation = Operation {
    verb: Verb::Delete,
    path: "/v1/grants/{id}",
    id: "forget_grant",
    summary: "Takes back something that is remembered",
    query: None,
    body: None,
    answers: &[Answer::other(204, "It does not hold any more.", "")],
    problems: &[Problem::UnknownGrant],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&LIST, list).add(&BYPASS, bypass).add(&FORGET, forget)
}

/// For how long nobody is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bypass {
    /// For how long: `1h`, if not given, and `8h` at most.
    within: Option<Span>,
}

async fn list(app: App, _: Query<Nothing>) -> Result<Response, ApiError> {
    let grants = app.read(|engine| Ok(engine.grants()?)).await?;
    let data: Vec<Value> = grants.iter().map(signoff_core::policy::Grant::to_json).collect();
    Ok(json(StatusCode::OK, &json!({ "data": data })))
}

async fn bypass(app: App, caller: Caller, Body(body): Body<Bypass>) -> Result<Response, ApiError> {
    caller.must_be(ADMIN)?;
    let grant = app.engine.bypass(body.within, caller.actor).await?;
    Ok(json(StatusCode::CREATED, &grant.to_json()))
}

async fn forget(app: App, Id(id): Id, caller: Caller) -> Result<Response, ApiError> {
    if !app.engine.end_grant(&id, caller.actor).await? {
        let message = format!("nothing is remembered as `{id}`");
        return Err(ApiError::new(Problem::UnknownGrant, message)
            .hint("it may be used up; GET /v1/grants lists what holds"));
    }
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
