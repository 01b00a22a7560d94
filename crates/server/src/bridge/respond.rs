//! Texts and the answers to them.

use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::begin::begin;
use super::follow::Answer;
use super::talk::Talk;
use crate::access::Caller;
use crate::api::{self, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{AnyBody, Id, from_value, json};
use crate::stream::sse;

const ANSWERS: &[api::Answer] = &[
    api::Answer::other(200, "Events until the run rests.", "text/event-stream"),
    api::Answer::other(200, "The whole answer, where no stream is wanted.", "application/json"),
];
const PROBLEMS: &[Problem] = &[
    Problem::UnknownWorkflow,
    Problem::InvalidInput,
    Problem::ConversationBusy,
    Problem::UnknownRequest,
    Problem::DecisionNotAllowed,
    Problem::InvalidAnswer,
    Problem::TooManyStreams,
    Problem::ShuttingDown,
];

static PLAIN: Operation = Operation {
    verb: Verb::Post,
    path: "/bridge/v1/responses",
    id: "bridge_response",
    summary: "A text of a terminal client: starts a run, or answers it (docs/bridge.md)",
    query: None,
    body: Some(of::<BridgeText>),
    answers: ANSWERS,
    problems: PROBLEMS,
};

static IN_SESSION: Operation = Operation {
    path: "/bridge/{session}/v1/responses",
    id: "bridge_session_response",
    summary: "The same in a conversation of its own (docs/bridge.md)",
    ..PLAIN
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&PLAIN, plain).add(&IN_SESSION, in_session)
}

/// A text. Any other field is left alone.
#[derive(Debug, Deserialize, JsonSchema)]
struct BridgeText {
    /// The id of a workflow, or `workflow:anything` for another conversation with it.
    model: String,
    /// What was typed.
    input: String,
    /// Whether to tell events as they happen; else the answer is one piece of JSON.
    #[serde(default)]
    stream: Option<bool>,
    /// A name that makes it another conversation: text, or an object with `id`.
    #[serde(default)]
    conversation: Option<Value>,
}

async fn plain(app: App, caller: Caller, AnyBody(body): AnyBody) -> Result<Response, ApiError> {
    respond(app, caller, "", body).await
}

async fn in_session(
    app: App,
    Id(session): Id,
    caller: Caller,
    AnyBody(body): AnyBody,
) -> Result<Response, ApiError> {
    respond(app, caller, &session, body).await
}

async fn respond(
    app: App,
    caller: Caller,
    session: &str,
    body: Value,
) -> Result<Response, ApiError> {
    let text: BridgeText = from_value(body)?;
    app.takes_work()?;
    app.room("close some terminals")?;
    let conversation = match &text.conversation {
        Some(Value::String(name)) => name.as_str(),
        Some(named) => named["id"].as_str().unwrap_or_default(),
        None => "",
    };
    let talk = Talk::find(&app.engine, &caller, session, &text.model, conversation)?;
    let begun = begin(&app, &caller, &talk, &text.input).await?;
    let answer = Answer::new(&app, &talk, begun).await?;
    if text.stream == Some(false) {
        return Ok(json(StatusCode::OK, &answer.whole().await));
    }
    Ok(sse::body(stream::unfold(answer, |mut answer| async move {
        let frame = answer.next().await?;
        Some((Ok(frame), answer))
    })))
}
