//! A stretch of a journal as a response: its items, its events, its end.
//!
//! A decision always begins a stretch, and ends the one before. What else comes from outside (a deadline,
//! a timer, the end of a part) does so while people are asked, because the run may have rested there.
//! So a stretch that was told as ended never grows, except by what ends or pauses the run; and the
//! events of a stretch, with their numbers, follow from its entries alone. Text comes whole, as the
//! entry that has it is committed: what a model is saying before that has no number.

use serde_json::{Value, json};
use signoff_core::journal::{Entry, Event, Usage};
use signoff_core::state::{Child, RunEnd};
use signoff_core::{
    ConversationId, JournalError, Name, Request, RequestId, RunState, Seq, Timestamp,
};
use signoff_runtime::HANDED_OVER;
use signoff_store::RunRecord;

use super::events::{Ended, Events};
use super::id::{Manner, Notice, ResponseId};
use super::item::{self, Before};
use super::object::{Ending, Parts, used};
use super::question::Question;
use crate::shape::spoken;

/// The run of a response.
#[derive(Clone, Debug)]
pub(super) struct Of {
    pub(super) workflow: Name,
    pub(super) conversation: ConversationId,
    /// How long its journal is, at least.
    pub(super) head: Seq,
    pub(super) updated_at: Timestamp,
}

impl From<RunRecord> for Of {
    fn from(run: RunRecord) -> Self {
        Self {
            workflow: run.workflow,
            conversation: run.conversation,
            head: run.head,
            updated_at: run.updated_at,
        }
    }
}

/// A response as far as its journal was read.
#[derive(Debug)]
pub(super) struct Stretch {
    id: ResponseId,
    of: Of,
    state: Option<RunState>,
    begun: bool,
    created_at: Timestamp,
    /// How many messages there were before it.
    messages: usize,
    /// What was used before it.
    usage: Usage,
    pub(super) events: Events,
    ending: Option<Ending>,
    /// The requests that waited when it ended.
    pending: Vec<RequestId>,
    /// Whether the run went on beyond it.
    pub(super) passed: bool,
}

/// Who was at work before an entry.
type Open = Vec<(u32, Name)>;

impl Stretch {
    pub(super) fn new(id: ResponseId, of: Of) -> Self {
        let created_at = of.updated_at;
        let mut stretch = Self {
            events: Events::new(id.manner, id.run.clone(), created_at),
            of,
            state: None,
            begun: false,
            created_at,
            messages: 0,
            usage: Usage::default(),
            ending: None,
            pending: Vec::new(),
            passed: false,
            id,
        };
        // It begins with what a part of the run will bring.
        if stretch.id.manner.notice().is_none() && stretch.id.first > stretch.of.head {
            stretch.begin();
        }
        stretch
    }

    pub(super) fn id(&self) -> &ResponseId {
        &self.id
    }

    pub(super) fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The requests that waited when it ended.
    pub(super) fn pending(&self) -> &[RequestId] {
        &self.pending
    }

    /// The position it was read to.
    pub(super) fn seen(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.seq)
    }

    /// Whether the run waits for people if it is parked after what was read, and for nothing in its parts.
    pub(super) fn waits(&self) -> bool {
        let Some(state) = &self.state else { return false };
        let parts = state.open.values().flat_map(|open| open.children.values());
        !state.paused
            && state.pending().next().is_some()
            && parts.into_iter().all(|part| !matches!(part, Child::Open))
    }

    /// Takes the next entry of the run's journal, which may be before it, in it, or end it.
    pub(super) fn take(&mut self, entry: &Entry) -> Result<(), JournalError> {
        if self.passed {
            return Ok(());
        }
        if self.is_beyond(entry) {
            self.passed = true;
            self.end(Ending::Waiting, &[]);
            return Ok(());
        }
        if entry.seq == self.id.first && self.id.manner.notice().is_none() {
            self.start(entry.at);
        }
        let outputs = self.state.as_ref().map_or(0, |state| state.outputs.len());
        let open = self.open();
        match &mut self.state {
            Some(state) => state.apply(entry)?,
            None => self.state = Some(RunState::begin(entry)?),
        }
        if entry.seq < self.id.first {
            if self.id.manner.notice().is_some() && entry.seq == self.id.last {
                self.start(entry.at);
                self.show();
            }
            return Ok(());
        }
        self.events.at = entry.at;
        let Some(state) = self.state.take() else { return Ok(()) };
        self.tell(&state, entry, outputs, &open);
        let ending = match &state.end {
            Some(RunEnd::Completed) => Some(Ending::Completed),
            Some(RunEnd::Failed(error)) => Some(Ending::Failed(error.clone())),
            Some(RunEnd::Cancelled { .. }) => Some(Ending::Cancelled),
            None => None,
        };
        self.state = Some(state);
        if let Some(ending) = ending {
            self.end(ending, &[]);
        }
        Ok(())
    }

    fn open(&self) -> Open {
        let open = self.state.iter().flat_map(|state| &state.open);
        open.map(|(id, activation)| (*id, activation.executor.clone())).collect()
    }

    /// Whether an entry begins another stretch.
    fn is_beyond(&self, entry: &Entry) -> bool {
        let outside = match &entry.event {
            Event::Decided { .. } => true,
            Event::Expired { .. } | Event::TimerFired { .. } | Event::ChildEnded { .. } => {
                self.state.as_ref().is_some_and(|state| state.pending().next().is_some())
            }
            _ => false,
        };
        outside && entry.seq > self.id.last
    }

    /// Tells what an entry brought. `state` is the run right after it.
    fn tell(&mut self, state: &RunState, entry: &Entry, outputs: usize, open: &Open) {
        let run = self.id.run.clone();
        let before = Before { messages: self.messages, outputs };
        if let Event::Asked { request, .. } = &entry.event {
            self.ask(state, *request);
        } else if !self.id.manner.is_page() {
            if let Some(item) = item::told(&run, state, entry, before)
                && !self.events.has(&item)
            {
                self.events.item(item);
            }
        } else if let Event::Said { activation: Some(id), .. } = &entry.event {
            let said = state.messages.last().and_then(|message| spoken(message));
            if let (Some(text), Some(open)) = (said, state.open.get(id)) {
                self.events.words(*id, &open.executor, &text);
            }
        } else if let Some(item) = item::terminal(&run, state, entry, before, open) {
            self.events.item(item);
        }
        if let Some(responded) = item::approval(&run, state, entry)
            && !self.id.manner.is_plain()
        {
            self.events.emit("response.function_approval.responded", responded);
        }
        self.executors(state, entry, open);
        if entry.seq == self.id.last {
            // What was asked before and still waits.
            let waiting: Vec<u32> = state.pending().map(|(no, _)| no).collect();
            for no in waiting {
                self.ask(state, no);
            }
        }
    }

    /// Tells who is done and who begins.
    fn executors(&mut self, state: &RunState, entry: &Entry, before: &Open) {
        for (id, executor) in before.iter().filter(|(id, _)| !state.open.contains_key(id)) {
            let how = match &entry.event {
                Event::Completed(done) if done.activation == *id => {
                    let output = state.resolve(&done.output).ok();
                    let output = output.map_or(Value::Null, |value| Value::clone(&value));
                    match output.get(HANDED_OVER).and_then(Value::as_str) {
                        Some(to) => {
                            self.events.handed(executor, to);
                            Ended::With(json!({ "handoff_to": to }))
                        }
                        None => Ended::With(output),
                    }
                }
                Event::Failed { activation, error } if activation == id => Ended::Failed(error),
                Event::RunFailed { error } => Ended::Failed(error),
                _ => Ended::Stopped,
            };
            self.events.ended(*id, executor, how);
        }
        let known = |id: &u32| before.iter().any(|(known, _)| known == id);
        for (id, activation) in state.open.iter().filter(|(id, _)| !known(id)) {
            self.events.began(*id, &activation.executor);
        }
    }

    /// Tells a request that waits.
    fn ask(&mut self, state: &RunState, no: u32) {
        let Some(request) = state.requests.get(&no) else { return };
        let source = state.open.get(&request.activation).map(|open| open.executor.clone());
        self.events.question(&Question {
            id: self.id.run.request(no),
            body: &request.body,
            source: source.as_deref().unwrap_or_default(),
            state: Some(state),
        });
    }

    fn start(&mut self, at: Timestamp) {
        let before = self.state.as_ref();
        self.messages = before.map_or(0, |state| state.messages.len());
        self.usage = before.map_or_else(Usage::default, |state| state.usage);
        self.created_at = at;
        if !self.begun {
            self.begin();
        }
    }

    fn begin(&mut self) {
        self.begun = true;
        self.events.at = self.created_at;
        for kind in ["response.created", "response.in_progress"] {
            let response = self.object();
            self.events.emit(kind, json!({ "response": response }));
        }
        self.events.status("IN_PROGRESS");
    }

    /// Shows who is at work and what waits.
    fn show(&mut self) {
        // Whoever answered wrongly has seen who is at work.
        if self.id.manner != Manner::Shown(Notice::Refused) {
            for (id, executor) in self.open() {
                self.events.began(id, &executor);
            }
        }
        let Some(state) = self.state.take() else { return };
        let waiting: Vec<u32> = state.pending().map(|(no, _)| no).collect();
        for no in waiting {
            self.ask(&state, no);
        }
        self.state = Some(state);
    }

    /// Ends it, because of an entry or because the run rests. `parts` are requests of the run's parts.
    pub(super) fn end(&mut self, ending: Ending, parts: &[Request]) {
        if ending == Ending::Waiting {
            let own = self.state.iter().flat_map(RunState::pending);
            self.pending = own.map(|(no, _)| self.id.run.request(no)).collect();
            for request in parts.iter().filter(|request| request.run != self.id.run) {
                self.pending.push(request.id.clone());
                let path = &request.body.agent_path;
                self.events.question(&Question {
                    id: request.id.clone(),
                    body: &request.body,
                    source: path.last().unwrap_or(&request.workflow),
                    state: None,
                });
            }
        }
        self.events.status(ending.state());
        let ending = match (self.id.manner, ending) {
            (Manner::Shown(Notice::Refused), Ending::Waiting) => Ending::Refused,
            (_, ending) => ending,
        };
        let event = ending.event();
        self.ending = Some(ending);
        let response = self.object();
        self.events.emit(event, json!({ "response": response }));
    }

    /// The response as it stands.
    pub(super) fn object(&self) -> Value {
        let now = self.state.as_ref();
        let usage = now.map_or_else(Usage::default, |state| used(&self.usage, &state.usage));
        let parts = Parts {
            id: &self.id,
            workflow: &self.of.workflow,
            conversation: &self.of.conversation,
            created_at: self.created_at,
            ended_at: now.map_or(self.created_at, |state| state.updated_at),
            ending: self.ending.as_ref(),
            pending: &self.pending,
            output: &self.events.output,
            usage,
        };
        parts.object()
    }
}
