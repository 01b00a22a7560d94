//! Responses.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::RunId;
use signoff_runtime::{Engine, EngineError};

use super::again::Again;
use super::begin::{Begun, begin};
use super::fault::Fault;
use super::follow::{Follow, as_it_stands, known};
use super::id::ResponseId;
use super::input::Create;
use super::object::Ending;
use super::{item, restore, sse};
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{self, AnyBody, Id, Query};
use crate::stream::{Tail, Told};

/// How long an answer waits for a run to stop.
const PATIENCE: Duration = Duration::from_secs(2);

const RESPONSE: Answer =
    Answer::other(200, "The response, as OpenAI's clients know it.", "application/json");

/// The same where a stream was asked for.
const EVENTS: Answer = Answer::other(200, "Its events.", "text/event-stream");

static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/responses",
    id: "create_response",
    summary: "Starts a run, or answers what the conversation's run asks (OpenAI)",
    query: None,
    body: Some(of::<CreateBody>),
    answers: &[RESPONSE, EVENTS],
    problems: &[
        Problem::UnknownWorkflow,
        Problem::UnknownResponse,
        Problem::UnknownRequest,
        Problem::InvalidInput,
        Problem::InvalidAnswer,
        Problem::AmbiguousAnswer,
        Problem::ConversationBusy,
        Problem::IdempotencyConflict,
        Problem::AlreadyDecided,
        Problem::RunOver,
        Problem::Expired,
        Problem::Cancelled,
        Problem::ShuttingDown,
        Problem::TooManyStreams,
    ],
};

static ONE: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/responses/{id}",
    id: "get_response",
    summary: "A response as it stands, or its events from any position (OpenAI)",
    query: Some(of::<OneQuery>),
    body: None,
    answers: &[RESPONSE, EVENTS],
    problems: &[Problem::UnknownResponse, Problem::ShuttingDown, Problem::TooManyStreams],
};

static CANCEL: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/responses/{id}/cancel",
    id: "cancel_response",
    summary: "Stops the run of a response that is its latest (OpenAI)",
    query: None,
    body: None,
    answers: &[RESPONSE],
    problems: &[Problem::UnknownResponse, Problem::ShuttingDown],
};

static INPUT: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/responses/{id}/input_items",
    id: "list_response_input",
    summary: "What a response was given (OpenAI)",
    query: None,
    body: None,
    answers: &[Answer::other(200, "A list of items.", "application/json")],
    problems: &[Problem::UnknownResponse],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&CREATE, create).add(&ONE, one).add(&CANCEL, cancel).add(&INPUT, input_items)
}

/// A response to make. Any other field is left alone. Read field by field; this is for the document.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct CreateBody {
    /// The id of a workflow. `metadata.entity_id` comes before it. Not needed for an answer.
    model: Option<String>,
    /// Text, a list of items, or a value that the workflow takes.
    input: Value,
    /// The id of a conversation, or an object with `id`.
    conversation: Option<Value>,
    /// The response to go on from.
    previous_response_id: Option<String>,
    /// Whether to tell events as they happen.
    stream: Option<bool>,
    /// Whether to answer at once.
    background: Option<bool>,
    /// `entity_id`: a workflow; `request_id`: the request that the text answers.
    metadata: Option<Value>,
}

async fn create(
    app: App,
    caller: Caller,
    headers: HeaderMap,
    body: Result<AnyBody, ApiError>,
) -> Result<Response, Fault> {
    let create = Create::read(&body?.0)?;
    let again = Again::read(&headers, caller.tenant.as_str())?;
    let (stream, background) = (create.stream, create.background);
    if stream {
        sse::room(&app)?;
    }
    let begun = if create.checkpoint.is_some() {
        restore::restore(&app, caller, create, again).await?
    } else if create.devui {
        restore::page(&app, caller, create, again).await?
    } else {
        let manner = again.manner();
        begin(&app, caller, create, again).await?.told(manner)
    };
    if background && !stream {
        return stands(&app, begun.id).await;
    }
    told(&app, begun, stream).await
}

/// A response to its end, or as a stream.
pub(super) async fn told(app: &App, begun: Begun, stream: bool) -> Result<Response, Fault> {
    let mut follow = match begun.heard {
        Some(heard) => Follow::begun(app, begun.id, heard)?,
        None => follow(app, begun.id).await?,
    };
    if stream {
        return Ok(sse::response(app, follow, None));
    }
    follow.run_out().await?;
    Ok(extract::json(StatusCode::OK, &follow.stretch.object()))
}

async fn follow(app: &App, id: ResponseId) -> Result<Follow, Fault> {
    let wanted = id.clone();
    let record = app.read(move |engine| Ok(known(engine, &wanted))).await??;
    Ok(Follow::new(app, id, record))
}

/// A response as it stands.
async fn stands(app: &App, id: ResponseId) -> Result<Response, Fault> {
    let stretch = app.read(move |engine| Ok(as_it_stands(engine, &id))).await??;
    Ok(extract::json(StatusCode::OK, &stretch.object()))
}

fn read(id: &str) -> Result<ResponseId, Fault> {
    ResponseId::read(id).ok_or_else(|| Fault::unknown_response(id))
}

/// How to tell a response.
#[derive(Debug, Deserialize, JsonSchema)]
struct OneQuery {
    /// Whether to tell its events.
    stream: Option<bool>,
    /// The number of the last event that was seen.
    starting_after: Option<u64>,
}

async fn one(
    app: App,
    id: Result<Id, ApiError>,
    query: Result<Query<OneQuery>, ApiError>,
) -> Result<Response, Fault> {
    let (Id(id), Query(query)) = (id?, query?);
    let id = read(&id)?;
    if query.stream != Some(true) {
        return stands(&app, id).await;
    }
    app.takes_work()?;
    sse::room(&app)?;
    let follow = follow(&app, id).await?;
    Ok(sse::response(&app, follow, query.starting_after))
}

async fn cancel(app: App, caller: Caller, id: Result<Id, ApiError>) -> Result<Response, Fault> {
    let id = read(&id?.0)?;
    app.takes_work()?;
    let wanted = id.clone();
    let stretch = app.read(move |engine| Ok(as_it_stands(engine, &wanted))).await??;
    let open =
        matches!(stretch.ending(), None | Some(Ending::Waiting | Ending::Refused | Ending::Paused));
    if open && !stretch.passed {
        match app.engine.cancel(&id.run, caller.actor, None).await {
            // It was faster.
            Ok(()) | Err(EngineError::Over(_)) => {}
            Err(error) => return Err(error.into()),
        }
        // If it takes longer, the response says so.
        let _ = tokio::time::timeout(PATIENCE, ended(&app, &id.run)).await;
    }
    stands(&app, id).await
}

/// Waits for the end of a run.
async fn ended(app: &App, run: &RunId) {
    let mut tail = Tail::new(app, run.clone(), 0);
    while !matches!(tail.next().await, Ok(Told::End | Told::Bye) | Err(_)) {}
}

async fn input_items(app: App, id: Result<Id, ApiError>) -> Result<Response, Fault> {
    let id = read(&id?.0)?;
    let items = app.read(move |engine| Ok(given(engine, &id))).await??;
    Ok(extract::json(StatusCode::OK, &list(&items, false)))
}

fn given(engine: &Engine, id: &ResponseId) -> Result<Vec<Value>, Fault> {
    known(engine, id)?;
    if id.manner.notice().is_some() {
        return Ok(Vec::new());
    }
    let span = usize::try_from(id.last - id.first + 1).unwrap_or(usize::MAX);
    let entries = engine.store().entries(&id.run, id.first - 1, span)?;
    Ok(entries.iter().filter_map(|entry| item::given(&id.run, entry)).collect())
}

/// A page of items.
pub(super) fn list(data: &[Value], has_more: bool) -> Value {
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    json!({
        "object": "list",
        "first_id": id(data.first()),
        "last_id": id(data.last()),
        "has_more": has_more,
        "data": data,
    })
}
