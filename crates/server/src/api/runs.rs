//! Runs and their journals.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use signoff_core::{RunId, RunStatus, Seq};
use signoff_runtime::Engine;
use signoff_store::{RunFilter, StoreError};

use super::operation::of;
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Id, Query, json};
use crate::shape::{self, Entry, List, Run, Workflow};

/// How many items a page has, if nothing is said.
const PAGE: usize = 50;
/// The most items a page has.
pub(crate) const MAX_PAGE: usize = 500;
/// How many entries are looked at for one page of a filtered journal.
const MAX_SCAN: usize = 10_000;

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs",
    id: "list_runs",
    summary: "Runs, newest first",
    query: Some(of::<ListQuery>),
    body: None,
    answers: &[Answer::json(200, "A page of runs, without output and usage.", of::<List<Run>>)],
    problems: &[Problem::InvalidQuery, Problem::InvalidCursor],
};

static ONE: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs/{id}",
    id: "get_run",
    summary: "A run as it stands",
    query: None,
    body: None,
    answers: &[Answer::json(200, "The run.", of::<Run>)],
    problems: &[Problem::InvalidQuery, Problem::UnknownRun],
};

static JOURNAL: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs/{id}/journal",
    id: "get_journal",
    summary: "Everything that happened in a run, in order",
    query: Some(of::<JournalQuery>),
    body: None,
    answers: &[Answer::json(200, "A page of entries.", of::<List<Entry>>)],
    problems: &[Problem::UnknownRun, Problem::InvalidQuery, Problem::InvalidCursor],
};

static WORKFLOW: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs/{id}/workflow",
    id: "get_run_workflow",
    summary: "The workflow as the run began with it, whatever its file says today",
    query: None,
    body: None,
    answers: &[Answer::json(200, "The workflow.", of::<Workflow>)],
    problems: &[Problem::InvalidQuery, Problem::UnknownRun],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&LIST, list).add(&ONE, one).add(&JOURNAL, journal).add(&WORKFLOW, workflow)
}

/// Which runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Only those that stand there.
    status: Option<RunStatus>,
    /// Only those of this workflow.
    workflow: Option<String>,
    /// Only those of this conversation.
    conversation: Option<String>,
    /// Only this run and those that are part of it.
    root: Option<String>,
    /// How many: 1 to 500; 50, if not given.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(with = "Option<u16>", range(min = 1, max = 500))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

async fn list(app: App, Query(query): Query<ListQuery>) -> Result<Response, ApiError> {
    let filter = RunFilter {
        status: query.status,
        workflow: query.workflow.map(Into::into),
        conversation: query.conversation.as_deref().map(Into::into),
        root: query.root.as_deref().map(Into::into),
        ..RunFilter::default()
    };
    Ok(json(StatusCode::OK, &runs(&app, filter, query.limit, query.cursor).await?))
}

/// A page of runs.
pub(crate) async fn runs(
    app: &App,
    filter: RunFilter,
    limit: Option<usize>,
    cursor: Option<String>,
) -> Result<List<Run>, ApiError> {
    app.search(move |engine| {
        let store = engine.store();
        let page = store.runs(&filter, cursor.as_deref(), limit.unwrap_or(PAGE))?;
        let data = page.items.into_iter().map(|record| shape::run_in_list(&**store, record));
        Ok(List { data: data.collect::<Result<Vec<_>, _>>()?, next_cursor: page.next })
    })
    .await
}

async fn one(app: App, Id(id): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let run = app.read(move |engine| shape::run(engine, &RunId::new(id))).await?;
    Ok(json(StatusCode::OK, &run))
}

async fn workflow(app: App, Id(id): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let workflow = app.read(move |engine| {
        let run = RunId::new(id);
        let record =
            engine.store().run(&run)?.ok_or_else(|| ApiError::unknown_run(run.as_str()))?;
        Ok(Workflow::from(&*engine.definition(&record.version)?))
    });
    Ok(json(StatusCode::OK, &workflow.await?))
}

/// Which entries.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JournalQuery {
    /// Only entries after this position.
    after: Option<Seq>,
    /// Only entries of these types, separated by commas: `asked,decided`.
    #[serde(rename = "type")]
    types: Option<String>,
    /// How many: 1 to 500; 50, if not given.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(with = "Option<u16>", range(min = 1, max = 500))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

async fn journal(
    app: App,
    Id(id): Id,
    Query(query): Query<JournalQuery>,
) -> Result<Response, ApiError> {
    let page = app.search(move |engine| entries(engine, &RunId::new(id), &query)).await?;
    Ok(json(StatusCode::OK, &page))
}

fn entries(engine: &Engine, run: &RunId, query: &JournalQuery) -> Result<List<Value>, ApiError> {
    let store = engine.store();
    let head = store.run(run)?.ok_or_else(|| ApiError::unknown_run(run.as_str()))?.head;
    let from = numbered(query.cursor.as_deref(), 'j')?;
    let mut after = from.unwrap_or(0).max(query.after.unwrap_or(0)).min(head);
    let limit = query.limit.unwrap_or(PAGE);
    let types: Option<Vec<&str>> = query.types.as_deref().map(|types| types.split(',').collect());
    let mut data = Vec::new();
    let mut looked = 0;
    while data.len() < limit && looked < MAX_SCAN && after < head {
        let found = store.entries(run, after, if types.is_some() { MAX_PAGE } else { limit })?;
        looked += found.len().max(1);
        for entry in found {
            if data.len() == limit {
                break;
            }
            after = entry.seq;
            let json = shape::entry(run, &entry);
            let kind = json["type"].as_str().unwrap_or_default();
            if types.as_ref().is_none_or(|types| types.contains(&kind)) {
                data.push(json);
            }
        }
    }
    Ok(List { data, next_cursor: (after < head).then(|| format!("j{after}")) })
}

/// The number in a cursor of ours.
pub(super) fn numbered(cursor: Option<&str>, kind: char) -> Result<Option<u64>, ApiError> {
    let Some(text) = cursor else { return Ok(None) };
    let digits = text.strip_prefix(kind).filter(|it| it.bytes().all(|c| c.is_ascii_digit()));
    digits
        .and_then(|digits| digits.parse().ok())
        .map(Some)
        .ok_or_else(|| StoreError::BadCursor.into())
}

/// Reads how many items are wanted.
pub(super) fn limit<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    let text = String::deserialize(from)?;
    match text.parse() {
        Ok(limit) if (1..=MAX_PAGE).contains(&limit) => Ok(Some(limit)),
        _ => Err(serde::de::Error::custom(format!("`limit` is a number from 1 to {MAX_PAGE}"))),
    }
}

/// How many items a page has.
pub(super) fn page_size(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE)
}
