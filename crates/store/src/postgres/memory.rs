//! What the writer remembers between batches.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use signoff_core::RunId;

use crate::NodeId;

/// How many runs are remembered.
const MAX_KNOWN: usize = 8_192;

/// What a writer remembers between batches. All of it is true only as long as its batches are committed.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) node: NodeId,
    /// The key of its advisory lock.
    pub(super) lock: i64,
    known: RefCell<HashMap<RunId, KnownRun>>,
    looked_for_dead: Cell<Option<Instant>>,
}

/// What never changes of a run, or only grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownRun {
    /// The run's number in this database.
    pub(super) no: i64,
    /// Inputs up to here are deleted.
    pub(super) consumed: u64,
}

impl Memory {
    pub(super) fn new(node: NodeId, lock: i64) -> Self {
        Self { node, lock, known: RefCell::default(), looked_for_dead: Cell::new(None) }
    }

    pub(super) fn forget_all(&self) {
        self.known.borrow_mut().clear();
        self.looked_for_dead.set(None);
    }

    /// What is known of a run.
    pub(super) fn get(&self, id: &RunId) -> Option<KnownRun> {
        self.known.borrow().get(id).copied()
    }

    /// Remembers what is known of a run.
    pub(super) fn remember(&self, id: &RunId, run: KnownRun) {
        let mut known = self.known.borrow_mut();
        if known.len() >= MAX_KNOWN && !known.contains_key(id) {
            known.clear();
        }
        known.insert(id.clone(), run);
    }

    /// A run is over: nobody asks for it soon.
    pub(super) fn forget(&self, id: &RunId) {
        self.known.borrow_mut().remove(id);
    }

    /// Whether it is time to look for dead nodes again.
    pub(super) fn looks_for_dead(&self, every: Duration) -> bool {
        let last = self.looked_for_dead.get();
        if last.is_some_and(|at| at.elapsed() < every) {
            return false;
        }
        self.looked_for_dead.set(Some(Instant::now()));
        true
    }
}
