//! The context: all that an executor does goes through it.
//!
//! Each call is remembered in the journal under a key (or, for what is said, sent and given, by its
//! order), so that an executor started again after a pause or a crash gets the same answers and
//! nothing happens twice. Keys must be the same on every start and unique within the activation.

mod dispatch;
mod effect;
mod gate;
mod progress;
mod remote;
mod undo;
mod wait;

use std::future::poll_fn;
use std::sync::Arc;

use serde_json::Value;
use signoff_core::journal::{Delivered, ErrorInfo, Event, Payload};
use signoff_core::{ActivationId, Message, Name, RunId, Timestamp};

pub use effect::Effect;
pub(crate) use effect::MARKED;
pub(crate) use remote::{Standing, open_tasks};

use crate::cell::{Link, RunCell};

/// Which messages an executor wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What was said before it began, and what it said itself.
    Begun,
    /// Everything said so far in the run.
    Now,
    /// What the run was given, and what it said itself.
    Task,
}

/// What an executor works with. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(crate) cell: Arc<RunCell>,
    pub(crate) activation: ActivationId,
    executor: Name,
    /// What has been said, sent and given since this start, to tell what is new from what is replayed.
    order: Arc<Order>,
}

#[derive(Default)]
struct Order {
    said: std::sync::atomic::AtomicU32,
    sent: std::sync::atomic::AtomicU32,
    given: std::sync::atomic::AtomicU32,
    marked: std::sync::atomic::AtomicU32,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({} #{} {})", self.cell.id, self.activation, self.executor)
    }
}

impl Context {
    pub(crate) fn new(cell: Arc<RunCell>, activation: ActivationId, executor: Name) -> Self {
        Self { cell, activation, executor, order: Arc::default() }
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.cell.id
    }

    /// The executor this is.
    pub fn executor(&self) -> &Name {
        &self.executor
    }

    /// The id of the message that started the run, where a client gave it one.
    pub fn sent(&self) -> Option<Name> {
        self.cell.lock().state.started.sent.as_ref().map(|sent| sent.id.clone())
    }

    /// The executors from the top of the run down to this one.
    pub fn path(&self) -> Vec<Name> {
        let inner = self.cell.lock();
        let above = inner.state.started.parent.iter().flat_map(|parent| parent.path.iter());
        above.chain([&self.executor]).cloned().collect()
    }

    /// What the run was given.
    pub fn input(&self) -> Arc<Value> {
        Arc::clone(&self.cell.lock().state.input)
    }

    /// When the run began.
    pub fn started_at(&self) -> Timestamp {
        self.cell.lock().state.started_at
    }

    /// The conversation so far.
    pub fn conversation(&self, view: View) -> Vec<Arc<Message>> {
        let inner = self.cell.lock();
        let state = &inner.state;
        match (view, state.open.get(&self.activation)) {
            (View::Begun, Some(activation)) => state.conversation(activation),
            (View::Task, Some(activation)) => state.task(activation),
            _ => state.prior.iter().chain(&state.messages).cloned().collect(),
        }
    }

    /// How often `executor` has been given a message in this run.
    pub fn visits(&self, executor: &str) -> u32 {
        self.cell.lock().state.visits.get(executor).copied().unwrap_or(0)
    }

    /// Adds a message to the conversation.
    pub fn say(&self, message: Message) {
        self.say_as(message);
    }

    /// Adds a message and returns its number in the run.
    pub(crate) fn say_as(&self, message: Message) -> u32 {
        let n = next(&self.order.said);
        let now = self.cell.engine.clock.now();
        let mut inner = self.cell.lock();
        let replayed = inner
            .state
            .open
            .get(&self.activation)
            .and_then(|open| open.said.get(n as usize).copied());
        replayed.unwrap_or_else(|| {
            let number = u32::try_from(inner.state.messages.len()).unwrap_or(u32::MAX);
            let activation = Some(self.activation);
            inner.emit(now, Event::Said { activation, message: Arc::new(message) });
            number
        })
    }

    /// A message with its references replaced by what they refer to.
    pub(crate) fn spelled_out(&self, message: &Message) -> Message {
        let inner = self.cell.lock();
        inner
            .state
            .spelled_out(inner.state.seq, Some(self.activation), message)
            .unwrap_or_else(|_| message.clone())
    }

    /// Sends a message to another executor, which runs on its own from then on.
    pub fn send(&self, to: impl Into<Name>, message: impl Into<Value>) {
        let n = next(&self.order.sent);
        let now = self.cell.engine.clock.now();
        let mut inner = self.cell.lock();
        let sent = inner.state.open.get(&self.activation).map_or(0, |open| open.sent);
        if n >= sent {
            let delivered = Delivered {
                activation: inner.state.last_activation + 1,
                to: to.into(),
                payload: Payload::value(message),
                from: Some(self.activation),
                caller: None,
            };
            inner.emit(now, Event::Delivered(delivered));
        }
    }

    /// Gives an output of the run. An executor that gives none has its result as output, if no edge
    /// leads on from it.
    pub fn output(&self, value: impl Into<Value>) {
        let n = next(&self.order.given);
        let now = self.cell.engine.clock.now();
        let mut inner = self.cell.lock();
        let given = inner.state.open.get(&self.activation).map_or(0, |open| open.given);
        if n >= given {
            let value = Payload::value(value);
            inner.emit(now, Event::Output { activation: self.activation, value });
        }
    }

    /// Returns when everything so far is durable.
    pub async fn durable(&self) -> Result<(), ErrorInfo> {
        let target = self.cell.lock().state.seq;
        let _busy = self.mark(|link| &mut link.busy);
        poll_fn(|task| self.cell.poll_durable(target, task)).await
    }

    /// Counts this activation as busy, waiting or calling until the guard is dropped.
    fn mark(&self, counter: fn(&mut Link) -> &mut u32) -> Mark {
        *counter(self.cell.lock().link(self.activation)) += 1;
        Mark { cell: Arc::clone(&self.cell), activation: self.activation, counter }
    }
}

fn next(counter: &std::sync::atomic::AtomicU32) -> u32 {
    counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

struct Mark {
    cell: Arc<RunCell>,
    activation: ActivationId,
    counter: fn(&mut Link) -> &mut u32,
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some(link) = self.cell.lock().links.get_mut(&self.activation) {
            let count = (self.counter)(link);
            *count = count.saturating_sub(1);
        }
    }
}
