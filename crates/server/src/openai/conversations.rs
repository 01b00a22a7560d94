//! Conversations and what was said in them. A conversation is an id and its runs; there is nothing else
//! to keep, so one without runs is known by the form of its id.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{ConversationId, RunState};
use signoff_runtime::{Engine, new_id};
use signoff_store::{RunFilter, RunRecord};

use super::fault::{Fault, InParam as _};
use super::item::{self, Before};
use super::responses::list;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{self, AnyBody, Id, Query};

/// How many items a page has, if nothing is said, and at most.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;

const CONVERSATION: Answer = Answer::other(200, "The conversation.", "application/json");

static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/conversations",
    id: "create_conversation",
    summary: "A new conversation (OpenAI)",
    query: None,
    body: Some(of::<CreateBody>),
    answers: &[CONVERSATION],
    problems: &[],
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

static ITEMS: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/conversations/{id}/items",
    id: "list_conversation_items",
    summary: "What was said, asked and answered in a conversation (OpenAI)",
    query: Some(of::<ItemsQuery>),
    body: None,
    answers: &[Answer::other(200, "A page of items.", "application/json")],
    problems: &[Problem::UnknownConversation, Problem::InvalidCursor],
};

static ITEM: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/conversations/{id}/items/{item}",
    id: "get_conversation_item",
    summary: "One item of a conversation (OpenAI)",
    query: None,
    body: None,
    answers: &[Answer::other(200, "The item.", "application/json")],
    problems: &[Problem::UnknownConversation, Problem::UnknownItem],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&CREATE, create).add(&ONE, one).add(&ITEMS, items).add(&ITEM, single)
}

/// A conversation to make. Any other field is left alone, and nothing is kept of `metadata`.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct CreateBody {
    /// Must be empty: what is said is the `input` of a response.
    items: Option<Vec<Value>>,
}

async fn create(body: Result<AnyBody, ApiError>) -> Result<Response, Fault> {
    match &body?.0["items"] {
        Value::Null => {}
        Value::Array(items) if items.is_empty() => {}
        _ => {
            let what = "items cannot be put in a conversation; say them as `input` of a response";
            return Err(Fault::invalid("items", what));
        }
    }
    let id = ConversationId::from_unique(&new_id());
    Ok(shown(&id, made_at(&id).unwrap_or_default()))
}

fn shown(id: &ConversationId, created_at: i64) -> Response {
    let shown = json!({
        "id": id,
        "object": "conversation",
        "created_at": created_at,
        "metadata": {},
    });
    extract::json(StatusCode::OK, &shown)
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

/// The runs of a conversation that are not part of others, oldest first.
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
    if runs.is_empty() && made_at(id).is_none() {
        let message = format!("there is no conversation `{id}`");
        return Err(ApiError::new(Problem::UnknownConversation, message).into());
    }
    Ok(runs)
}

async fn one(app: App, id: Result<Id, ApiError>) -> Result<Response, Fault> {
    let id = ConversationId::new(id?.0);
    let wanted = id.clone();
    let runs = app.search(move |engine| Ok(runs(engine, &wanted))).await??;
    let first = runs.first().map(|run| run.created_at.0 / 1000);
    Ok(shown(&id, made_at(&id).or(first).unwrap_or_default()))
}

/// Everything that was said, asked and answered, in order.
fn all(engine: &Engine, id: &ConversationId) -> Result<Vec<Value>, Fault> {
    let mut items = Vec::new();
    for record in runs(engine, id)? {
        let entries = engine.store().load(&record.id, Some(record.head))?.entries;
        let mut state: Option<RunState> = None;
        for entry in &entries {
            let outputs = state.as_ref().map_or(0, |state| state.outputs.len());
            let before = Before { messages: 0, outputs };
            match &mut state {
                Some(state) => state.apply(entry).map_err(|error| ApiError::internal(&error))?,
                none => {
                    let begun = RunState::begin(entry);
                    *none = Some(begun.map_err(|error| ApiError::internal(&error))?);
                }
            }
            items.extend(item::given(&record.id, entry));
            items.extend(state.as_ref().and_then(|it| item::told(&record.id, it, entry, before)));
        }
    }
    Ok(items)
}

/// Which items.
#[derive(Debug, Deserialize, JsonSchema)]
struct ItemsQuery {
    /// How many: 1 to 100; 20, if not given.
    limit: Option<usize>,
    /// `asc` or `desc`, which it is if not given.
    order: Option<Order>,
    /// The id of the last item of the page before.
    after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    Asc,
    Desc,
}

async fn items(
    app: App,
    id: Result<Id, ApiError>,
    query: Result<Query<ItemsQuery>, ApiError>,
) -> Result<Response, Fault> {
    let (Id(id), Query(query)) = (id?, query?);
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        let message = format!("`limit` is a number from 1 to {MAX_PAGE}");
        return Err(ApiError::new(Problem::InvalidQuery, message).in_param("limit"));
    }
    let id = ConversationId::new(id);
    let mut items = app.search(move |engine| Ok(all(engine, &id))).await??;
    if query.order != Some(Order::Asc) {
        items.reverse();
    }
    if let Some(after) = query.after {
        let Some(at) = items.iter().position(|item| item["id"] == *after) else {
            let message = format!("there is no item `{after}` in this conversation");
            return Err(ApiError::new(Problem::InvalidCursor, message).in_param("after"));
        };
        items.drain(..=at);
    }
    let more = items.len() > limit;
    items.truncate(limit);
    Ok(extract::json(StatusCode::OK, &list(&items, more)))
}

async fn single(app: App, Path((id, wanted)): Path<(String, String)>) -> Result<Response, Fault> {
    let id = ConversationId::new(id);
    let items = app.search(move |engine| Ok(all(engine, &id))).await??;
    let found = items.into_iter().find(|item| item["id"] == *wanted).ok_or_else(|| {
        let message = format!("there is no item `{wanted}` in this conversation");
        ApiError::new(Problem::UnknownItem, message)
    })?;
    Ok(extract::json(StatusCode::OK, &found))
}
