//! What an error code means.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};

use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::error::{ApiError, Problem, nearest};
use crate::extract::{Id, Query};
use crate::pages;

static PAGE: Operation = Operation {
    verb: Verb::Get,
    path: "/errors/{code}",
    id: "explain_error",
    summary: "What an error code means, why it happens and what to do",
    query: None,
    body: None,
    answers: &[Answer::other(200, "A page of Markdown.", "text/markdown")],
    problems: &[Problem::InvalidQuery, Problem::UnknownCode],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&PAGE, page)
}

async fn page(Id(code): Id, _: Query<Nothing>) -> Result<Response, ApiError> {
    let page = pages::page(&code).ok_or_else(|| {
        let error = ApiError::new(Problem::UnknownCode, format!("there is no error `{code}`"));
        match nearest(&code, pages::codes()) {
            Some(found) => error.hint(format!("did you mean `{found}`?")),
            None => error,
        }
    })?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/markdown; charset=utf-8")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, page).into_response())
}
