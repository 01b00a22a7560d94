//! Conversations: an id, what clients note on it, and its runs. One that was only named by a run, or never,
//! is one too: those without runs are known by the form of their id.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use signoff_core::ConversationId;
use signoff_core::request::RequestStatus;
use signoff_runtime::{Engine, EngineError, new_id};
use signoff_store::{
    ChangeConversation, ConversationFilter, ConversationRecord, RequestFilter, RunFilter, RunRecord,
};

use super::checkpoint;
use super::fault::{Fault, InParam as _};
use super::said;
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{self, AnyBody, Id, Query};

/// How many conversations a page of the list has, if nothing is said, and at most.
const PAGE: usize = 50;
const MAX_PAGE: usize = 100;
/// The bounds of metadata, as OpenAI has them.
const MAX_NOTES: usize = 16;
const MAX_NAME: usize = 64;
const MAX_NOTE: usize = 512;
/// The metadata of a session of a page.
const KIND: &str = "type";
const SESSION: &str = "workflow_session";
const ENTITY: &str = "entity_id";

/// The metadata of a session with a workflow.
pub(super) fn session(workflow: &str) -> Map<String, Value> {
    let fields = [(ENTITY, workflow), (KIND, SESSION)];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

const CONVERSATION: Answer = Answer::other(200, "The conversation.", "application/json");

static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/conversations",
    id: "create_conversation",
    summary: "A new conversation (OpenAI)",
    query: None,
    body: Some(of::<CreateBody>),
    answers: &[CONVERSATION],
    problems: &[Problem::ShuttingDown],
};

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/conversations",
    id: "list_conversations",
    summary: "Conversations that were made here, newest first (DevUI)",
    query: Some(of::<ListQuery>),
    body: None,
    answers: &[Answer::other(200, "A page of conversations.", "application/json")],
    problems: &[Problem::InvalidCursor],
};

static ONE: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/conversations/{id}",
    id: "get_conversation",
    summary: "A conversation (OpenAI)",
    query: None,
    body: None,
    answers: &[CONVERSATION],
    problems: &[Problem::UnknownConversation],
};

static UPDATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/conversations/{id}",
    id: "update_conversation",
    summary: "Notes something else on a conversation (OpenAI)",
    query: None,
    body: Some(of::<UpdateBody>),
    answers: &[CONVERSATION],
    problems: &[Problem::UnknownConversation, Problem::ShuttingDown],
};

static DELETE: Operation = Operation {
    verb: Verb::Delete,
    path: "/v1/conversations/{id}",
    id: "delete_conversation",
    summary: "Stops what runs in a conversation, and hides it (OpenAI)",
    query: None,
    body: None,
    answers: &[Answer::other(200, "It is gone.", "application/json")],
    problems: &[Problem::UnknownConversation, Problem::ShuttingDown],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&CREATE, create)
        .add(&LIST, list)
        .add(&ONE, one)
        .add(&UPDATE, update)
        .add(&DELETE, delete)
}

/// A conversation to make. Any other field is left alone.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct CreateBody {
    /// What is noted on it: texts by name.
    metadata: Option<Map<String, Value>>,
    /// Messages that were said before.
    items: Option<Vec<Value>>,
}

/// What to change. Any other field is left alone.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct UpdateBody {
    /// What is noted on it from now on: texts by name.
    metadata: Map<String, Value>,
}

async fn create(
    app: App,
    caller: Caller,
    body: Result<AnyBody, ApiError>,
) -> Result<Response, Fault> {
    app.takes_work()?;
    let body = body?.0;
    if !body.is_object() {
        return Err(Fault::invalid("body", "the body must be an object"));
    }
    let metadata = metadata(&body)?;
    let add = said::messages(&body, true)?;
    let id = ConversationId::from_unique(&new_id());
    let change = ChangeConversation::new(caller.tenant, id, app.engine.clock().now());
    let change = ChangeConversation { metadata, add, ..change };
    let record = app.engine.store().change_conversation(change).await?;
    Ok(extract::json(StatusCode::OK, &shown(&record)))
}

fn shown(record: &ConversationRecord) -> Value {
    json!({
        "id": record.id,
        "object": "conversation",
        "created_at": record.created_at.0 / 1000,
        "metadata": record.metadata,
    })
}

/// The metadata in a body.
fn metadata(body: &Value) -> Result<Option<Map<String, Value>>, Fault> {
    let wrong = |message: String| Fault::invalid("metadata", message);
    let notes = match body.get("metadata") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(notes)) => notes,
        Some(_) => return Err(wrong("`metadata` is an object: texts by name".into())),
    };
    if notes.len() > MAX_NOTES {
        return Err(wrong(format!("`metadata` has at most {MAX_NOTES} names")));
    }
    for (name, note) in notes {
        let fits = note.as_str().is_some_and(|note| note.chars().count() <= MAX_NOTE);
        if name.chars().count() > MAX_NAME || !fits {
            let bounds = format!("names of {MAX_NAME} and texts of {MAX_NOTE} characters");
            return Err(wrong(format!("`metadata` has texts by name: at most {bounds}")));
        }
    }
    Ok(Some(notes.clone()))
}

/// When an id of ours was made, in seconds; none, if it is of another form. It begins with that time.
fn made_at(id: &ConversationId) -> Option<i64> {
    let unique = id.as_str().strip_prefix(ConversationId::PREFIX)?;
    let ours = unique.len() == 32
        && unique.bytes().all(|c| c.is_ascii_hexdigit())
        && unique.as_bytes().get(12) == Some(&b'7');
    let time = ours.then(|| unique.get(..12)).flatten()?;
    i64::from_str_radix(time, 16).ok().map(|millis| millis / 1000)
}

/// A conversation: what is kept of it, and its runs.
pub(super) struct Found {
    pub(super) record: Option<ConversationRecord>,
    /// The runs that are not part of others, oldest first.
    pub(super) runs: Vec<RunRecord>,
}

impl Found {
    /// Whether it is a session of a page, which sees its checkpoints.
    pub(super) fn is_session(&self) -> bool {
        self.record.as_ref().is_some_and(is_session)
    }
}

fn is_session(record: &ConversationRecord) -> bool {
    record.metadata.get(KIND).is_some_and(|kind| kind == SESSION)
}

/// The conversation of an id, if there is one.
pub(super) fn find(engine: &Engine, id: &ConversationId) -> Result<Found, Fault> {
    let record = engine.conversation(id)?;
    if record.as_ref().is_some_and(|record| record.deleted) {
        return Err(unknown(id));
    }
    let runs = runs(engine, id)?;
    if runs.is_empty() && record.is_none() && made_at(id).is_none() {
        return Err(unknown(id));
    }
    Ok(Found { record, runs })
}

/// There is no such conversation.
pub(super) fn unknown(id: &ConversationId) -> Fault {
    let message = format!("there is no conversation `{id}`");
    ApiError::new(Problem::UnknownConversation, message).into()
}

fn runs(engine: &Engine, id: &ConversationId) -> Result<Vec<RunRecord>, Fault> {
    let filter = RunFilter { conversation: Some(id.clone()), ..RunFilter::default() };
    let mut runs = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = engine.store().runs(&filter, cursor.as_deref(), 1000)?;
        runs.extend(page.items.into_iter().filter(|run| run.root == run.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    runs.reverse();
    Ok(runs)
}

async fn one(app: App, id: Result<Id, ApiError>) -> Result<Response, Fault> {
    let id = ConversationId::new(id?.0);
    let shown = app.search(move |engine| Ok(as_it_stands(engine, &id))).await??;
    Ok(extract::json(StatusCode::OK, &shown))
}

fn as_it_stands(engine: &Engine, id: &ConversationId) -> Result<Value, Fault> {
    let found = find(engine, id)?;
    let Some(record) = &found.record else {
        let first = found.runs.first().map(|run| run.created_at.0 / 1000);
        let created_at = made_at(id).or(first).unwrap_or_default();
        let object = "conversation";
        return Ok(json!({ "id": id, "object": object, "created_at": created_at, "metadata": {} }));
    };
    Ok(shown(record))
}

/// Which conversations.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListQuery {
    /// Only those about this workflow.
    entity_id: Option<String>,
    /// Only those about this agent. There are none: agents are parts of workflows.
    agent_id: Option<String>,
    /// Only those of this type, for example `workflow_session`.
    r#type: Option<String>,
    /// How many: 1 to 100; 50, if not given.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

async fn list(app: App, query: Result<Query<ListQuery>, ApiError>) -> Result<Response, Fault> {
    let Query(query) = query?;
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        let message = format!("`limit` is a number from 1 to {MAX_PAGE}");
        return Err(ApiError::new(Problem::InvalidQuery, message).in_param("limit"));
    }
    let wanted = [(ENTITY, query.entity_id), ("agent_id", query.agent_id), (KIND, query.r#type)];
    let metadata =
        wanted.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let filter = ConversationFilter { metadata, ..ConversationFilter::default() };
    let (data, next) = app
        .search(move |engine| {
            let page = engine.store().conversations(&filter, query.cursor.as_deref(), limit)?;
            let data: Result<Vec<Value>, Fault> =
                page.items.iter().map(|record| listed(engine, record)).collect();
            Ok(data.map(|data| (data, page.next)))
        })
        .await??;
    let mut list = super::responses::list(&data, next.is_some());
    if let Some(next) = next {
        list["next_cursor"] = next.into();
    }
    Ok(extract::json(StatusCode::OK, &list))
}

/// A conversation as the list has it. Pages want to know what they can go on from.
fn listed(engine: &Engine, record: &ConversationRecord) -> Result<Value, Fault> {
    let mut shown = shown(record);
    if !is_session(record) {
        return Ok(shown);
    }
    let mut count = 0;
    let mut latest = 0;
    for run in runs(engine, &record.id)? {
        let found = checkpoint::of(engine, &run)?.len();
        count += found;
        latest = found.saturating_sub(1);
    }
    let pending = RequestFilter {
        status: Some(RequestStatus::Pending),
        conversation: Some(record.id.clone()),
        ..RequestFilter::default()
    };
    let pending = engine.store().count_requests(&pending)?;
    shown["metadata"]["checkpoint_summary"] = json!({
        "count": count,
        "latest_iteration": latest,
        "has_pending_hil": pending > 0,
        "pending_hil_count": pending,
    });
    Ok(shown)
}

async fn update(
    app: App,
    caller: Caller,
    id: Result<Id, ApiError>,
    body: Result<AnyBody, ApiError>,
) -> Result<Response, Fault> {
    let (Id(id), AnyBody(body)) = (id?, body?);
    app.takes_work()?;
    let Some(metadata) = metadata(&body)? else {
        return Err(Fault::invalid("metadata", "`metadata` is missing: texts by name"));
    };
    let id = ConversationId::new(id);
    let wanted = id.clone();
    app.search(move |engine| Ok(find(engine, &wanted).map(drop))).await??;
    let change = ChangeConversation::new(caller.tenant, id, app.engine.clock().now());
    let change = ChangeConversation { metadata: Some(metadata), ..change };
    let record = app.engine.store().change_conversation(change).await?;
    Ok(extract::json(StatusCode::OK, &shown(&record)))
}

async fn delete(app: App, caller: Caller, id: Result<Id, ApiError>) -> Result<Response, Fault> {
    let id = ConversationId::new(id?.0);
    app.takes_work()?;
    let wanted = id.clone();
    let found = app.search(move |engine| Ok(find(engine, &wanted))).await??;
    // First what runs, so that nothing goes on unseen if this is cut off in between.
    for run in found.runs.iter().filter(|run| !run.status.is_over()) {
        let why = Some("its conversation was deleted".to_owned());
        match app.engine.cancel(&run.id, caller.actor.clone(), why).await {
            // It was faster.
            Ok(()) | Err(EngineError::Over(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let change = ChangeConversation::new(caller.tenant, id.clone(), app.engine.clock().now());
    app.engine.store().change_conversation(ChangeConversation { delete: true, ..change }).await?;
    let gone = json!({ "id": id, "object": "conversation.deleted", "deleted": true });
    Ok(extract::json(StatusCode::OK, &gone))
}
