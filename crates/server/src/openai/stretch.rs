//! A stretch of a journal as a response: its items, its events, its end.
//!
//! A decision always begins a stretch, and ends the one before. What else comes from outside (a deadline,
//! a timer, the end of a part) does so while people are asked, because the run may have rested there.
//! So a stretch that was told as ended never grows, except by what ends or pauses the run; and the
//! events of a stretch, with their numbers, follow from its entries alone. Text comes whole, as the
//! entry that has it is committed: what a model is saying before that has no number.

use std::collections::VecDeque;

use serde_json::{Value, json};
use signoff_core::journal::{Entry, Event, Usage};
use signoff_core::state::RunEnd;
use signoff_core::{JournalError, Request, RequestId, RunState, Timestamp};
use signoff_store::RunRecord;

use super::id::ResponseId;
use super::item::{self, Before};
use super::object::{Ending, Parts, used};

/// A response as far as its journal was read.
#[derive(Debug)]
pub(super) struct Stretch {
    id: ResponseId,
    record: RunRecord,
    state: Option<RunState>,
    begun: bool,
    created_at: Timestamp,
    /// How many messages there were before it.
    messages: usize,
    /// What was used before it.
    usage: Usage,
    output: Vec<Value>,
    /// The events that were not told yet.
    pub(super) events: VecDeque<Value>,
    /// The number of the next event.
    number: u64,
    ending: Option<Ending>,
    /// The requests that waited when it ended.
    pending: Vec<RequestId>,
    /// Whether the run went on beyond it.
    pub(super) passed: bool,
}

impl Stretch {
    pub(super) fn new(id: ResponseId, record: RunRecord) -> Self {
        let created_at = record.updated_at;
        let mut stretch = Self {
            record,
            state: None,
            begun: false,
            created_at,
            messages: 0,
            usage: Usage::default(),
            output: Vec::new(),
            events: VecDeque::new(),
            number: 0,
            ending: None,
            pending: Vec::new(),
            passed: false,
            id,
        };
        // It begins with what a part of the run will bring.
        if stretch.id.first > stretch.record.head {
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
        if entry.seq == self.id.first {
            let before = self.state.as_ref();
            self.messages = before.map_or(0, |state| state.messages.len());
            self.usage = before.map_or_else(Usage::default, |state| state.usage);
            self.created_at = entry.at;
            if !self.begun {
                self.begin();
            }
        }
        let outputs = self.state.as_ref().map_or(0, |state| state.outputs.len());
        match &mut self.state {
            Some(state) => state.apply(entry)?,
            None => self.state = Some(RunState::begin(entry)?),
        }
        let Some(state) = &self.state else { return Ok(()) };
        if entry.seq < self.id.first {
            return Ok(());
        }
        let run = &self.id.run;
        let before = Before { messages: self.messages, outputs };
        let mut told: Vec<Value> = item::told(run, state, entry, before).into_iter().collect();
        if entry.seq == self.id.last {
            // What was asked before and still waits.
            let open = state.pending().map(|(no, it)| item::asked(&run.request(no), &it.body));
            told.extend(open);
        }
        let ending = match &state.end {
            Some(RunEnd::Completed) => Some(Ending::Completed),
            Some(RunEnd::Failed(error)) => Some(Ending::Failed(error.clone())),
            Some(RunEnd::Cancelled { .. }) => Some(Ending::Cancelled),
            None => None,
        };
        for item in told {
            if !self.output.iter().any(|known| known["id"] == item["id"]) {
                self.tell(item);
            }
        }
        if let Some(ending) = ending {
            self.end(ending, &[]);
        }
        Ok(())
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

    fn begin(&mut self) {
        self.begun = true;
        for kind in ["response.created", "response.in_progress"] {
            let response = self.object();
            self.emit(kind, json!({ "response": response }));
        }
    }

    /// Ends it, because of an entry or because the run rests. `parts` are requests of the run's parts.
    pub(super) fn end(&mut self, ending: Ending, parts: &[Request]) {
        if ending == Ending::Waiting {
            let own = self.state.iter().flat_map(RunState::pending);
            self.pending = own.map(|(no, _)| self.id.run.request(no)).collect();
            for request in parts {
                if request.run == self.id.run {
                    continue;
                }
                self.pending.push(request.id.clone());
                self.tell(item::asked(&request.id, &request.body));
            }
        }
        let event = ending.event();
        self.ending = Some(ending);
        let response = self.object();
        self.emit(event, json!({ "response": response }));
    }

    /// The response as it stands.
    pub(super) fn object(&self) -> Value {
        let now = self.state.as_ref();
        let usage = now.map_or_else(Usage::default, |state| used(&self.usage, &state.usage));
        let parts = Parts {
            id: &self.id,
            workflow: &self.record.workflow,
            conversation: &self.record.conversation,
            created_at: self.created_at,
            ended_at: now.map_or(self.created_at, |state| state.updated_at),
            ending: self.ending.as_ref(),
            pending: &self.pending,
            output: &self.output,
            usage,
        };
        parts.object()
    }

    fn emit(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.number.into();
        self.number += 1;
        self.events.push_back(fields);
    }

    /// Adds an item, and the events that tell it piece by piece.
    fn tell(&mut self, item: Value) {
        let at = self.output.len();
        let id = item["id"].clone();
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        if item["type"] == "message" {
            let part = item["content"][0].clone();
            let mut no_text = part.clone();
            no_text["text"] = "".into();
            empty["content"] = json!([]);
            let place = json!({ "item_id": id, "output_index": at, "content_index": 0 });
            let with = |more: Value| merged(&place, more);
            let text = &part["text"];
            self.emit("response.output_item.added", json!({ "output_index": at, "item": empty }));
            self.emit("response.content_part.added", with(json!({ "part": no_text })));
            let delta = json!({ "delta": text, "logprobs": [] });
            self.emit("response.output_text.delta", with(delta));
            let done = json!({ "text": text, "logprobs": [] });
            self.emit("response.output_text.done", with(done));
            self.emit("response.content_part.done", with(json!({ "part": part })));
        } else {
            empty["arguments"] = "".into();
            let place = json!({ "item_id": id, "output_index": at });
            let arguments = &item["arguments"];
            self.emit("response.output_item.added", json!({ "output_index": at, "item": empty }));
            let delta = merged(&place, json!({ "delta": arguments }));
            self.emit("response.function_call_arguments.delta", delta);
            let done = merged(&place, json!({ "arguments": arguments, "name": item["name"] }));
            self.emit("response.function_call_arguments.done", done);
        }
        self.emit("response.output_item.done", json!({ "output_index": at, "item": item }));
        self.output.push(item);
    }
}

fn merged(place: &Value, more: Value) -> Value {
    let mut all = place.clone();
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}
