//! A server at an address, through the one guarded way out.

mod events;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use signoff_core::Span;
use signoff_net::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use signoff_net::{Client, Method, NetError, Policy, Request, Response, StatusCode, Url};
use sse_stream::Sse;

use crate::stdio::MAX_LINE;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// How much of a refusal is read, in bytes.
const MAX_REFUSAL: usize = 64 * 1024;
/// How long a stream of notifications stays open before it is opened anew.
const STREAM: Duration = Duration::from_hours(24);

type Failure = StreamableHttpError<NetError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The way out, as `rmcp` wants it.
#[derive(Clone, Debug)]
pub(crate) struct Web(Client);

impl Web {
    /// A client for servers that the operator named. A call may take as long as it may take; each
    /// message is bounded where it is read.
    pub(crate) fn new(call: Span) -> Result<Self, NetError> {
        let policy = Policy {
            first_byte_timeout: call.to_std(),
            idle_timeout: STREAM,
            total_timeout: STREAM,
            max_response_bytes: u64::MAX,
            ..Policy::configured()
        };
        Client::new(policy).map(Self)
    }

    async fn send(
        &self,
        method: Method,
        uri: &str,
        session: Option<&str>,
        token: Option<String>,
        headers: Headers,
        rest: impl FnOnce(&mut Request),
    ) -> Result<Response, Failure> {
        let url: Url = uri.parse().map_err(|_| unexpected("the address cannot be read"))?;
        let mut request = Request::new(method, url);
        request.headers.extend(headers);
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {token}"));
            request.headers.insert(AUTHORIZATION, value.map_err(|_| unexpected("a bad token"))?);
        }
        if let Some(session) = session {
            let value = HeaderValue::from_str(session);
            request.headers.insert(SESSION, value.map_err(|_| unexpected("a bad session id"))?);
        }
        rest(&mut request);
        self.0.send(request).await.map_err(StreamableHttpError::Client)
    }
}

impl StreamableHttpClient for Web {
    type Error = NetError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let body = serde_json::to_vec(&message)?;
        let fill = |request: &mut Request| {
            request
                .headers
                .insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
            request.body = body.into();
        };
        let response =
            self.send(Method::POST, &uri, session.as_deref(), token, headers, fill).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return refusal(response, &message, session.is_some()).await;
        }
        let kind = response.header("content-type").unwrap_or_default().to_owned();
        let id = response.header(SESSION.as_str()).map(str::to_owned);
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events::read(response), id));
        }
        let wants_none = !matches!(message, ClientJsonRpcMessage::Request(_));
        if !kind.starts_with(JSON) {
            return if wants_none {
                Ok(StreamableHttpPostResponse::Accepted)
            } else {
                Err(StreamableHttpError::UnexpectedContentType(None))
            };
        }
        match serde_json::from_slice(&whole(response).await?) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, id)),
            Err(_) if wants_none => Ok(StreamableHttpPostResponse::Accepted),
            Err(_) => Err(unexpected("it did not answer with a message of the protocol")),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        // Some servers keep no sessions; either way it is over for us.
        self.send(Method::DELETE, &uri, Some(&session), token, headers, |_| {}).await.map(|_| ())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let fill = |request: &mut Request| {
            request.headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
            if let Some(value) = last_event.and_then(|id| HeaderValue::from_str(&id).ok()) {
                request.headers.insert(LAST_EVENT, value);
            }
        };
        let response =
            self.send(Method::GET, &uri, session.as_deref(), token, headers, fill).await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(refused(status));
        }
        if !response.header("content-type").is_some_and(|kind| kind.starts_with(EVENTS)) {
            return Err(StreamableHttpError::UnexpectedContentType(None));
        }
        Ok(events::read(response))
    }
}

/// A body of at most one message.
async fn whole(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(StreamableHttpError::Client)? {
        if all.len() + piece.len() > MAX_LINE {
            return Err(unexpected("it sent a message that is too large"));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

/// What a refused message means: an error of the protocol if it carries one; for the first question of
/// the newer protocol, that the server speaks the older one.
async fn refusal(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let challenge = response.header("www-authenticate").unwrap_or_default().to_owned();
        return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
    }
    let body = response.beginning(MAX_REFUSAL).await;
    let said = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let ClientJsonRpcMessage::Request(request) = message else {
        return Err(refused(status));
    };
    let first = matches!(request.request, ClientRequest::DiscoverRequest(_));
    if first && !in_session && status.is_client_error() {
        let error = said.map_or_else(
            || ErrorData::invalid_request(format!("refused with HTTP {status}"), None),
            |error| error.error,
        );
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match said {
        Some(error) if error.id.as_ref() == Some(&request.id) => {
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), None))
        }
        // An error about no request of ours: many servers say so that they do not know the session.
        Some(_) if in_session && status == StatusCode::BAD_REQUEST => {
            Err(StreamableHttpError::SessionExpired)
        }
        _ => Err(refused(status)),
    }
}

fn refused(status: StatusCode) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}")))
}

fn unexpected(problem: &'static str) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(Cow::Borrowed(problem))
}

/// How often a broken stream is opened again before the server is given up.
#[derive(Debug)]
pub(crate) struct Patience;

impl SseRetryPolicy for Patience {
    fn retry(&self, times: usize) -> Option<Duration> {
        [100, 400, 1600, 3200].get(times).copied().map(Duration::from_millis)
    }
}
