//! How the server is.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use signoff_core::request::RequestStatus;
use signoff_store::RequestFilter;

use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::json;
use crate::shape::Health;

static HEALTH: Operation = Operation {
    verb: Verb::Get,
    path: "/health",
    id: "health",
    summary: "Whether the process is alive",
    query: None,
    body: None,
    answers: &[Answer::json(200, "It is.", of::<Health>)],
    problems: &[],
};

static READY: Operation = Operation {
    verb: Verb::Get,
    path: "/ready",
    id: "ready",
    summary: "Whether the server takes work: its store can be read and it is not stopping",
    query: None,
    body: None,
    answers: &[Answer::json(200, "It does.", of::<Health>)],
    problems: &[Problem::NotReady],
};

static METRICS: Operation = Operation {
    verb: Verb::Get,
    path: "/metrics",
    id: "metrics",
    summary: "Counters, as Prometheus reads them",
    query: None,
    body: None,
    answers: &[Answer::other(200, "The counters.", "text/plain")],
    problems: &[Problem::Store],
};

static OPENAPI: Operation = Operation {
    verb: Verb::Get,
    path: "/openapi.json",
    id: "openapi",
    summary: "This document",
    query: None,
    body: None,
    answers: &[Answer::other(200, "The document.", "application/json")],
    problems: &[],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&HEALTH, health).add(&READY, ready).add(&METRICS, metrics).add(&OPENAPI, openapi)
}

fn well(status: &'static str) -> Response {
    json(StatusCode::OK, &Health { status, version: env!("CARGO_PKG_VERSION") })
}

async fn health() -> Response {
    well("ok")
}

async fn ready(State(app): State<App>) -> Result<Response, ApiError> {
    if app.is_stopping() {
        return Err(ApiError::new(Problem::NotReady, "the server is stopping"));
    }
    let looked = app.read(|engine| Ok(engine.store().changes()?)).await;
    looked.map_err(|_| ApiError::new(Problem::NotReady, "the store cannot be read"))?;
    Ok(well("ready"))
}

async fn metrics(State(app): State<App>) -> Result<Response, ApiError> {
    let pending =
        RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    let pending = app.search(move |engine| Ok(engine.store().count_requests(&pending)?)).await?;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], app.metrics.text(pending, &app.settings.traces))
        .into_response())
}

async fn openapi(State(app): State<App>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], app.openapi.clone()).into_response()
}
