//! The record of decisions.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use super::operation::of;
use super::runs::{limit, numbered, page_size};
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Query, json};
use crate::shape::{Audit, List};

static AUDIT: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/audit",
    id: "list_audit",
    summary: "The record of decisions, each line bound to all before it",
    query: Some(of::<AuditQuery>),
    body: None,
    answers: &[Answer::json(200, "A page of lines.", of::<List<Audit>>)],
    problems: &[Problem::InvalidQuery, Problem::InvalidCursor],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&AUDIT, audit)
}

/// Which lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditQuery {
    /// Only lines after this number.
    after: Option<u64>,
    /// How many: 1 to 500; 50, if not given.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(with = "Option<u16>", range(min = 1, max = 500))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

async fn audit(app: App, Query(query): Query<AuditQuery>) -> Result<Response, ApiError> {
    let from = numbered(query.cursor.as_deref(), 'a')?;
    let after = from.unwrap_or(0).max(query.after.unwrap_or(0));
    let limit = page_size(query.limit);
    let mut lines =
        app.search(move |engine| Ok(engine.store().audit(None, after, limit + 1)?)).await?;
    let more = lines.len() > limit;
    lines.truncate(limit);
    let last = lines.last().map(|line| format!("a{}", line.no));
    let data: Vec<Audit> = lines.into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &List { data, next_cursor: last.filter(|_| more) }))
}
