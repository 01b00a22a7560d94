//! What a run has put in a calendar, as a file that calendar programs open.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use signoff_core::RunId;
use signoff_core::journal::{EffectKind, Event, Outcome};
use signoff_runtime::Engine;
use signoff_store::RunFilter;
use signoff_tools::calendar_file;

use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Id, Query};

/// How many runs, the one and its parts, are looked through.
const MAX_RUNS: usize = 100;
/// How many entries are read at once.
const PAGE: usize = 500;
/// The most events in one file.
const MAX_EVENTS: usize = 1000;

static CALENDAR: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs/{id}/calendar",
    id: "get_calendar",
    summary: "What a run has put in a calendar, as an iCalendar file",
    query: None,
    body: None,
    answers: &[Answer::other(200, "The file.", "text/calendar")],
    problems: &[Problem::InvalidQuery, Problem::UnknownRun, Problem::NoCalendar],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&CALENDAR, calendar)
}

async fn calendar(app: App, Id(id): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let run = RunId::new(id);
    let file = app.search(move |engine| file(engine, &run)).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/calendar; charset=utf-8")),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"events.ics\""),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, file).into_response())
}

fn file(engine: &Engine, run: &RunId) -> Result<String, ApiError> {
    let store = engine.store();
    let record = store.run(run)?.ok_or_else(|| ApiError::unknown_run(run.as_str()))?;
    let parts = RunFilter { root: Some(record.root), ..RunFilter::default() };
    let mut events: Vec<Value> = Vec::new();
    // Newest first; an event that one run made may be taken back by a later one.
    for part in store.runs(&parts, None, MAX_RUNS)?.items.iter().rev() {
        let mut after = 0;
        loop {
            let entries = store.entries(&part.id, after, PAGE)?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            for entry in &entries {
                note(&mut events, &entry.event);
            }
        }
    }
    calendar_file(&record.workflow, &events, engine.clock().now())
        .ok_or_else(|| ApiError::new(Problem::NoCalendar, "the run has put nothing in a calendar"))
}

/// Adds or takes out what a tool of the calendar has told.
fn note(events: &mut Vec<Value>, event: &Event) {
    let Event::Effect { kind: EffectKind::Tool, outcome: Outcome::Ok(told), .. } = event else {
        return;
    };
    if told.get("calendar").is_none() {
        return;
    }
    let uid = |event: &Value| event.get("uid").cloned();
    let gone = told.get("deleted").and_then(Value::as_array).into_iter().flatten();
    let gone: Vec<Option<Value>> = gone.map(uid).collect();
    events.retain(|event| !gone.contains(&uid(event)));
    if told.get("uid").is_some() && events.len() < MAX_EVENTS {
        events.push(Value::clone(told));
    }
}
