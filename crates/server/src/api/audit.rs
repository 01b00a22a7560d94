//! The record of decisions.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signoff_runtime::Engine;

use super::operation::of;
use super::runs::{limit, numbered, page_size};
use super::workflows::Nothing;
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

static VERIFY: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/audit/verify",
    id: "verify_audit",
    summary: "Whether the record is as it was written",
    query: None,
    body: None,
    answers: &[Answer::json(200, "What was found.", of::<Verified>)],
    problems: &[Problem::InvalidQuery],
};

/// How many lines are read at once when all are looked at.
const LOOK: usize = 1000;

pub(super) fn routes(api: Api) -> Api {
    api.add(&AUDIT, audit).add(&VERIFY, verify)
}

/// Which lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditQuery {
    /// Only lines after this number.
    after: Option<u64>,
    /// Which come first: `oldest`, if not given, or `newest`.
    #[serde(default)]
    order: Order,
    /// How many: 1 to 500; 50, if not given.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(with = "Option<u16>", range(min = 1, max = 500))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// From which end the record is read.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// From the first line on.
    #[default]
    Oldest,
    /// From the last line back.
    Newest,
}

async fn audit(app: App, Query(query): Query<AuditQuery>) -> Result<Response, ApiError> {
    let AuditQuery { after, order, limit, cursor } = query;
    // A cursor holds for the order it came from.
    let mark = match order {
        Order::Oldest => 'a',
        Order::Newest => 'b',
    };
    let from = numbered(cursor.as_deref(), mark)?;
    let limit = page_size(limit);
    let found = app.search(move |engine| {
        Ok(match order {
            Order::Oldest => {
                let after = from.unwrap_or(0).max(after.unwrap_or(0));
                engine.store().audit(None, after, limit + 1)?
            }
            Order::Newest => engine.store().audit_back(None, from, limit + 1)?,
        })
    });
    let mut lines = found.await?;
    if matches!(order, Order::Newest) {
        lines.retain(|line| after.is_none_or(|after| line.no > after));
    }
    let more = lines.len() > limit;
    lines.truncate(limit);
    let last = lines.last().map(|line| format!("{mark}{}", line.no));
    let data: Vec<Audit> = lines.into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &List { data, next_cursor: last.filter(|_| more) }))
}

/// What became of the record.
#[derive(Debug, Serialize, JsonSchema)]
struct Verified {
    /// Whether no line was changed, added or taken out.
    intact: bool,
    /// The first line that does not follow from those before it; it, or one before it, was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_at: Option<u64>,
}

/// The lines of all tenants are one chain, so the whole of it is looked at. Nothing of others is told.
async fn verify(State(whole): State<App>, _: Query<Nothing>) -> Result<Response, ApiError> {
    let broken_at = whole.search(broken).await?;
    Ok(json(StatusCode::OK, &Verified { intact: broken_at.is_none(), broken_at }))
}

fn broken(engine: &Engine) -> Result<Option<u64>, ApiError> {
    let (mut no, mut hash) = (0, String::new());
    loop {
        let lines = engine.store().audit(None, no, LOOK)?;
        if lines.is_empty() {
            return Ok(None);
        }
        for line in lines {
            if line.no != no + 1 || !line.follows(&hash) {
                return Ok(Some(line.no));
            }
            (no, hash) = (line.no, line.hash);
        }
    }
}
