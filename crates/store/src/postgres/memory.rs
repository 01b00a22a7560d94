//! What the writer remembers between batches.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use signoff_core::id::Seq;
use signoff_core::{RunId, RunStatus};

use crate::{Lease, NodeId};

/// How many runs are remembered.
const MAX_KNOWN: usize = 8_192;

/// What a writer remembers between batches. All of it is true only as long as its batches are committed.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) node: NodeId,
    /// The key of its advisory lock.
    pub(super) lock: i64,
    /// The number that others change when they take a run from this node. None, if it must be read first.
    fence: Cell<Option<i64>>,
    known: RefCell<HashMap<RunId, KnownRun>>,
    looked_for_dead: Cell<Option<Instant>>,
}

/// What never changes of a run, or only grows; and how far it is, while it is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownRun {
    /// The run's number in this database.
    pub(super) no: i64,
    /// Inputs up to here are deleted.
    pub(super) consumed: u64,
    /// How it is held, if it is by this node.
    pub(super) held: Option<Held>,
}

/// A lease that was good, and how far its run was, when this node's fence had the number that is remembered. As long as it
/// still has, nobody else has taken the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) epoch: u64,
    pub(super) head: Seq,
    pub(super) status: RunStatus,
}

impl KnownRun {
    /// One of which nothing but its number is known.
    pub(super) fn numbered(no: i64) -> Self {
        Self { no, consumed: 0, held: None }
    }
}

impl Memory {
    pub(super) fn new(node: NodeId, lock: i64) -> Self {
        Self {
            node,
            lock,
            fence: Cell::new(None),
            known: RefCell::default(),
            looked_for_dead: Cell::new(None),
        }
    }

    pub(super) fn forget_all(&self) {
        self.known.borrow_mut().clear();
        self.fence.set(None);
        self.looked_for_dead.set(None);
    }

    /// The number of this node's fence.
    pub(super) fn fence(&self) -> Option<i64> {
        self.fence.get()
    }

    /// Remembers the number of the fence. What is held was found so before it had that number, so it counts no more.
    pub(super) fn fenced_by(&self, fence: Option<i64>) {
        self.known.borrow_mut().values_mut().for_each(|known| known.held = None);
        self.fence.set(fence);
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

    /// Remembers how far a run is that this node holds, if it does under this lease.
    pub(super) fn hold(&self, lease: &Lease, head: Seq, status: RunStatus) {
        if lease.node == self.node
            && self.fence.get().is_some()
            && let Some(known) = self.known.borrow_mut().get_mut(&lease.run)
        {
            known.held = Some(Held { epoch: lease.epoch, head, status });
        }
    }

    /// A lease on a run was taken or given back: what was held before counts no more.
    pub(super) fn let_go(&self, id: &RunId) {
        if let Some(known) = self.known.borrow_mut().get_mut(id) {
            known.held = None;
        }
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
