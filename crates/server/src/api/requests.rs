//! The inbox.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::RequestId;
use signoff_core::request::{RequestKind, RequestStatus};
use signoff_store::RequestFilter;

use super::operation::of;
use super::runs::{limit, page_size};
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
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
    problems: &[Problem::UnknownRequest],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&LIST, list).add(&COUNT, count).add(&ONE, one)
}

/// Which requests to count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountQuery {
    /// Only those that stand there.
    status: Option<RequestStatus>,
    /// Only of this kind.
    kind: Option<RequestKind>,
    /// Only of this workflow.
    workflow: Option<String>,
    /// Only asked by this agent.
    agent: Option<String>,
    /// Only of this run and those that are part of it.
    run: Option<String>,
    /// Only of this conversation.
    conversation: Option<String>,
    /// Only those whose prompt contains each of these words.
    text: Option<String>,
}

impl From<CountQuery> for RequestFilter {
    fn from(query: CountQuery) -> Self {
        Self {
            status: query.status,
            kind: query.kind,
            workflow: query.workflow.map(Into::into),
            agent: query.agent.map(Into::into),
            root: query.run.as_deref().map(Into::into),
            conversation: query.conversation.as_deref().map(Into::into),
            text: query.text,
        }
    }
}

/// Which requests to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Only those that stand there.
    status: Option<RequestStatus>,
    /// Only of this kind.
    kind: Option<RequestKind>,
    /// Only of this workflow.
    workflow: Option<String>,
    /// Only asked by this agent.
    agent: Option<String>,
    /// Only of this run and those that are part of it.
    run: Option<String>,
    /// Only of this conversation.
    conversation: Option<String>,
    /// Only those whose prompt contains each of these words.
    text: Option<String>,
    /// How many: 1 to 500; 50, if not given.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(with = "Option<u16>", range(min = 1, max = 500))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

async fn list(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
) -> Result<Response, ApiError> {
    let ListQuery { status, kind, workflow, agent, run, conversation, text, limit, cursor } = query;
    let filter = CountQuery { status, kind, workflow, agent, run, conversation, text }.into();
    let page = app.search(move |engine| {
        let limit = page_size(limit);
        let page = engine.store().requests(&filter, cursor.as_deref(), limit)?;
        let data: Vec<_> = page.items.iter().map(shape::request).collect();
        Ok(List { data, next_cursor: page.next })
    });
    Ok(json(StatusCode::OK, &page.await?))
}

async fn count(
    State(app): State<App>,
    Query(query): Query<CountQuery>,
) -> Result<Response, ApiError> {
    let filter = query.into();
    let count = app.search(move |engine| Ok(engine.store().count_requests(&filter)?)).await?;
    Ok(json(StatusCode::OK, &Count { count }))
}

async fn one(State(app): State<App>, Id(id): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let request = app.read(move |engine| {
        let found = engine.store().request(&RequestId::new(id.as_str()))?;
        found.ok_or_else(|| ApiError::unknown_request(&id))
    });
    Ok(json(StatusCode::OK, &shape::request(&request.await?)))
}
