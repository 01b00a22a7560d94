//! What is in a conversation: what was said, asked and answered in its runs, what was put into it besides, and
//! for pages its checkpoints.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use signoff_core::{ConversationId, RunState};
use signoff_runtime::Engine;
use signoff_store::{ChangeConversation, RunRecord};

use super::conversations::{Found, find};
use super::fault::{Fault, InParam as _};
use super::item::{self, Before};
use super::responses::list;
use super::{checkpoint, said};
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{self, AnyBody, Id, Query};

/// How many items a page has, if nothing is said, and at most.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;
/// How many items can be put into a conversation in all.
const MAX_ADDED: usize = 1000;

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

static ADD: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/conversations/{id}/items",
    id: "create_conversation_items",
    summary: "Puts messages into a conversation, for its next run (OpenAI)",
    query: None,
    body: Some(of::<AddBody>),
    answers: &[Answer::other(200, "The items.", "application/json")],
    problems: &[Problem::UnknownConversation, Problem::ShuttingDown],
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
    api.add(&ITEMS, items).add(&ADD, add).add(&ITEM, single)
}

/// Everything in a conversation, oldest first.
fn all(engine: &Engine, id: &ConversationId) -> Result<Vec<Value>, Fault> {
    let found = find(engine, id)?;
    let session = found.is_session();
    let mut added = added(&found, id).into_iter();
    let mut items = Vec::new();
    for record in &found.runs {
        run(engine, record, &mut items, &mut added)?;
        if session {
            let places = checkpoint::of(engine, record)?;
            items.extend(places.iter().map(|place| checkpoint::item(record, place)));
        }
    }
    items.extend(added);
    Ok(items)
}

/// What was put into a conversation.
fn added(found: &Found, id: &ConversationId) -> Vec<Value> {
    let messages = found.record.iter().flat_map(|record| &record.added);
    messages.enumerate().map(|(number, message)| said::item(id, number, message)).collect()
}

/// The items of one run, behind those it took up.
fn run(
    engine: &Engine,
    record: &RunRecord,
    items: &mut Vec<Value>,
    added: &mut impl Iterator<Item = Value>,
) -> Result<(), Fault> {
    let entries = engine.store().load(&record.id, Some(record.head))?.entries;
    let mut state: Option<RunState> = None;
    for entry in &entries {
        let outputs = state.as_ref().map_or(0, |state| state.outputs.len());
        let before = Before { messages: 0, outputs };
        match &mut state {
            Some(state) => state.apply(entry).map_err(|error| ApiError::internal(&error))?,
            none => {
                let begun = RunState::begin(entry).map_err(|error| ApiError::internal(&error))?;
                // A fork has taken up what its first run did.
                if begun.started.forked_from.is_none() {
                    items.extend(added.take(begun.started.added as usize));
                }
                *none = Some(begun);
            }
        }
        items.extend(item::given(&record.id, entry));
        items.extend(state.as_ref().and_then(|it| item::told(&record.id, it, entry, before)));
    }
    Ok(())
}

/// Which items.
#[derive(Debug, Deserialize, JsonSchema)]
struct ItemsQuery {
    /// How many: 1 to 100; 20, if not given.
    #[schemars(range(min = 1, max = 100))]
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

/// Messages to add.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct AddBody {
    /// The messages: up to 20.
    items: Vec<Value>,
}

async fn add(
    app: App,
    caller: Caller,
    id: Result<Id, ApiError>,
    body: Result<AnyBody, ApiError>,
) -> Result<Response, Fault> {
    let (Id(id), AnyBody(body)) = (id?, body?);
    app.takes_work()?;
    let messages = said::messages(&body, false)?;
    let id = ConversationId::new(id);
    let wanted = id.clone();
    let found = app.search(move |engine| Ok(find(engine, &wanted))).await??;
    let before = found.record.map_or(0, |record| record.added.len());
    if before + messages.len() > MAX_ADDED {
        let what =
            format!("a conversation takes at most {MAX_ADDED} items besides those of its runs");
        return Err(Fault::invalid("items", what));
    }
    let count = messages.len();
    let change = ChangeConversation::new(caller.tenant, id.clone(), app.engine.clock().now());
    let change = ChangeConversation { add: messages, ..change };
    let record = app.engine.store().change_conversation(change).await?;
    let first = record.added.len().saturating_sub(count);
    let items: Vec<Value> = (first..)
        .zip(&record.added[first..])
        .map(|(number, message)| said::item(&id, number, message))
        .collect();
    Ok(extract::json(StatusCode::OK, &list(&items, false)))
}

async fn single(
    app: App,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Response, Fault> {
    let Path((id, wanted)) =
        path.map_err(|error| ApiError::new(Problem::InvalidPath, error.body_text()))?;
    let id = ConversationId::new(id);
    let found = app.search(move |engine| Ok(named(engine, &id, &wanted))).await??;
    Ok(extract::json(StatusCode::OK, &found))
}

fn named(engine: &Engine, id: &ConversationId, wanted: &str) -> Result<Value, Fault> {
    let unknown = || {
        let message = format!("there is no item `{wanted}` in this conversation");
        ApiError::new(Problem::UnknownItem, message)
    };
    if let Some((run, seq)) = checkpoint::read_item(wanted) {
        let found = find(engine, id)?.runs;
        let record = found.into_iter().find(|record| record.id == run).ok_or_else(unknown)?;
        return checkpoint::whole(engine, &record, seq);
    }
    let found = all(engine, id)?.into_iter().find(|item| item["id"] == *wanted);
    Ok(found.ok_or_else(unknown)?)
}
