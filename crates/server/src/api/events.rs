//! The journal of a run as a stream.

use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::{RunId, Seq};

use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Id, Query};
use crate::stream::sse;

static EVENTS: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/runs/{id}/events",
    id: "stream_run",
    summary: "The journal of a run as server-sent events, from any position, as it grows",
    query: Some(of::<EventsQuery>),
    body: None,
    answers: &[
        Answer::other(200, "Events until the run is over.", "text/event-stream"),
        Answer::other(204, "The run is over and its last entry was seen.", ""),
    ],
    problems: &[Problem::UnknownRun, Problem::InvalidCursor, Problem::TooManyStreams],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&EVENTS, events)
}

/// Where a stream begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsQuery {
    /// The last entry that was seen; 0 for none. The header `Last-Event-ID` comes before it.
    after: Option<Seq>,
}

async fn events(
    app: App,
    Id(id): Id,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let after = last_event_id(&headers)?.or(query.after).unwrap_or(0);
    app.takes_work()?;
    app.room("close some, or read /v1/runs/ID/journal")?;
    let run = RunId::new(id);
    let known = run.clone();
    let record = app.read(move |engine| Ok(engine.store().run(&known)?)).await?;
    let record = record.ok_or_else(|| ApiError::unknown_run(run.as_str()))?;
    if after > record.head {
        let message = format!("the journal ends at {}, before {after}", record.head);
        return Err(ApiError::new(Problem::InvalidCursor, message)
            .hint("begin again without `after` and `Last-Event-ID`"));
    }
    if record.status.is_over() && after == record.head {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(sse::response(&app, run, after))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<Seq>, ApiError> {
    match headers.get(HeaderName::from_static("last-event-id")) {
        None => Ok(None),
        Some(id) if id.is_empty() => Ok(None),
        Some(id) => id.to_str().ok().and_then(|id| id.parse().ok()).map(Some).ok_or_else(|| {
            ApiError::new(Problem::InvalidCursor, "`Last-Event-ID` is not the id of an event here")
        }),
    }
}
