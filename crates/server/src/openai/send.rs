//! Answers by workflow, for clients that go on with a workflow by its id: a map of answers by request, or
//! the answer to one. Either all of them can be taken, or none is.

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use signoff_core::request::RequestStatus;
use signoff_core::{ConversationId, RequestId};
use signoff_runtime::{DecideError, Engine};
use signoff_store::RequestFilter;

use super::again::Again;
use super::answer::decision;
use super::begin::begin;
use super::fault::{Fault, InParam as _};
use super::id::Manner;
use super::input::Create;
use super::responses::told;
use super::sse;
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem, unknown_workflow};
use crate::extract::{AnyBody, Id};

/// The most answers at once.
const MAX_ANSWERS: usize = 256;

const STREAM: Answer = Answer::other(
    200,
    "The events of the response; the response itself, with `stream: false`.",
    "text/event-stream",
);
/// The same where no stream is wanted.
const WHOLE: Answer = Answer::other(200, "The response.", "application/json");

const PROBLEMS: &[Problem] = &[
    Problem::UnknownWorkflow,
    Problem::UnknownRequest,
    Problem::InvalidAnswer,
    Problem::AmbiguousAnswer,
    Problem::ConversationBusy,
    Problem::AlreadyDecided,
    Problem::RunOver,
    Problem::Expired,
    Problem::Cancelled,
    Problem::ShuttingDown,
    Problem::TooManyStreams,
];

static SEND: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/workflows/{id}/send_responses",
    id: "send_responses",
    summary: "Answers what a run of a workflow asks (Agent Framework)",
    query: None,
    body: Some(of::<SendBody>),
    answers: &[STREAM, WHOLE],
    problems: PROBLEMS,
};

static SEND_ONE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/workflows/{id}/requests/{request}/responses",
    id: "send_response",
    summary: "Answers one request of a run of a workflow (Agent Framework)",
    query: None,
    body: Some(of::<SendOneBody>),
    answers: &[STREAM, WHOLE],
    problems: PROBLEMS,
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&SEND, send).add(&SEND_ONE, send_one)
}

/// Answers to send.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct SendBody {
    /// Answers by request id. They may leave some requests open.
    responses: Option<Value>,
    /// Instead: text that answers the one request that waits.
    input: Option<String>,
    /// The conversation of the run: an id, or `{"id"}`.
    conversation: Option<Value>,
    /// Whether to tell events; yes, if not given.
    stream: Option<bool>,
}

/// One answer to send. A body without these fields is the answer itself.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct SendOneBody {
    /// The answer.
    response: Option<Value>,
    /// The conversation of the run: an id, or `{"id"}`.
    conversation: Option<Value>,
    /// Whether to tell events; yes, if not given.
    stream: Option<bool>,
}

async fn send(
    app: App,
    caller: Caller,
    id: Result<Id, ApiError>,
    headers: HeaderMap,
    body: Result<AnyBody, ApiError>,
) -> Result<Response, Fault> {
    let (Id(workflow), AnyBody(body)) = (id?, body?);
    let Value::Object(fields) = body else {
        return Err(Fault::invalid("body", "the body must be an object"));
    };
    let mut create = plain(&workflow, &fields)?;
    match fields.get("responses") {
        None | Some(Value::Null) => match fields.get("input") {
            Some(said @ Value::String(_)) => create.value = Some(said.clone()),
            _ => {
                return Err(Fault::invalid(
                    "responses",
                    "`responses` is missing: answers by request id",
                ));
            }
        },
        Some(Value::Object(responses)) if responses.len() > MAX_ANSWERS => {
            let what = format!("at most {MAX_ANSWERS} requests can be answered at once");
            return Err(Fault::invalid("responses", what));
        }
        Some(Value::Object(responses)) if !responses.is_empty() => {
            let named = responses.iter().map(|(id, it)| (RequestId::new(id.as_str()), it.clone()));
            create.answers = named.collect();
        }
        Some(_) => {
            return Err(Fault::invalid(
                "responses",
                "`responses` is an object: answers by request id",
            ));
        }
    }
    answer(&app, caller, create, &headers).await
}

async fn send_one(
    app: App,
    caller: Caller,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
    headers: HeaderMap,
    body: Result<AnyBody, ApiError>,
) -> Result<Response, Fault> {
    let Path((workflow, request)) =
        path.map_err(|error| ApiError::new(Problem::InvalidPath, error.body_text()))?;
    let AnyBody(body) = body?;
    let (mut create, given) = match body {
        Value::Object(mut fields) => {
            let create = plain(&workflow, &fields)?;
            fields.retain(|name, _| name != "stream" && name != "conversation");
            let given = ["response", "input", "text"].iter().find_map(|name| fields.remove(*name));
            (create, given.unwrap_or(Value::Object(fields)))
        }
        given => (plain(&workflow, &Map::new())?, given),
    };
    if given.as_object().is_some_and(Map::is_empty) || given.is_null() {
        return Err(Fault::invalid("response", "`response` is missing: the answer"));
    }
    create.answers = vec![(RequestId::new(request), given)];
    answer(&app, caller, create, &headers).await
}

/// What both have in common.
fn plain(workflow: &str, fields: &Map<String, Value>) -> Result<Create, Fault> {
    let stream = fields.get("stream").filter(|it| !it.is_null()).cloned().unwrap_or(true.into());
    let conversation = fields.get("conversation").cloned().unwrap_or_default();
    // The input is a stand-in: what is answered is put in its place.
    let body = json!({
        "model": workflow, "stream": stream, "conversation": conversation, "input": "answers",
    });
    let create = Create::read(&body)?;
    Ok(Create { value: None, ..create })
}

async fn answer(
    app: &App,
    caller: Caller,
    create: Create,
    headers: &HeaderMap,
) -> Result<Response, Fault> {
    let stream = create.stream;
    if stream {
        sse::room(app)?;
    }
    let create = app.read(move |engine| Ok(checked(engine, create))).await??;
    let again = Again::read(headers, caller.tenant.as_str())?;
    let begun = begin(app, caller, create, Again { ids: None, ..again }).await?;
    told(app, begun.told(Manner::Framework), stream).await
}

/// The answers, if each of them is for this workflow and can be taken now.
fn checked(engine: &Engine, mut create: Create) -> Result<Create, Fault> {
    let workflow = create.workflow.clone().unwrap_or_default();
    if engine.workflow(&workflow).is_none() {
        let known: Vec<String> = engine.workflows().map(|it| it.workflow.id.clone()).collect();
        return Err(unknown_workflow(&workflow, &known).into());
    }
    if create.value.is_some() {
        match &create.conversation {
            Some(conversation) => anything(engine, conversation)?,
            None => create.request = Some(only(engine, &workflow)?),
        }
    }
    for (id, value) in &create.answers {
        let unknown = || ApiError::unknown_request(id.as_str()).in_param("responses");
        let request = engine.store().request(id)?.ok_or_else(unknown)?;
        let root = engine.store().run(&request.root)?.ok_or_else(unknown)?;
        let foreign = create.conversation.as_ref().is_some_and(|it| *it != root.conversation);
        if foreign || *root.workflow != *workflow {
            return Err(unknown());
        }
        let decision = decision(&request, value)?;
        let same = request.decision.as_ref().is_some_and(|taken| taken.decision == decision);
        match request.status {
            RequestStatus::Decided if same => {}
            RequestStatus::Pending => {}
            RequestStatus::Decided => {
                return Err(DecideError::AlreadyDecided(Box::new(request)).into());
            }
            RequestStatus::Expired => return Err(DecideError::Expired(Box::new(request)).into()),
            RequestStatus::Cancelled => {
                return Err(DecideError::Cancelled(Box::new(request)).into());
            }
        }
    }
    Ok(create)
}

/// Whether something waits in a conversation. Text would start a run otherwise.
fn anything(engine: &Engine, conversation: &ConversationId) -> Result<(), Fault> {
    let filter = RequestFilter {
        status: Some(RequestStatus::Pending),
        conversation: Some(conversation.clone()),
        ..RequestFilter::default()
    };
    if engine.store().requests(&filter, None, 1)?.items.is_empty() {
        let message = format!("nothing waits in conversation `{conversation}`");
        return Err(ApiError::new(Problem::UnknownRequest, message).in_param("conversation"));
    }
    Ok(())
}

/// The one request that waits in runs of a workflow.
fn only(engine: &Engine, workflow: &str) -> Result<RequestId, Fault> {
    let filter = RequestFilter {
        status: Some(RequestStatus::Pending),
        workflow: Some(workflow.into()),
        ..RequestFilter::default()
    };
    match &engine.store().requests(&filter, None, 2)?.items[..] {
        [one] => Ok(one.id.clone()),
        [] => {
            let message = format!("nothing waits in runs of `{workflow}`");
            Err(ApiError::new(Problem::UnknownRequest, message).in_param("input"))
        }
        _ => {
            let message = format!("several questions wait in runs of `{workflow}`");
            Err(ApiError::new(Problem::AmbiguousAnswer, message)
                .hint("name the `conversation`, or send `responses` by request id")
                .in_param("input"))
        }
    }
}
