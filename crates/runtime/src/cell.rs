//! One run in memory, while it is driven.
//!
//! The cell is where the journal grows: [`RunCell::emit`] numbers an event, folds it into the state
//! and queues it for the store. Everything else about a run follows from its state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use futures_util::task::AtomicWaker;
use signoff_core::journal::{Entry, ErrorInfo, Event, Input};
use signoff_core::{ActivationId, RunId, RunState, Seq, Timestamp, plan};
use signoff_store::Lease;

use crate::context::open_tasks;
use crate::definition::Definition;
use crate::engine::EngineInner;

/// A run that somebody drives.
pub(crate) struct RunCell {
    pub(crate) id: RunId,
    /// The right to write it.
    pub(crate) lease: Lease,
    pub(crate) root: RunId,
    pub(crate) engine: Arc<EngineInner>,
    pub(crate) definition: Arc<Definition>,
    inner: Mutex<Inner>,
    /// Wakes the driver.
    pub(crate) driver: AtomicWaker,
    inputs_waiting: AtomicBool,
}

pub(crate) struct Inner {
    pub(crate) state: RunState,
    /// Entries that the store has not been given yet.
    pub(crate) pending: Vec<Entry>,
    /// The last entry that the store has been given.
    pub(crate) submitted: Seq,
    /// The last entry that the store has acknowledged.
    pub(crate) durable: Seq,
    /// Inputs up to this number are in the journal.
    pub(crate) consumed: u64,
    /// Why nothing may be done any more in this process: somebody else drives the run, or the store failed.
    pub(crate) lost: Option<ErrorInfo>,
    /// Somebody waits for durability.
    pub(crate) want_flush: bool,
    /// Among the pending entries is a question or a sleep, which nobody answers or wakes before the store
    /// knows of it; or something that came from outside.
    pub(crate) waits_unseen: bool,
    /// Activations to start, or to start again.
    pub(crate) ready: VecDeque<ActivationId>,
    /// Activations under way, with what they wait for.
    pub(crate) links: BTreeMap<ActivationId, Link>,
    barriers: Vec<Waker>,
    /// Tasks elsewhere that nobody waits for any more, as agent and task.
    pub(crate) orphans: BTreeSet<(String, String)>,
}

/// What an activation under way waits for.
#[derive(Default)]
pub(crate) struct Link {
    /// Effects and commits under way.
    pub(crate) busy: u32,
    /// Answers, times and child runs waited for.
    pub(crate) waiting: u32,
    /// Other executors called and waited for.
    pub(crate) calling: u32,
    /// Something it waits for has come, and it has not looked yet.
    pub(crate) poked: bool,
    wakers: Vec<Waker>,
}

impl Link {
    /// Whether there is nothing left for it to do but wait for what comes from outside the run.
    pub(crate) fn is_suspended(&self) -> bool {
        self.busy == 0 && self.calling == 0 && self.waiting > 0 && !self.poked
    }

    /// Whether the run must stay in memory for it.
    pub(crate) fn is_active(&self) -> bool {
        self.busy > 0 || self.poked || (self.waiting == 0 && self.calling == 0)
    }

    /// Asks to be woken when the state has changed.
    pub(crate) fn wake_me(&mut self, task: &TaskContext<'_>) {
        if !self.wakers.iter().any(|waker| waker.will_wake(task.waker())) {
            self.wakers.push(task.waker().clone());
        }
    }
}

impl Inner {
    /// Appends an event. Activations it opens are queued, those it concerns are woken.
    pub(crate) fn emit(&mut self, at: Timestamp, event: Event) {
        if self.lost.is_some() {
            return;
        }
        if matches!(event, Event::RunCancelled { .. } | Event::RunFailed { .. }) {
            self.orphans = open_tasks(&self.state);
        }
        let entry = Entry { seq: self.state.seq + 1, at, event };
        if let Err(error) = self.state.apply(&entry) {
            // Our own event does not fit our own state: stop before anything is written.
            self.lost = Some(ErrorInfo::new("internal", error.to_string()));
            return;
        }
        match &entry.event {
            Event::Delivered(delivered) => self.ready.push_back(delivered.activation),
            Event::Completed(completed) => {
                self.ready.extend(completed.next.iter().map(|next| next.activation));
            }
            Event::Decided { request, .. } | Event::Expired { request } => {
                if let Some(request) = self.state.requests.get(request) {
                    let activation = request.activation;
                    self.poke(activation);
                }
            }
            Event::TimerFired { activation, .. } | Event::ChildEnded { activation, .. } => {
                self.poke(*activation);
            }
            Event::Asked { .. } | Event::TimerSet { .. } => self.waits_unseen = true,
            Event::Resumed { .. } => {
                let open: Vec<ActivationId> = self.state.open.keys().copied().collect();
                for activation in open {
                    self.poke(activation);
                }
            }
            _ => {}
        }
        self.pending.push(entry);
    }

    /// Lets an activation look again: wakes it, or starts it again if it is not in memory.
    pub(crate) fn poke(&mut self, activation: ActivationId) {
        match self.links.get_mut(&activation) {
            Some(link) => {
                link.poked = true;
                for waker in link.wakers.drain(..) {
                    waker.wake();
                }
            }
            None => {
                if !self.ready.contains(&activation) {
                    self.ready.push_back(activation);
                }
            }
        }
    }

    pub(crate) fn link(&mut self, activation: ActivationId) -> &mut Link {
        self.links.entry(activation).or_default()
    }

    /// Records that entries up to `seq` are durable.
    pub(crate) fn acknowledged(&mut self, seq: Seq) {
        self.durable = self.durable.max(seq);
        for waker in self.barriers.drain(..) {
            waker.wake();
        }
    }

    /// Gives up: nothing more is written from here.
    pub(crate) fn lose(&mut self, error: ErrorInfo) {
        self.lost.get_or_insert(error);
        for waker in self.barriers.drain(..) {
            waker.wake();
        }
    }
}

impl RunCell {
    pub(crate) fn new(
        lease: Lease,
        engine: Arc<EngineInner>,
        definition: Arc<Definition>,
        state: RunState,
    ) -> Self {
        let id = lease.run.clone();
        let root = state.started.parent.as_ref().map_or_else(|| id.clone(), |p| p.root.clone());
        let ready = state.open.keys().copied().collect();
        let seq = state.seq;
        Self {
            id,
            lease,
            root,
            engine,
            definition,
            inner: Mutex::new(Inner {
                state,
                pending: Vec::new(),
                submitted: seq,
                durable: seq,
                consumed: 0,
                lost: None,
                want_flush: false,
                waits_unseen: false,
                ready,
                links: BTreeMap::new(),
                barriers: Vec::new(),
                orphans: BTreeSet::new(),
            }),
            driver: AtomicWaker::new(),
            inputs_waiting: AtomicBool::new(false),
        }
    }

    /// The run's insides. A panic while they were locked has already failed its activation; the
    /// state itself changes only by whole entries.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn emit(&self, event: Event) {
        let now = self.engine.clock.now();
        self.lock().emit(now, event);
    }

    /// Puts inputs into the journal.
    pub(crate) fn take_inputs(&self, inputs: &[(u64, Input)]) {
        let now = self.engine.clock.now();
        let mut inner = self.lock();
        for (number, input) in inputs {
            if *number <= inner.consumed {
                continue;
            }
            for event in plan::input(&inner.state, input) {
                inner.emit(now, event);
                // Who gave it wants to see that it came in, however long what follows may take.
                inner.waits_unseen = true;
            }
            inner.consumed = *number;
        }
    }

    /// Tells the driver that inputs wait in the store.
    pub(crate) fn nudge(&self) {
        self.inputs_waiting.store(true, Ordering::Release);
        self.driver.wake();
    }

    pub(crate) fn inputs_waiting(&self) -> bool {
        self.inputs_waiting.swap(false, Ordering::AcqRel)
    }

    /// Ready when all that has been emitted so far is durable.
    pub(crate) fn poll_durable(
        &self,
        target: Seq,
        task: &TaskContext<'_>,
    ) -> Poll<Result<(), ErrorInfo>> {
        let mut inner = self.lock();
        if let Some(error) = &inner.lost {
            return Poll::Ready(Err(error.clone()));
        }
        if inner.durable >= target {
            return Poll::Ready(Ok(()));
        }
        inner.want_flush = true;
        inner.barriers.push(task.waker().clone());
        drop(inner);
        self.driver.wake();
        Poll::Pending
    }
}
