//! Putting a request off.

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::{RequestId, Span, Timestamp};
use signoff_runtime::{DeferRequest, Until};

use super::marks::shown;
use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Id};
use crate::shape::Request;

static DEFER: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/defer",
    id: "defer_request",
    summary: "Puts a request off: it is out of sight until then, and can still be decided",
    query: None,
    body: Some(of::<Defer>),
    answers: &[Answer::json(200, "It is put off. The request as it stands.", of::<Request>)],
    problems: &[
        Problem::UnknownRequest,
        Problem::AlreadyDecided,
        Problem::Expired,
        Problem::Cancelled,
        Problem::NotAsked,
        Problem::OwnRun,
        Problem::InvalidDeferral,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&DEFER, defer)
}

/// Until when a request is put off: one of `until` and `for`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defer {
    /// A time: `2026-11-16T09:00:00Z`.
    #[schemars(length(max = 64))]
    pub(crate) until: Option<String>,
    /// How long: `30m`, `2h`, `1d`.
    pub(crate) r#for: Option<Span>,
    /// Why, for others who look at it.
    #[schemars(length(max = 16384))]
    pub(crate) note: Option<String>,
}

impl Defer {
    fn when(&self) -> Result<Until, ApiError> {
        match (&self.until, self.r#for) {
            (None, Some(span)) => Ok(Until::After(span)),
            (Some(until), None) => until.parse::<Timestamp>().map(Until::At).map_err(|_| {
                ApiError::new(Problem::InvalidBody, "`until` is not a time")
                    .hint("write it as 2026-11-16T09:00:00Z, or take `for`: 2h")
            }),
            _ => Err(ApiError::new(Problem::InvalidBody, "one of `until` and `for` is needed")
                .hint(r#"for example {"for":"2h"}"#)),
        }
    }
}

async fn defer(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(body): Body<Defer>,
) -> Result<Response, ApiError> {
    let id = RequestId::new(id);
    defer_request(&app, caller, id.clone(), body).await?;
    shown(&app, id).await
}

/// Puts a request off, and gives it as it stands.
pub(crate) async fn defer_request(
    app: &App,
    caller: Caller,
    request: RequestId,
    body: Defer,
) -> Result<signoff_core::Request, ApiError> {
    app.takes_work()?;
    let until = body.when()?;
    let (by, roles) = (caller.actor, caller.roles.to_vec());
    let deferred = app.engine.defer(DeferRequest { request, until, note: body.note, by, roles });
    let request = deferred.await?;
    app.inbox.look_soon();
    Ok(request)
}
