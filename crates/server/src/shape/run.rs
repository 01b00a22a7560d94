//! A run.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use signoff_core::journal::{Event, Input, Started};
use signoff_core::request::RequestStatus;
use signoff_core::{Request, RequestNo, RunId, RunStatus};
use signoff_runtime::{Engine, RunView};
use signoff_store::{RequestFilter, RunRecord, Store};

use super::RunError;
use crate::error::ApiError;

/// How many pending requests of one run are listed in it.
const MAX_PENDING: usize = 1000;

/// One execution of one workflow.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Run {
    /// Its id.
    id: String,
    /// The workflow's id.
    workflow: String,
    /// The content hash of the definition it runs on.
    version: String,
    /// Its conversation.
    conversation: String,
    /// Where it stands.
    pub(crate) status: RunStatus,
    /// What it was given.
    input: Value,
    /// What it gave, once it is completed. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// The phase it is in, if its workflow has any: `planning` or `control`. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    /// The step of its plan it is at, from 1. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    /// The ids of the requests that wait for people, of its parts as well.
    pending: Vec<String>,
    /// Why it failed or was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunError>,
    /// When it was created.
    created_at: String,
    /// When its journal last grew.
    updated_at: String,
    /// The position of its last journal entry.
    head: u64,
    /// Who started it.
    by: String,
    /// The run it is part of, at the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    /// The run before it in its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    continues: Option<String>,
    /// Where it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<ForkedFrom>,
    /// What its model calls and those of its parts took. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

/// Where a run was forked from.
#[derive(Debug, Serialize, JsonSchema)]
struct ForkedFrom {
    /// The other run.
    run: String,
    /// The last entry both share.
    at: u64,
    /// Why, in the words of who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A run with all there is to say.
pub(crate) fn run(engine: &Engine, id: &RunId) -> Result<Run, ApiError> {
    let RunView { record, state, inputs } = engine.view(id)?;
    let completed = record.status == RunStatus::Completed;
    let output = if completed { state.output() } else { None };
    let usage = Some(engine.usage(id)?).filter(|usage| !usage.is_nothing());
    let usage = usage.and_then(|usage| serde_json::to_value(usage).ok());
    let status = standing(record.status, !inputs.is_empty());
    // Its own requests as of the same moment; those of its parts as of now.
    let open = state.pending().map(|(no, _)| no).filter(|no| !answered(&inputs, *no));
    let mut pending: Vec<String> = open.map(|no| id.request(no).to_string()).collect();
    if !record.status.is_over() {
        let parts = waiting(&**engine.store(), id)?.into_iter().filter(|it| it.run != *id);
        pending.extend(parts.map(|request| request.id.to_string()));
    }
    let input = Value::clone(&state.input);
    let run = assemble(record, &state.started, input);
    let phase = state.progress.phase.as_ref().map(ToString::to_string);
    Ok(Run { status, output, phase, step: state.progress.step, pending, usage, ..run })
}

/// A run as lists have it: nothing that needs its whole journal.
pub(crate) fn run_in_list(store: &dyn Store, record: RunRecord) -> Result<Run, ApiError> {
    let first = store.entries(&record.id, 0, 1)?.into_iter().next().map(|entry| entry.event);
    let Some(Event::Started(started)) = first else {
        return Err(ApiError::internal(&format!("run {} has no start", record.id)));
    };
    let (mut status, mut pending) = (record.status, Vec::new());
    if !status.is_over() {
        let found = waiting(store, &record.id)?;
        pending = found.into_iter().map(|request| request.id.to_string()).collect();
        status = standing(status, !store.inputs(&record.id, 0)?.is_empty());
    }
    let input = started.input.clone();
    Ok(Run { status, pending, ..assemble(record, &started, input) })
}

/// Where a run stands. One that waits and has just been given something is about to move.
fn standing(stored: RunStatus, given: bool) -> RunStatus {
    if stored == RunStatus::Waiting && given { RunStatus::Running } else { stored }
}

fn answered(inputs: &[Input], no: RequestNo) -> bool {
    inputs.iter().any(|input| {
        matches!(input, Input::Decided { request, .. } | Input::Expired { request } if *request == no)
    })
}

/// The requests that wait in a run and its parts.
pub(crate) fn waiting(store: &dyn Store, run: &RunId) -> Result<Vec<Request>, ApiError> {
    let filter = RequestFilter {
        status: Some(RequestStatus::Pending),
        root: Some(run.clone()),
        ..RequestFilter::default()
    };
    Ok(store.requests(&filter, None, MAX_PENDING)?.items)
}

fn assemble(record: RunRecord, started: &Started, input: Value) -> Run {
    Run {
        root: (record.root != record.id).then(|| record.root.to_string()),
        id: record.id.to_string(),
        workflow: record.workflow.to_string(),
        version: record.version.to_string(),
        conversation: record.conversation.to_string(),
        status: record.status,
        input,
        output: None,
        phase: None,
        step: None,
        pending: Vec::new(),
        error: record.error,
        created_at: record.created_at.rfc3339(),
        updated_at: record.updated_at.rfc3339(),
        head: record.head,
        by: started.by.to_string(),
        continues: started.continues.as_ref().map(ToString::to_string),
        forked_from: started.forked_from.as_ref().map(|(run, at)| ForkedFrom {
            run: run.to_string(),
            at: *at,
            reason: started.reason.clone(),
        }),
        usage: None,
    }
}
