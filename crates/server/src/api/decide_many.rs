//! Deciding several requests at once: each for itself, or all or none.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Decision, RequestId};
use signoff_runtime::DecideRequest;

use super::decide::{decide_request, read};
use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, json};
use crate::shape;

/// How many at once.
const MAX_ITEMS: usize = 200;

static MANY: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/decisions",
    id: "decide_requests",
    summary: "Decides several requests: each for itself, or all or none",
    query: None,
    body: Some(of::<Many>),
    answers: &[Answer::json(
        200,
        "What came of each, in the order they were given: `request`, or `error`.",
        of::<Value>,
    )],
    problems: &[Problem::InvalidBody, Problem::NoneDecided, Problem::ShuttingDown],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&MANY, decide_many)
}

/// Several decisions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Many {
    /// Each a decision with the id of its request as `request`, at most 200.
    #[schemars(with = "Vec<Item>", length(max = 200))]
    items: Vec<Value>,
    /// Whether one that cannot be taken means that none is.
    #[serde(default)]
    atomic: bool,
}

/// One decision. For the document.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct Item {
    /// The request.
    request: String,
    /// The decision on it.
    #[serde(flatten)]
    decide: shape::Decide,
}

async fn decide_many(
    app: App,
    caller: Caller,
    Body(many): Body<Many>,
) -> Result<Response, ApiError> {
    if many.items.len() > MAX_ITEMS {
        let message = format!("{} at once are too many; at most {MAX_ITEMS}", many.items.len());
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    app.takes_work()?;
    let mut items = Vec::new();
    for (n, mut item) in many.items.into_iter().enumerate() {
        let fields = item.as_object_mut();
        let Some(Value::String(id)) = fields.and_then(|fields| fields.remove("request")) else {
            let message = format!("/items/{n}: `request` is missing");
            return Err(ApiError::new(Problem::InvalidBody, message));
        };
        let (decision, version) = read(item)?;
        items.push((RequestId::new(id), decision, version));
    }
    if many.atomic {
        return all_or_none(&app, &caller, items).await;
    }
    let mut results = Vec::with_capacity(items.len());
    for (id, decision, version) in items {
        results.push(match decide_request(&app, caller.clone(), id, decision, version).await {
            Ok(request) => json!({ "request": shape::request(&request) }),
            Err(error) => json!({ "error": error.into_fields().1 }),
        });
    }
    Ok(json(StatusCode::OK, &json!({ "results": results })))
}

async fn all_or_none(
    app: &App,
    caller: &Caller,
    items: Vec<(RequestId, Decision, Option<u32>)>,
) -> Result<Response, ApiError> {
    let ids: Vec<RequestId> = items.iter().map(|(id, ..)| id.clone()).collect();
    let decides = items.into_iter().map(|(id, decision, version)| {
        DecideRequest::new(id, decision)
            .by(caller.actor.clone())
            .with_roles(&caller.roles)
            .seen_at(version)
    });
    let taken = app.engine.decide_all(decides.collect()).await;
    app.inbox.look_soon();
    if let Err(refused) = taken {
        let of_each: Vec<Value> = refused
            .into_iter()
            .map(|(n, error)| json!({ "item": n, "error": ApiError::from(error).into_fields().1 }))
            .collect();
        let message = format!("{} of them cannot be taken, so none was", of_each.len());
        return Err(
            ApiError::new(Problem::NoneDecided, message).details(json!({ "items": of_each }))
        );
    }
    let standing = app.read(move |engine| {
        let found: Result<Vec<_>, _> = ids.iter().map(|id| engine.store().request(id)).collect();
        Ok(found?)
    });
    let results: Vec<Value> = standing
        .await?
        .iter()
        .flatten()
        .map(|request| json!({ "request": shape::request(request) }))
        .collect();
    Ok(json(StatusCode::OK, &json!({ "results": results })))
}
