//! A run as one store gives it to another: its journal, and what is beside it that no journal says.

use serde::{Deserialize, Serialize};
use signoff_core::id::{RequestNo, Seq};
use signoff_core::journal::{Entry, ErrorInfo, Event, Input};
use signoff_core::request::{RequestBody, RequestStatus, TakenDecision};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, Decision, RunId, RunStatus, Sent};

use crate::{
    ConversationRecord, Definition, Due, Note, RequestFilter, RunFilter, Store, StoreError,
};

/// How many things are read at once.
const PAGE: usize = 1000;
/// How many entries are stored as one row.
pub(crate) const ROW: usize = 256;
/// How often a run that changes meanwhile is read anew.
const MAX_TRIES: u32 = 20;

/// A run with the runs that are part of it, and those before it in its conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// The run.
    pub run: RunId,
    /// What was kept of its conversation besides runs.
    pub conversation: Option<ConversationRecord>,
    /// The definitions they began with.
    pub definitions: Vec<Definition>,
    /// All of them: those before it first, then the run, then its parts.
    pub runs: Vec<ExportedRun>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedRun {
    /// Its id.
    pub id: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Its journal. In files it stands on lines of its own.
    #[serde(skip)]
    pub entries: Vec<Entry>,
    /// What it asked.
    pub requests: Vec<ExportedRequest>,
    /// What reached it and is not in its journal yet.
    pub inputs: Vec<(u64, Input)>,
    /// What happens by itself, and when.
    pub timers: Vec<(Due, Timestamp)>,
}

/// What a run asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedRequest {
    /// Its number in the run.
    pub number: RequestNo,
    /// How often it changed.
    pub version: u32,
    /// Where it stands.
    pub status: RequestStatus,
    /// When it was asked.
    pub created_at: Timestamp,
    /// Who looks after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Actor>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<ExportedDecision>,
    /// Why it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
    /// Until when it is put off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_until: Option<Timestamp>,
    /// The question.
    pub body: RequestBody,
    /// What was noted on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedDecision {
    /// What was decided.
    pub decision: Decision,
    /// By whom.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// The message that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<Sent>>,
}

impl From<TakenDecision> for ExportedDecision {
    fn from(taken: TakenDecision) -> Self {
        Self { decision: taken.decision, by: taken.by, at: taken.at, sent: taken.sent }
    }
}

/// A run to take in.
#[derive(Clone, Debug)]
pub struct TakeIn {
    /// What was exported.
    pub exported: Exported,
    /// Who takes it in.
    pub by: Actor,
    /// Now.
    pub at: Timestamp,
}

/// What came of taking a run in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenIn {
    /// So many runs are new here.
    New(usize),
    /// All were here already, as they are in the export or further on.
    Known,
    /// This one is here with another journal. Nothing changed.
    Differs(RunId),
}

/// Runs that go on in another store.
#[derive(Clone, Debug)]
pub struct MoveOut {
    /// As they were exported.
    pub runs: Vec<SeenRun>,
    /// Who moves them.
    pub by: Actor,
    /// Now.
    pub at: Timestamp,
}

/// A run as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRun {
    /// Which.
    pub run: RunId,
    /// The position of its last entry.
    pub head: Seq,
    /// How many inputs waited.
    pub inputs: u64,
    /// How often its requests had changed, and how much was noted on them.
    pub marks: u64,
}

impl MoveOut {
    /// What a journal says of a run that goes on elsewhere.
    pub(crate) fn last_entry(&self, head: Seq) -> Entry {
        let reason = Some("moved to another store".to_owned());
        Entry {
            seq: head + 1,
            at: self.at,
            event: Event::RunCancelled { by: self.by.clone(), reason },
        }
    }
}

impl ExportedRequest {
    pub(crate) fn is_pending(&self) -> bool {
        self.status == RequestStatus::Pending
    }
}

impl ExportedRun {
    /// The same as it must still be seen for it to be moved.
    pub fn seen(&self) -> SeenRun {
        let marks = self.requests.iter().map(|it| u64::from(it.version) + it.notes.len() as u64);
        SeenRun {
            run: self.id.clone(),
            head: self.entries.len() as Seq,
            inputs: self.inputs.len() as u64,
            marks: marks.sum(),
        }
    }

    /// Whether it is to be worked on as soon as it is taken in.
    pub(crate) fn is_ready(&self) -> bool {
        !self.status.is_over() && (self.status == RunStatus::Running || !self.inputs.is_empty())
    }
}

/// Everything about a run at the top, as it stood at one moment. `None` if there is no such run.
pub fn export(store: &dyn Store, id: &RunId) -> Result<Option<Exported>, StoreError> {
    let Some(record) = store.run(id)? else { return Ok(None) };
    let mut before = Vec::new();
    let mut next = continues(store, id)?;
    while let Some(id) = next {
        next = continues(store, &id)?;
        before.push(id);
    }
    before.reverse();
    let mut ids = before;
    ids.push(id.clone());
    ids.extend(parts(store, id)?);
    let mut runs = Vec::new();
    let mut definitions: Vec<Definition> = Vec::new();
    for id in ids {
        let version = store.run(&id)?.map(|record| record.version);
        if let Some(version) = version.filter(|it| definitions.iter().all(|kept| kept.hash != *it))
        {
            definitions.extend(store.definition(&version)?);
        }
        runs.push(one(store, &id)?);
    }
    let conversation = store.conversation(&record.tenant, &record.conversation)?;
    Ok(Some(Exported { run: id.clone(), conversation, definitions, runs }))
}

/// The run before it in its conversation.
fn continues(store: &dyn Store, run: &RunId) -> Result<Option<RunId>, StoreError> {
    match store.entries(run, 0, 1)?.into_iter().next() {
        Some(Entry { event: Event::Started(started), .. }) => Ok(started.continues),
        _ => Err(StoreError::Corrupt(format!("run {run} has no start"))),
    }
}

fn parts(store: &dyn Store, root: &RunId) -> Result<Vec<RunId>, StoreError> {
    let filter = RunFilter { root: Some(root.clone()), ..RunFilter::default() };
    let mut parts = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.runs(&filter, cursor.as_deref(), PAGE)?;
        parts.extend(page.items.into_iter().map(|run| run.id).filter(|id| id != root));
        cursor = page.next;
        if cursor.is_none() {
            // A part comes after what it is part of.
            parts.reverse();
            return Ok(parts);
        }
    }
}

/// One run, read until nothing changed while it was read.
fn one(store: &dyn Store, id: &RunId) -> Result<ExportedRun, StoreError> {
    let mut last = read(store, id)?;
    for _ in 0..MAX_TRIES {
        let again = read(store, id)?;
        if again == last {
            return Ok(again);
        }
        last = again;
    }
    Err(StoreError::Failed(format!("run {id} does not stand still")))
}

fn read(store: &dyn Store, id: &RunId) -> Result<ExportedRun, StoreError> {
    let unknown = || StoreError::UnknownRun(id.clone());
    let record = store.run(id)?.ok_or_else(unknown)?;
    let mut entries: Vec<Entry> = Vec::new();
    while (entries.len() as Seq) < record.head {
        let more = store.entries(id, entries.len() as Seq, PAGE)?;
        if more.is_empty() {
            return Err(StoreError::Corrupt(format!("the journal of {id} ends early")));
        }
        entries.extend(more);
    }
    entries.truncate(usize::try_from(record.head).unwrap_or(usize::MAX));
    Ok(ExportedRun {
        id: id.clone(),
        status: record.status,
        error: record.error,
        entries,
        requests: requests(store, id)?,
        inputs: store.inputs(id, 0)?,
        timers: store.timers(id)?,
    })
}

fn requests(store: &dyn Store, run: &RunId) -> Result<Vec<ExportedRequest>, StoreError> {
    let filter = RequestFilter { root: Some(run.clone()), ..RequestFilter::default() };
    let mut requests = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.requests(&filter, cursor.as_deref(), PAGE)?;
        for request in page.items.into_iter().filter(|request| request.run == *run) {
            let Some((_, number)) = request.id.split() else { continue };
            requests.push(ExportedRequest {
                number,
                version: request.version,
                status: request.status,
                created_at: request.created_at,
                assignee: request.assignee,
                decided: request.decision.map(ExportedDecision::from),
                withdrawn: request.withdrawn,
                deferred_until: request.deferred_until,
                notes: store.notes(&request.id)?,
                body: request.body,
            });
        }
        cursor = page.next;
        if cursor.is_none() {
            requests.sort_by_key(|request| request.number);
            return Ok(requests);
        }
    }
}
