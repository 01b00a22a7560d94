//! Checkpoints: the places in a run's journal that it can be shown at, or forked from. These are its
//! beginning and wherever it waited for people. They follow from the journal; nothing is kept for them.

use serde_json::{Map, Value, json};
use signoff_core::journal::{self, Entry, Event};
use signoff_core::{JournalError, RunId, RunState, Seq, Timestamp};
use signoff_runtime::Engine;
use signoff_store::RunRecord;

use super::fault::Fault;
use super::form;
use crate::error::{ApiError, Problem};

const ITEM: &str = "checkpoint_";

/// A place in a journal.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) seq: Seq,
    at: Timestamp,
    /// Which of its run it is, from 0.
    number: usize,
    /// How many requests wait there.
    pub(super) pending: usize,
    /// How many executors have something to do.
    open: usize,
    /// How long the journal is up to there.
    bytes: usize,
}

/// The id of a checkpoint. The place comes first: pages cut ids short.
fn id(run: &RunId, seq: Seq) -> String {
    format!("{seq}_{}", run.unique())
}

/// The run and the place that the id of an item means, if it is one of a checkpoint.
pub(super) fn read_item(text: &str) -> Option<(RunId, Seq)> {
    text.strip_prefix(ITEM).and_then(read)
}

/// The run and the place that an id means.
pub(super) fn read(text: &str) -> Option<(RunId, Seq)> {
    let (seq, unique) = text.split_once('_')?;
    let (run, seq) = (RunId::from_unique(unique), seq.parse().ok()?);
    (id(&run, seq) == text).then_some((run, seq))
}

/// The checkpoints of a run, oldest first.
pub(super) fn of(engine: &Engine, record: &RunRecord) -> Result<Vec<Checkpoint>, Fault> {
    let entries = engine.store().load(&record.id, Some(record.head))?.entries;
    Ok(places(&entries).map_err(|error| ApiError::internal(&error))?)
}

/// Whether an entry is something that people were waited for with.
fn is_answer(event: &Event) -> bool {
    matches!(event, Event::Decided { .. } | Event::Expired { .. })
}

fn places(entries: &[Entry]) -> Result<Vec<Checkpoint>, JournalError> {
    let mut found: Vec<Checkpoint> = Vec::new();
    let mut state: Option<RunState> = None;
    let (mut bytes, mut before) = (0, None);
    let mut add = |state: &RunState, bytes: usize| {
        if found.last().is_none_or(|last| last.seq < state.seq) {
            found.push(Checkpoint {
                seq: state.seq,
                at: state.updated_at,
                number: found.len(),
                pending: state.pending().count(),
                open: state.open.len(),
                bytes,
            });
        }
    };
    for entry in entries {
        let waited = before.is_some_and(|before: &Entry| !is_answer(&before.event));
        if let (true, true, Some(state)) = (waited, is_answer(&entry.event), &state) {
            add(state, bytes);
        }
        match &mut state {
            Some(state) => state.apply(entry)?,
            none => *none = Some(RunState::begin(entry)?),
        }
        bytes += journal::to_json(entry).to_string().len();
        let first = matches!(&entry.event, Event::Delivered(given) if given.activation == 1);
        if let (true, Some(state)) = (first, &state) {
            add(state, bytes);
        }
        before = Some(entry);
    }
    if let (Some(state), Some(last)) = (&state, before)
        && state.pending().next().is_some()
        && !is_answer(&last.event)
    {
        add(state, bytes);
    }
    Ok(found)
}

/// A checkpoint as an item of its conversation.
pub(super) fn item(record: &RunRecord, place: &Checkpoint) -> Value {
    let id = id(&record.id, place.seq);
    json!({
        "id": format!("{ITEM}{id}"),
        "type": "checkpoint",
        "checkpoint_id": id,
        "workflow_id": record.workflow,
        "workflow_name": record.workflow,
        "timestamp": place.at.rfc3339(),
        "status": "completed",
        "metadata": {
            "iteration_count": place.number,
            "pending_hil_count": place.pending,
            "has_pending_hil": place.pending > 0,
            "message_count": place.open,
            "size_bytes": place.bytes,
            "version": "1.0",
            "graph_signature_hash": record.version,
        },
    })
}

/// The same with everything that is known there.
pub(super) fn whole(engine: &Engine, record: &RunRecord, seq: Seq) -> Result<Value, Fault> {
    let found = of(engine, record)?;
    let at = found.iter().position(|place| place.seq == seq).ok_or_else(|| unknown(record, seq))?;
    let entries = engine.store().load(&record.id, Some(seq))?.entries;
    let state = RunState::fold(&entries).map_err(|error| ApiError::internal(&error))?;
    let mut item = item(record, &found[at]);
    let mut messages: Map<String, Value> = Map::new();
    let mut executors: Map<String, Value> = Map::new();
    for activation in state.open.values() {
        let name = activation.executor.to_string();
        let given = messages.entry(name.as_str()).or_insert_with(|| json!([]));
        if let Value::Array(given) = given {
            given.push(json!({ "data": activation.payload, "target_id": name }));
        }
        let visits = state.visits.get(&activation.executor);
        executors.insert(name, json!({ "visits": visits, "said": activation.said.len() }));
    }
    let pending: Map<String, Value> = state
        .pending()
        .map(|(no, request)| {
            let id = record.id.request(no).to_string();
            let source = state.open.get(&request.activation).map(|open| &open.executor);
            let told = json!({
                "type": "request_info",
                "request_id": id,
                "source_executor_id": source,
                "request_type": format!("signoff:{}", request.body.kind),
                "response_type": form::response_type(&request.body),
                "data": form::data(&request.body, None),
            });
            (id, told)
        })
        .collect();
    item["metadata"]["full_checkpoint"] = json!({
        "checkpoint_id": item["checkpoint_id"],
        "previous_checkpoint_id": at.checked_sub(1).map(|at| id(&record.id, found[at].seq)),
        "workflow_name": record.workflow,
        "graph_signature_hash": record.version,
        "timestamp": item["timestamp"],
        "iteration_count": at,
        "messages": messages,
        "state": { "_executor_state": executors, "input": state.input, "outputs": state.outputs },
        "pending_request_info_events": pending,
        "metadata": { "signoff.run": record.id, "signoff.seq": seq },
        "version": "1.0",
    });
    Ok(item)
}

/// There is no such checkpoint.
fn unknown(record: &RunRecord, seq: Seq) -> Fault {
    let message = format!("there is no checkpoint `{}`", id(&record.id, seq));
    ApiError::new(Problem::UnknownItem, message).into()
}
