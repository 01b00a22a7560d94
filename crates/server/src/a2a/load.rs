//! Tasks as the store has them.

use signoff_core::journal::Entry;
use signoff_core::{Request, RunId};
use signoff_runtime::Engine;
use signoff_store::{RequestFilter, RunRecord};

use super::fault::{Fault, broken};
use super::project::{Fold, Viewer};

/// How many entries are read at once.
const PAGE: usize = 500;
/// How many requests.
const REQUESTS: usize = 1000;

/// The run of a task of this workflow.
pub(super) fn run(engine: &Engine, workflow: &str, task: &str) -> Result<RunRecord, Fault> {
    let id = RunId::new(task);
    let found = engine.store().run(&id)?;
    // What is part of another run is no task.
    let task_of = |run: &RunRecord| &*run.workflow == workflow && run.root == run.id;
    found.filter(task_of).ok_or_else(|| Fault::unknown_task(task))
}

/// A task as it stands.
pub(super) fn task(engine: &Engine, run: &RunId, viewer: Viewer) -> Result<Fold, Fault> {
    let entries = entries(engine, run)?;
    let mut fold = Fold::new(run.clone(), viewer);
    let mut parts = parts_if_any(engine, run, &entries)?.into_iter().peekable();
    for entry in &entries {
        while let Some((_, request)) = parts.next_if(|part| comes_before(part, entry)) {
            fold.part(&request);
        }
        fold.take(entry).map_err(|error| broken(&error))?;
    }
    parts.for_each(|(_, request)| drop(fold.part(&request)));
    Ok(fold)
}

/// The whole journal of a run.
pub(super) fn entries(engine: &Engine, run: &RunId) -> Result<Vec<Entry>, Fault> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map_or(0, |entry| entry.seq);
        let page = engine.store().entries(run, after, PAGE)?;
        let more = page.len() == PAGE;
        entries.extend(page);
        if !more {
            return Ok(entries);
        }
    }
}

/// What its parts were asked and told stands between its own entries, by time.
pub(super) fn comes_before((at, _): &(i64, Request), entry: &Entry) -> bool {
    *at < entry.at.0 || (*at == entry.at.0 && entry.event.ends_run())
}

/// [The same](parts), if a run with these entries has any.
pub(super) fn parts_if_any(
    engine: &Engine,
    run: &RunId,
    entries: &[Entry],
) -> Result<Vec<(i64, Request)>, Fault> {
    let is_part = |entry: &Entry| matches!(entry.event, signoff_core::Event::ChildStarted { .. });
    if entries.iter().any(is_part) { parts(engine, run) } else { Ok(Vec::new()) }
}

/// How the requests of a run's parts stood, in the order in which they were asked and answered.
pub(super) fn parts(engine: &Engine, run: &RunId) -> Result<Vec<(i64, Request)>, Fault> {
    let filter = RequestFilter { root: Some(run.clone()), ..RequestFilter::default() };
    let requests = requests(engine, &filter)?;
    let mut stood = Vec::new();
    for request in requests.into_iter().filter(|request| request.run != *run) {
        if let Some(taken) = &request.decision {
            let asked = Request {
                status: signoff_core::request::RequestStatus::Pending,
                decision: None,
                ..request.clone()
            };
            stood.push((asked.created_at.0, asked));
            stood.push((taken.at.0, request));
        } else {
            stood.push((request.created_at.0, request));
        }
    }
    stood.sort_by_key(|(at, _)| *at);
    Ok(stood)
}

/// All requests that match.
pub(super) fn requests(engine: &Engine, filter: &RequestFilter) -> Result<Vec<Request>, Fault> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = engine.store().requests(filter, cursor.as_deref(), REQUESTS)?;
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}
