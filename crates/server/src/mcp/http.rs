//! MCP over HTTP, at `/mcp`. Who may come in, and as whom, was decided before; the rest is the library's.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected, Full};
use rmcp::model::InitializeRequestParams;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;

use super::session::{self, Brought, InRequest};
use super::speaker::Speaker;
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::received;

/// The header that names a session.
static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The most sessions that this process has in memory.
const MAX_SESSIONS: usize = 10_000;
/// How long a session stays in memory that nobody uses. It can come back.
const SESSION_RESTS: Duration = Duration::from_mins(15);
/// How long calls may take to say that they end because the server stops.
const LAST_WORDS: Duration = Duration::from_millis(500);

const SPOKEN: &[Answer] = &[
    Answer::other(200, "What the protocol answers.", "application/json"),
    Answer::other(200, "The same as a stream.", "text/event-stream"),
    Answer::other(202, "It is taken.", "application/json"),
];

static SPEAK: Operation = Operation {
    verb: Verb::Post,
    path: "/mcp",
    id: "mcp_post",
    summary: "A message of an MCP client; see docs/mcp.md",
    query: None,
    body: Some(of::<Value>),
    answers: SPOKEN,
    problems: &[
        Problem::InvalidBody,
        Problem::MethodNotAllowed,
        Problem::NotAcceptable,
        Problem::UnknownSession,
        Problem::TooManyStreams,
    ],
};

static LISTEN: Operation = Operation {
    verb: Verb::Get,
    path: "/mcp",
    id: "mcp_get",
    summary: "What an MCP client missed of an answer",
    body: None,
    ..SPEAK
};

/// Adds the route. There is nothing to delete: what a session consists of stands in its id.
pub(crate) fn routes(api: Api) -> Api {
    api.add(&SPEAK, speak).add(&LISTEN, speak)
}

/// The library's part of it, and the sessions it has in memory.
#[derive(Clone)]
pub(crate) struct Http {
    service: StreamableHttpService<Speaker, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

impl Http {
    pub(crate) fn new(whole: &App) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_RESTS);
        let sessions = Arc::new(sessions);
        // Names and origins were looked at already, as for all routes.
        let mut config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(whole.settings.max_body);
        config.session_store = Some(Arc::new(InRequest(None)));
        let (mut stopping, end) = (whole.stopping.clone(), config.cancellation_token.clone());
        tokio::spawn(async move {
            // If nobody can tell any more, it is over as well.
            let _ = stopping.wait_for(|it| *it).await;
            tokio::time::sleep(LAST_WORDS).await;
            end.cancel();
        });
        let app = whole.clone();
        let speaker = move || Ok(Speaker::new(app.clone(), None));
        Self {
            service: StreamableHttpService::new(speaker, Arc::clone(&sessions), config),
            sessions,
        }
    }
}

/// The message that opens a session.
#[derive(Deserialize)]
struct Opening {
    method: String,
    params: Option<InitializeRequestParams>,
}

async fn speak(
    app: App,
    caller: Caller,
    Extension(http): Extension<Http>,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let brought = parts.headers.get(&SESSION).map(|id| known(&app, &caller, id)).transpose()?;
    let bytes = match parts.method {
        Method::POST => received(Request::from_parts(parts.clone(), body), &app).await?.1,
        _ => Bytes::new(),
    };
    let opening = serde_json::from_slice::<Opening>(&bytes).ok();
    let opening = opening.filter(|it| it.method == "initialize").and_then(|it| it.params);
    if opening.is_some() && http.sessions.sessions.read().await.len() >= MAX_SESSIONS {
        return Err(ApiError::new(Problem::TooManyStreams, "there are too many sessions")
            .hint("try again later, or speak 2026-07-28, which needs none"));
    }
    if let Some(id) = brought.as_ref().and_then(|it| HeaderValue::from_str(&it.id).ok()) {
        parts.headers.insert(&SESSION, id);
    }
    let mut service = http.service;
    service.config.session_store = Some(Arc::new(InRequest(brought)));
    let answer = service.handle(Request::from_parts(parts, Full::new(bytes))).await;
    if answer.status().is_client_error() && !is_json(&answer) {
        return Err(refused(answer).await);
    }
    let (mut head, body) = answer.into_parts();
    let opened = head.headers.get(&SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
    if let (Some(id), Some(client)) = (opened, opening) {
        let id = session::id(&app.mcp, &caller, &id, client);
        let id = id.and_then(|id| HeaderValue::from_str(&id).ok());
        let id = id.ok_or_else(|| ApiError::internal(&"the id of a session is no header"))?;
        head.headers.insert(&SESSION, id);
    }
    Ok(Response::from_parts(head, Body::new(body)))
}

fn is_json<B>(answer: &axum::http::Response<B>) -> bool {
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// What the library refuses in plain words, as all errors here are.
async fn refused<B>(answer: axum::http::Response<B>) -> ApiError
where
    B: axum::body::HttpBody<Data = Bytes, Error = Infallible>,
{
    let problem = match answer.status() {
        StatusCode::NOT_FOUND => Problem::UnknownSession,
        StatusCode::METHOD_NOT_ALLOWED => Problem::MethodNotAllowed,
        StatusCode::NOT_ACCEPTABLE => Problem::NotAcceptable,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::UnsupportedMediaType,
        StatusCode::PAYLOAD_TOO_LARGE => Problem::BodyTooLarge,
        _ => Problem::InvalidBody,
    };
    let said = answer.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    ApiError::new(problem, String::from_utf8_lossy(&said))
}

/// The session that a request names. One that this caller does not have makes the client open another.
fn known(app: &App, caller: &Caller, id: &HeaderValue) -> Result<Brought, ApiError> {
    let found = id.to_str().ok().and_then(|id| session::brought(&app.mcp, caller, id));
    found.ok_or_else(|| {
        ApiError::new(Problem::UnknownSession, "there is no such session")
            .hint("open one with `initialize`")
    })
}
