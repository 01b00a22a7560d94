//! Deciding several requests at once: each for itself, or all or none; named one by one, or as a group.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Decision, Request, RequestId};
use signoff_runtime::DecideRequest;

use super::decide::{decide_request, read};
use super::group::Group;
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
        "What came of each, in the order they were given: `request`, or `error`. Of a group also `left_out`, the ids of \
         those of high risk, and `more`.",
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
    #[schemars(with = "Option<Vec<Item>>", length(max = 200))]
    items: Option<Vec<Value>>,
    /// Instead of `items`: all that wait and have something in common, at most 200 at once. Those of high or critical
    /// risk are left out.
    group: Option<Group>,
    /// The decision on each of the group.
    #[schemars(with = "Option<shape::Decide>")]
    decide: Option<Value>,
    /// Whether those of the group that are of high or critical risk are decided too.
    #[serde(default)]
    include_high_risk: bool,
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
    app.takes_work()?;
    if many.group.is_some() || many.decide.is_some() {
        return decide_group(&app, &caller, many).await;
    }
    if many.include_high_risk {
        let message = "`include_high_risk` goes with `group`: what is named is decided in any case";
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    let Some(given) = many.items else {
        return Err(ApiError::new(Problem::InvalidBody, "`items` or `group` is missing"));
    };
    if given.len() > MAX_ITEMS {
        let message = format!("{} at once are too many; at most {MAX_ITEMS}", given.len());
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    let mut items = Vec::new();
    for (n, mut item) in given.into_iter().enumerate() {
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
    let results = one_by_one(&app, &caller, items).await;
    Ok(json(StatusCode::OK, &json!({ "results": results })))
}

/// What is to be decided, and the version that was seen.
type Items = Vec<(RequestId, Decision, Option<u32>)>;

async fn decide_group(app: &App, caller: &Caller, many: Many) -> Result<Response, ApiError> {
    let (Some(group), Some(decide)) = (many.group, many.decide) else {
        let message = "`group` and `decide` go together";
        return Err(ApiError::new(Problem::InvalidBody, message));
    };
    if many.atomic || many.items.is_some() {
        let message = "`group` goes with neither `items` nor `atomic`: each counts for itself";
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    let (decision, _) = read(decide)?;
    let found = group.gather(app, many.include_high_risk, MAX_ITEMS).await?;
    let item = |request: &Request| (request.id.clone(), decision.clone(), Some(request.version));
    let results = one_by_one(app, caller, found.requests.iter().map(item).collect()).await;
    let left_out: Vec<&RequestId> = found.left_out.iter().map(|request| &request.id).collect();
    let said = json!({ "results": results, "left_out": left_out, "more": found.more });
    Ok(json(StatusCode::OK, &said))
}

async fn one_by_one(app: &App, caller: &Caller, items: Items) -> Vec<Value> {
    let mut results = Vec::with_capacity(items.len());
    for (id, decision, version) in items {
        results.push(match decide_request(app, caller.clone(), id, decision, version).await {
            Ok(request) => json!({ "request": shape::request(&request) }),
            Err(error) => json!({ "error": error.into_fields().1 }),
        });
    }
    results
}

async fn all_or_none(app: &App, caller: &Caller, items: Items) -> Result<Response, ApiError> {
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
