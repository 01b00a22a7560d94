//! What clients see. Every dialect that shows runs and requests as they are uses these.

mod graph;
mod input;
mod request;
mod run;
mod said;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use signoff_core::RunId;
use signoff_core::journal::{self, Entry as JournalEntry, ErrorInfo, Event};
use signoff_store::AuditEntry;

pub(crate) use graph::{Workflow, WorkflowSummary};
pub(crate) use input::input;
pub(crate) use request::{Decide, Request, note, request, request_with_notes};
pub(crate) use run::{Run, run, run_in_list, waiting};
pub(crate) use said::{given, is_data, is_told_whole, rest_after, spoken};

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub(crate) struct List<T> {
    /// The items.
    pub(crate) data: Vec<T>,
    /// Give it as `cursor` to get the next page; not there on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// How many there are.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Count {
    /// The number.
    pub(crate) count: u64,
}

/// How the server is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// `ok` or `ready`.
    pub(crate) status: &'static str,
    /// The version of the program.
    pub(crate) version: &'static str,
}

/// Every error.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Error {
    /// What is wrong.
    error: ErrorFields,
}

/// What is wrong.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorFields {
    /// A stable, short code.
    code: String,
    /// What went wrong.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// What a program may want to know, depending on the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// An entry of a journal: these fields, and those of its type.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// Its position, from 1 without gaps.
    seq: u64,
    /// When it was made.
    at: String,
    /// What happened: `started`, `said`, `asked`, `decided`, `run_completed` …
    #[serde(rename = "type")]
    kind: String,
    /// The run.
    run: String,
    /// The id of the request, where the entry is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// The entry's own fields.
    #[serde(flatten)]
    fields: serde_json::Map<String, Value>,
}

/// An entry as clients see it.
pub(crate) fn entry(run: &RunId, entry: &JournalEntry) -> Value {
    let mut json = journal::to_json(entry);
    json["run"] = run.as_str().into();
    if let Event::Asked { request, .. }
    | Event::Decided { request, .. }
    | Event::Expired { request }
    | Event::Withdrawn { request, .. } = &entry.event
    {
        json["request_id"] = run.request(*request).as_str().into();
    }
    json
}

/// A line of the audit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Audit {
    /// Its number, from 1 without gaps.
    no: u64,
    /// When.
    at: String,
    /// Who.
    by: String,
    /// On which request.
    request: String,
    /// The decision, or `{"decision":"expired"}`.
    decision: Value,
    /// SHA-256 over the hash before it and this line.
    hash: String,
}

impl From<AuditEntry> for Audit {
    fn from(line: AuditEntry) -> Self {
        Self {
            no: line.no,
            at: line.at.rfc3339(),
            by: line.by.to_string(),
            request: line.request.to_string(),
            decision: serde_json::from_str(&line.decision).unwrap_or_else(|_| line.decision.into()),
            hash: line.hash,
        }
    }
}

/// Why a run failed.
pub(crate) type RunError = ErrorInfo;
