//! Whether a run rests: the one thing its journal does not say.

use signoff_core::{Request, RunId, RunStatus, Seq};
use signoff_runtime::Engine;
use signoff_store::{RunFilter, RunRecord, Store};

use crate::error::ApiError;
use crate::shape::waiting;

/// Why nothing moves in a run.
#[derive(Debug)]
pub(crate) enum Rest {
    /// A person paused it.
    Paused,
    /// It and its parts wait for these answers.
    Waiting(Vec<Request>),
    /// It waits for a time to come, and for nobody.
    Asleep,
}

/// Whether a run rests, with nothing after entry `seen`.
pub(crate) fn resting(engine: &Engine, run: &RunId, seen: Seq) -> Result<Option<Rest>, ApiError> {
    let store = &**engine.store();
    let Some(record) = store.run(run)? else { return Ok(None) };
    if record.status.is_over() || record.head != seen || moves(store, &record)? {
        return Ok(None);
    }
    if record.status == RunStatus::Paused {
        return Ok(Some(Rest::Paused));
    }
    let pending = waiting(store, run)?;
    let tree = RunFilter { root: Some(run.clone()), ..RunFilter::default() };
    for part in store.runs(&tree, None, 1000)?.items {
        if moves(store, &part)? {
            return Ok(None);
        }
    }
    Ok(Some(if pending.is_empty() { Rest::Asleep } else { Rest::Waiting(pending) }))
}

/// Whether a run is about to do something.
fn moves(store: &dyn Store, record: &RunRecord) -> Result<bool, ApiError> {
    Ok(match record.status {
        RunStatus::Running => true,
        RunStatus::Waiting | RunStatus::Paused => !store.inputs(&record.id, 0)?.is_empty(),
        _ => false,
    })
}
