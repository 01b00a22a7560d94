//! Markdown as HTML, for pages: what agents write is made safe here and nowhere else.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, json};
use crate::markdown;

/// The most texts at once.
const MAX_TEXTS: usize = 500;

static RENDER: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/markdown",
    id: "render_markdown",
    summary: "Markdown as HTML that a page can show: no scripts, styles, pictures or raw HTML",
    query: None,
    body: Some(of::<Texts>),
    answers: &[Answer::json(200, "The same texts as HTML.", of::<Rendered>)],
    problems: &[],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&RENDER, render)
}

/// What is to be shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Texts {
    /// Texts in Markdown.
    #[schemars(length(max = 500))]
    texts: Vec<String>,
}

/// What can be shown.
#[derive(Debug, Serialize, JsonSchema)]
struct Rendered {
    /// One for each text, in order.
    html: Vec<String>,
}

async fn render(app: App, Body(body): Body<Texts>) -> Result<Response, ApiError> {
    if body.texts.len() > MAX_TEXTS {
        let message = format!("at most {MAX_TEXTS} texts are taken at once");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    // A megabyte of Markdown takes a moment.
    let html = app.read(move |engine| {
        let secrets = engine.secrets();
        Ok(body.texts.iter().map(|text| markdown::html(text, secrets)).collect())
    });
    Ok(json(StatusCode::OK, &Rendered { html: html.await? }))
}
