//! What is taken from a request and how it is read: strictly, with a suggestion where a name is wrong.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::App;
use crate::error::{ApiError, Problem, nearest};

/// How a page sends a form.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A JSON answer.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
                (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            ];
            (status, headers, bytes).into_response()
        }
        // A shape of ours that is not JSON: nothing a client can help.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The id in the path.
#[derive(Debug)]
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(error) => Err(ApiError::new(Problem::InvalidPath, error.body_text())),
        }
    }
}

/// The query, where every parameter must be known.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        serde_urlencoded::from_str(query)
            .map(Self)
            .map_err(|error| refused(Problem::InvalidQuery, "the query", &error.to_string()))
    }
}

/// A JSON body, where every field must be known. No body at all is `{}`.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let Body(value) = Body::<Value>::read(request, app).await?;
        from_value(value).map(Self)
    }
}

/// A JSON body of any shape.
#[derive(Debug)]
pub(crate) struct AnyBody(pub(crate) Value);

impl FromRequest<App> for AnyBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        Body::<Value>::read(request, app).await.map(|body| Self(body.0))
    }
}

impl Body<Value> {
    async fn read(request: Request, app: &App) -> Result<Self, ApiError> {
        let (headers, bytes) = received(request, app).await?;
        if bytes.is_empty() {
            return Ok(Self(Value::Object(serde_json::Map::new())));
        }
        if !is(&headers, "application/json") {
            return Err(ApiError::new(Problem::UnsupportedMediaType, "the body must be JSON")
                .hint("send it with `Content-Type: application/json`"));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            ApiError::new(Problem::MalformedJson, format!("the body is not JSON: {error}"))
        })
    }
}

/// What the form of a page was filled in with, where every field must be known.
pub(crate) async fn form<T: DeserializeOwned>(request: Request, app: &App) -> Result<T, ApiError> {
    let (headers, bytes) = received(request, app).await?;
    if !is(&headers, FORM) {
        return Err(ApiError::new(Problem::UnsupportedMediaType, "the body must be a form")
            .hint(format!("send it with `Content-Type: {FORM}`")));
    }
    serde_urlencoded::from_bytes(&bytes)
        .map_err(|error| refused(Problem::InvalidBody, "the form", &error.to_string()))
}

/// The whole body of a request, if it is not too large and comes in time.
pub(crate) async fn received(request: Request, app: &App) -> Result<(HeaderMap, Bytes), ApiError> {
    let (parts, body) = request.into_parts();
    let limit = app.settings.max_body;
    let too_large =
        || ApiError::new(Problem::BodyTooLarge, format!("the body has more than {limit} bytes"));
    if declared(&parts.headers).is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let reading =
        tokio::time::timeout(app.settings.body_timeout, Limited::new(body, limit).collect());
    match reading.await {
        Ok(Ok(body)) => Ok((parts.headers, body.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::new(Problem::MalformedJson, "the body was cut off")),
        Err(_) => Err(ApiError::new(Problem::BodyTimeout, "the body took too long to come")),
    }
}

fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Whether the content of a request is said to be of this kind.
pub(crate) fn is(headers: &HeaderMap, media: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(media))
}

/// A value as a shape of ours.
pub(crate) fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ApiError> {
    serde_json::from_value(value)
        .map_err(|error| refused(Problem::InvalidBody, "the body", &error.to_string()))
}

/// An error of serde, with a suggestion if a name is unknown.
fn refused(problem: Problem, what: &str, said: &str) -> ApiError {
    let error = ApiError::new(problem, format!("{what} cannot be used: {said}"));
    // "unknown field `x`, expected one of `a`, `b`"
    if !said.starts_with("unknown ") {
        return error;
    }
    let mut names = said.split('`').skip(1).step_by(2);
    let given = names.next().unwrap_or_default();
    match nearest(given, names) {
        Some(found) => error.hint(format!("did you mean `{found}`?")),
        None => error,
    }
}
