//! The inbox.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;
use signoff_core::RequestId;
use signoff_store::RequestFilter;

use super::filter::{CountQuery, ListQuery};
use super::marks::with_notes;
use super::operation::of;
use super::runs::page_size;
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Id, Query, json};
use crate::shape::{self, Count, List, Request};

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/requests",
    id: "list_requests",
    summary: "Questions to people, oldest first",
    query: Some(of::<ListQuery>),
    body: None,
    answers: &[Answer::json(200, "A page of requests.", of::<List<Request>>)],
    problems: &[Problem::InvalidQuery, Problem::InvalidCursor],
};

static COUNT: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/requests/count",
    id: "count_requests",
    summary: "How many questions to people there are",
    query: Some(of::<CountQuery>),
    body: None,
    answers: &[Answer::json(200, "The number.", of::<Count>)],
    problems: &[Problem::InvalidQuery],
};

static ONE: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/requests/{id}",
    id: "get_request",
    summary: "A question to people as it stands",
    query: None,
    body: None,
    answers: &[Answer::json(200, "The request.", of::<Request>)],
    problems: &[Problem::InvalidQuery, Problem::UnknownRequest],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&LIST, list).add(&COUNT, count).add(&ONE, one)
}

async fn list(
    app: App,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Response, ApiError> {
    let filter = query.filter(&caller, app.engine.clock().now());
    Ok(json(StatusCode::OK, &requests(&app, filter, query.limit, query.cursor).await?))
}

/// A page of the inbox.
pub(crate) async fn requests(
    app: &App,
    filter: RequestFilter,
    limit: Option<usize>,
    cursor: Option<String>,
) -> Result<List<Value>, ApiError> {
    app.search(move |engine| {
        let limit = page_size(limit);
        let page = engine.store().requests(&filter, cursor.as_deref(), limit)?;
        let data: Vec<_> = page.items.iter().map(shape::request).collect();
        Ok(List { data, next_cursor: page.next })
    })
    .await
}

async fn count(
    app: App,
    caller: Caller,
    Query(query): Query<CountQuery>,
) -> Result<Response, ApiError> {
    let filter = query.filter(&caller, app.engine.clock().now());
    let count = app.search(move |engine| Ok(engine.store().count_requests(&filter)?)).await?;
    Ok(json(StatusCode::OK, &Count { count }))
}

async fn one(
    app: App,
    Id(id): Id,
    caller: Caller,
    _: Query<Nothing>,
) -> Result<Response, ApiError> {
    let id = RequestId::new(id);
    let (version, shown) = with_notes(&app, id.clone()).await?;
    app.viewed(id, version, caller.actor, None).await;
    Ok(json(StatusCode::OK, &shown))
}
