//! Drives one run: starts what can move, journals what comes of it, parks it when nothing can.

use std::collections::{BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, Stream};
use signoff_core::journal::{ErrorInfo, Outcome};
use signoff_core::state::RunEnd;
use signoff_core::{ActivationId, RunId, RunState, RunStatus, Seq, plan};
use signoff_store::{Append, BoxFuture, End, Lease, Rest, Scope, Snapshot, StoreError};

use crate::activation::{ActivationFuture, Finished};
use crate::cell::RunCell;
use crate::engine::{AtHand, EngineInner};
use crate::live::LiveEvent;

/// Entries that may wait for a commit before one is made anyway.
const MAX_PENDING: usize = 1024;
/// A run shorter than this loads fast enough without a snapshot.
const FIRST_SNAPSHOT: Seq = 512;
/// How long an agent elsewhere may take to hear that its task is not wanted any more.
const LAST_WORD: Duration = Duration::from_secs(5);

/// How driving a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveEnd {
    /// The run is over, or waits.
    Rests(RunStatus),
    /// Somebody else drives it now, or the store failed. What was not durable never happened.
    Lost(ErrorInfo),
    /// This process is about to end, and has given the run back. Somebody else goes on with it.
    HandedOver,
    /// This process lacks something the run needs, or the run cannot be read. Nothing was changed; the
    /// lease is left to run out, so that the same process does not try again at once.
    Unable(ErrorInfo),
}

pub(crate) struct Driver {
    cell: Arc<RunCell>,
    running: FuturesUnordered<ActivationFuture>,
    commits: VecDeque<(Seq, BoxFuture<'static, Result<(), StoreError>>)>,
    snapshot_at: Seq,
    renewal: Option<Pin<Box<tokio::time::Sleep>>>,
}

enum Step {
    Activation(ActivationId, Finished),
    Committed(Seq, Result<(), StoreError>),
    Look,
    Inputs,
    Renew,
}

impl EngineInner {
    /// Drives a run under `lease` until it rests.
    pub(crate) async fn drive(self: &Arc<Self>, lease: Lease) -> DriveEnd {
        match self.read(&lease.run) {
            Ok(at_hand) => self.drive_at_hand(lease, at_hand).await,
            Err(error) => DriveEnd::Unable(ErrorInfo::new("store", error.to_string())),
        }
    }

    /// Drives a run whose state is known.
    pub(crate) async fn drive_at_hand(
        self: &Arc<Self>,
        mut lease: Lease,
        at_hand: AtHand,
    ) -> DriveEnd {
        let AtHand { mut state, mut snapshot_at, inputs } = at_hand;
        let mut inputs = match inputs.map_or_else(|| self.store.inputs(&lease.run, 0), Ok) {
            Ok(inputs) => inputs,
            Err(error) => return DriveEnd::Unable(ErrorInfo::new("store", error.to_string())),
        };
        loop {
            let definition = match self.definition(&state.started.version) {
                Ok(definition) => definition,
                Err(error) => return DriveEnd::Unable(error),
            };
            let run = lease.run.clone();
            let cell = Arc::new(RunCell::new(lease, Arc::clone(self), definition, state));
            cell.take_inputs(&inputs);
            self.active(&cell);
            let mut driver = Driver {
                cell: Arc::clone(&cell),
                running: FuturesUnordered::new(),
                commits: VecDeque::new(),
                snapshot_at,
                renewal: None,
            };
            let end = driver.run().await;
            drop(driver);
            self.inactive(&cell);
            let head = matches!(end, DriveEnd::Rests(_)).then(|| cell.lock().durable);
            self.live.send(&cell.id, &cell.root, LiveEvent::Quiet { head });
            let consumed = cell.lock().consumed;
            if let DriveEnd::Rests(status) = end {
                if status.is_over() {
                    let parent = cell.lock().state.started.parent.clone();
                    if let Some(parent) = parent {
                        self.nudge(&parent.run).await;
                    }
                    self.drive_parts_of(&run).await;
                    let orphans = std::mem::take(&mut cell.lock().orphans);
                    self.let_go(orphans).await;
                    return end;
                }
                // An input that came while the run was being parked found it leased: it is ours to see.
                let late = self.store.inputs(&run, consumed).is_ok_and(|late| !late.is_empty());
                if late && let Some(again) = self.claim_run(&run).await {
                    if let Ok(fresh) = self.read(&run) {
                        (lease, state, snapshot_at) = (again, fresh.state, fresh.snapshot_at);
                        inputs = fresh.inputs.unwrap_or_default();
                        continue;
                    }
                    let _ = self.roster.give_back(again).await;
                }
            }
            return end;
        }
    }

    /// Tells agents elsewhere that nobody waits for their tasks any more. As far as they listen: the
    /// run has ended either way.
    async fn let_go(&self, orphans: BTreeSet<(String, String)>) {
        let told = orphans.into_iter().filter_map(|(remote, task)| {
            let remote = self.parts.remote(&remote).ok()?;
            Some(async move {
                let _ = tokio::time::timeout(LAST_WORD, remote.cancel(task)).await;
            })
        });
        join_all(told).await;
    }

    /// Drives what is part of a run that has just ended: it has been told to end too.
    async fn drive_parts_of(self: &Arc<Self>, run: &RunId) {
        let scope = Scope::Tree(run.clone());
        let parts = self.roster.find(scope, 64).await;
        for lease in parts.unwrap_or_default() {
            self.spawn(lease);
        }
    }
}

impl Driver {
    async fn run(&mut self) -> DriveEnd {
        loop {
            self.start_ready();
            if let Some(lost) = self.cell.lock().lost.clone() {
                return DriveEnd::Lost(lost);
            }
            if self.cell.lock().state.end.is_some() {
                self.running.clear();
                return self.rest().await;
            }
            if self.nothing_moves() {
                return self.rest().await;
            }
            if self.can_hand_over() {
                return self.hand_over().await;
            }
            self.flush_if_wanted();
            match self.next().await {
                Step::Activation(id, finished) => self.finished(id, finished),
                Step::Committed(seq, result) => self.committed(seq, result),
                Step::Look => {}
                Step::Inputs => self.take_inputs(),
                Step::Renew => self.renew().await,
            }
        }
    }

    /// Starts activations until none is ready. Most finish at the first poll.
    fn start_ready(&mut self) {
        let mut task = TaskContext::from_waker(std::task::Waker::noop());
        loop {
            let id = {
                let mut inner = self.cell.lock();
                if inner.state.paused || inner.state.end.is_some() || inner.lost.is_some() {
                    return;
                }
                let Some(id) = inner.ready.pop_front() else { return };
                if inner.links.contains_key(&id) {
                    continue;
                }
                id
            };
            let Some(mut work) = ActivationFuture::start(&self.cell, id) else { continue };
            match Pin::new(&mut work).poll(&mut task) {
                Poll::Ready((id, finished)) => self.finished(id, finished),
                // Polled again from the set, this time with a waker that counts.
                Poll::Pending => self.running.push(work),
            }
            if self.cell.lock().pending.len() >= MAX_PENDING {
                self.flush();
            }
        }
    }

    fn finished(&mut self, id: ActivationId, finished: Finished) {
        let now = self.cell.engine.clock.now();
        let rules = self.cell.definition.rules();
        let mut inner = self.cell.lock();
        inner.links.remove(&id);
        let caller = inner.state.open.get(&id).and_then(|open| open.caller.clone());
        let events = match finished {
            Finished::Done(output) => plan::completed(&inner.state, rules, id, output),
            Finished::Failed(error) => plan::failed(&inner.state, id, error),
            Finished::Suspended => return,
        };
        for event in events {
            inner.emit(now, event);
        }
        if let Some(caller) = caller {
            inner.poke(caller.activation);
        }
        // Also after a call: whoever made it may have gone on without it, and this was the last.
        if let Some(end) = plan::settle(&inner.state, rules) {
            inner.emit(now, end);
        }
    }

    /// Whether nothing in the run can move without something from outside.
    fn nothing_moves(&self) -> bool {
        let inner = self.cell.lock();
        let startable = !inner.ready.is_empty() && !inner.state.paused;
        !startable
            && self
                .running
                .iter()
                .all(|work| inner.links.get(&work.id).is_some_and(|link| !link.is_active()))
    }

    /// Whether the run is to be given to somebody else, and nothing is under way that would have to be done again.
    fn can_hand_over(&self) -> bool {
        if !self.cell.engine.is_draining() {
            return false;
        }
        let inner = self.cell.lock();
        self.running.iter().all(|work| inner.links.get(&work.id).is_none_or(|link| link.busy == 0))
    }

    /// Commits what there is and gives the lease back.
    async fn hand_over(&mut self) -> DriveEnd {
        self.running.clear();
        if !self.cell.lock().pending.is_empty() {
            self.flush();
        }
        self.finish_commits().await;
        if let Some(lost) = self.cell.lock().lost.clone() {
            return DriveEnd::Lost(lost);
        }
        // If it fails, the lease ends with this process.
        let _ = self.cell.engine.roster.give_back(self.cell.lease.clone()).await;
        DriveEnd::HandedOver
    }

    /// Whether what the activations just did asks for something the loop does.
    fn something_new(&self) -> bool {
        let inner = self.cell.lock();
        inner.want_flush
            || inner.lost.is_some()
            || inner.state.end.is_some()
            || (!inner.ready.is_empty() && !inner.state.paused)
    }

    async fn next(&mut self) -> Step {
        let cell = Arc::clone(&self.cell);
        poll_fn(|task| {
            cell.driver.register(task.waker());
            if let Poll::Ready(Some((id, finished))) = Pin::new(&mut self.running).poll_next(task) {
                return Poll::Ready(Step::Activation(id, finished));
            }
            if self.something_new() || self.can_hand_over() {
                return Poll::Ready(Step::Look);
            }
            if let Some((seq, commit)) = self.commits.front_mut()
                && let Poll::Ready(result) = commit.as_mut().poll(task)
            {
                let seq = *seq;
                self.commits.pop_front();
                return Poll::Ready(Step::Committed(seq, result));
            }
            if cell.inputs_waiting() {
                return Poll::Ready(Step::Inputs);
            }
            let engine = &cell.engine;
            let renewal = self.renewal.get_or_insert_with(|| {
                Box::pin(tokio::time::sleep(engine.roster.renew_every().to_std()))
            });
            if renewal.as_mut().poll(task).is_ready() {
                self.renewal = None;
                return Poll::Ready(Step::Renew);
            }
            // What the activations just did may have left the run with nothing to do but wait.
            if self.nothing_moves() {
                return Poll::Ready(Step::Look);
            }
            // A question must not wait for a slow neighbour before anybody sees it, nor an answer.
            let mut inner = cell.lock();
            if inner.waits_unseen {
                inner.want_flush = true;
                return Poll::Ready(Step::Look);
            }
            Poll::Pending
        })
        .await
    }

    fn take_inputs(&mut self) {
        let consumed = self.cell.lock().consumed;
        match self.cell.engine.store.inputs(&self.cell.id, consumed) {
            Ok(inputs) => self.cell.take_inputs(&inputs),
            Err(error) => self.lose(&error),
        }
    }

    async fn renew(&mut self) {
        let engine = Arc::clone(&self.cell.engine);
        match engine.roster.keep(vec![self.cell.lease.clone()]).await {
            Ok(kept) if kept.is_empty() => {
                self.lose(&StoreError::Fenced { run: self.cell.id.clone() });
            }
            Ok(_) => self.take_inputs(),
            Err(error) => self.lose(&error),
        }
    }

    fn committed(&mut self, seq: Seq, result: Result<(), StoreError>) {
        match result {
            Ok(()) => self.cell.lock().acknowledged(seq),
            Err(error) => self.lose(&error),
        }
    }

    fn lose(&mut self, error: &StoreError) {
        let code = if matches!(error, StoreError::Fenced { .. }) { "fenced" } else { "store" };
        self.cell.lock().lose(ErrorInfo::new(code, error.to_string()));
    }

    fn flush_if_wanted(&mut self) {
        let wanted = {
            let mut inner = self.cell.lock();
            std::mem::take(&mut inner.want_flush) && !inner.pending.is_empty()
        };
        if wanted {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let status = self.cell.lock().state.status();
        self.submit(status, Rest::Keep);
    }

    /// Hands all pending entries to the store.
    fn submit(&mut self, status: RunStatus, rest: Rest) {
        let snapshot = self.snapshot(&rest);
        let cell = &self.cell;
        let mut inner = cell.lock();
        let entries = std::mem::take(&mut inner.pending);
        inner.waits_unseen = false;
        let last = inner.state.seq;
        let watched = cell.engine.live.watched();
        let shown = (watched && !entries.is_empty()).then(|| entries.clone().into());
        let append = Append {
            lease: cell.lease.clone(),
            expected: inner.submitted,
            entries,
            consumed: inner.consumed,
            status,
            rest,
            snapshot,
        };
        inner.submitted = last;
        drop(inner);
        let commit = cell.engine.store.append(append);
        let commit: BoxFuture<'static, _> = match shown {
            None => commit,
            Some(shown) => {
                let cell = Arc::clone(cell);
                Box::pin(async move {
                    commit.await?;
                    cell.engine.live.send(&cell.id, &cell.root, LiveEvent::Committed(shown));
                    Ok(())
                })
            }
        };
        self.commits.push_back((last, commit));
    }

    /// Waits for the store.
    async fn finish_commits(&mut self) {
        while let Some((seq, commit)) = self.commits.pop_front() {
            let result = commit.await;
            self.committed(seq, result);
        }
    }

    /// A snapshot, each time the journal has doubled: all of them together cost no more than the
    /// journal itself.
    fn snapshot(&mut self, rest: &Rest) -> Option<Snapshot> {
        let inner = self.cell.lock();
        let seq = inner.state.seq;
        if matches!(rest, Rest::End(_)) || seq < FIRST_SNAPSHOT.max(self.snapshot_at * 2) {
            return None;
        }
        let body = serde_json::to_vec(&inner.state).ok()?;
        self.snapshot_at = seq;
        Some(Snapshot { seq, body })
    }

    /// Commits everything and lets go of the run.
    async fn rest(&mut self) -> DriveEnd {
        let (status, rest) = {
            let inner = self.cell.lock();
            match (&inner.state.end, inner.state.status()) {
                (Some(end), status) => (status, Rest::End(ending(&inner.state, end))),
                (None, RunStatus::Paused) => (RunStatus::Paused, Rest::Park),
                (None, _) => (RunStatus::Waiting, Rest::Park),
            }
        };
        self.running.clear();
        self.submit(status, rest);
        self.finish_commits().await;
        match self.cell.lock().lost.clone() {
            Some(lost) => DriveEnd::Lost(lost),
            None => DriveEnd::Rests(status),
        }
    }
}

fn ending(state: &RunState, end: &RunEnd) -> End {
    match end {
        RunEnd::Completed => {
            let output = state.output().unwrap_or_default();
            End { outcome: Outcome::Ok(Arc::new(output)), error: None, stopped_by: None }
        }
        RunEnd::Failed(error) => End {
            outcome: Outcome::Err(error.clone()),
            error: Some(error.clone()),
            stopped_by: None,
        },
        RunEnd::Cancelled { by, reason } => {
            let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let error = ErrorInfo::new("cancelled", format!("stopped by {by}{why}"));
            End {
                outcome: Outcome::Err(error.clone()),
                error: Some(error),
                stopped_by: Some(by.clone()),
            }
        }
    }
}
