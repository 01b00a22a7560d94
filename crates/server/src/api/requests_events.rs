//! The inbox as a stream.

use axum::response::Response;

use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::Query;
use crate::stream::{Inbox, sse};

static EVENTS: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/requests/events",
    id: "stream_requests",
    summary: "What happens to questions to people from now on, as server-sent events",
    query: None,
    body: None,
    answers: &[Answer::other(200, "Events until the client goes.", "text/event-stream")],
    problems: &[Problem::InvalidQuery, Problem::TooManyStreams, Problem::ShuttingDown],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&EVENTS, events)
}

async fn events(app: App, caller: Caller, _: Query<Nothing>) -> Result<Response, ApiError> {
    app.takes_work()?;
    app.room("close some, or read /v1/requests")?;
    let listener = Inbox::listen(&app, &caller).await?;
    Ok(sse::inbox(&app, listener))
}
