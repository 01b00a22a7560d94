//! The events of a response, numbered. OpenAI's own, and beside them those by which clients of the Agent
//! Framework see a workflow: its executors, its questions, where it stands.
//!
//! These cannot be told to all clients alike. OpenAI's libraries refuse events they do not know; they want
//! every item that was begun to be done when the response is, and an executor that waits is not; and they take
//! a message from its pieces, while the page of `DevUI` takes it from where it is added. So the manner decides
//! (`id`).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::{ActivationId, RunId, Timestamp};

use super::id::Manner;
use super::question::Question;

/// The events of one response.
#[derive(Debug)]
pub(super) struct Events {
    manner: Manner,
    run: RunId,
    /// Those that were not told yet.
    pub(super) waiting: Vec<Value>,
    /// The number of the next one.
    number: u64,
    /// The items so far. Executors are not among them.
    pub(super) output: Vec<Value>,
    /// The place of the next item.
    next: usize,
    /// The places of executors.
    executors: BTreeMap<ActivationId, usize>,
    /// When what is told now happened.
    pub(super) at: Timestamp,
    /// Whether people were asked in it.
    asked: bool,
}

/// How an executor came to an end.
#[derive(Debug)]
pub(super) enum Ended<'a> {
    With(Value),
    Failed(&'a ErrorInfo),
    /// The run ended first.
    Stopped,
}

impl Events {
    pub(super) fn new(manner: Manner, run: RunId, at: Timestamp) -> Self {
        Self {
            manner,
            run,
            waiting: Vec::new(),
            number: 0,
            output: Vec::new(),
            next: 0,
            executors: BTreeMap::new(),
            at,
            asked: false,
        }
    }

    pub(super) fn emit(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.number.into();
        self.number += 1;
        self.waiting.push(fields);
    }

    /// Where the workflow stands, in the framework's words.
    pub(super) fn status(&mut self, state: &str) {
        if self.manner.is_plain() {
            return;
        }
        let data = json!({
            "trace_type": "workflow_info",
            "event_type": "status",
            "data": { "state": format!("WorkflowRunState.{state}") },
            "timestamp": self.at.rfc3339(),
        });
        self.emit("response.trace.completed", json!({ "data": data }));
    }

    /// Something that happened in the workflow and is no item.
    fn happened(&mut self, kind: &str, executor: Option<&str>, data: &Value) {
        if self.manner.is_plain() {
            return;
        }
        let data = json!({
            "event_type": kind,
            "data": data,
            "executor_id": executor,
            "timestamp": self.at.rfc3339(),
        });
        self.emit("response.workflow_event.complete", json!({ "data": data }));
    }

    /// An agent handed the conversation to another.
    pub(super) fn handed(&mut self, from: &str, to: &str) {
        self.happened("HandoffSentEvent", None, &json!({ "source": from, "target": to }));
    }

    /// An executor got something to do.
    pub(super) fn began(&mut self, activation: ActivationId, executor: &str) {
        if !self.manner.is_page() {
            self.happened("ExecutorInvokedEvent", Some(executor), &Value::Null);
            return;
        }
        let place = self.place();
        self.executors.insert(activation, place);
        let item = self.action(activation, executor, "in_progress");
        self.executor_item("response.output_item.added", place, &item);
    }

    /// An executor is done with what it had to do.
    pub(super) fn ended(&mut self, activation: ActivationId, executor: &str, how: Ended<'_>) {
        if !self.manner.is_page() {
            match how {
                Ended::With(_) => {
                    self.happened("ExecutorCompletedEvent", Some(executor), &Value::Null);
                }
                Ended::Failed(error) => {
                    let error = json!({ "code": error.code, "message": error.message });
                    self.happened("ExecutorFailedEvent", Some(executor), &error);
                }
                Ended::Stopped => {}
            }
            return;
        }
        let place = match self.executors.remove(&activation) {
            Some(place) => place,
            None => self.place(),
        };
        let item = match how {
            Ended::With(result) => {
                let mut item = self.action(activation, executor, "completed");
                item["result"] = json!([result]);
                item
            }
            Ended::Failed(error) => {
                let mut item = self.action(activation, executor, "failed");
                item["error"] = json!({ "message": error.message, "code": error.code });
                item
            }
            Ended::Stopped => self.action(activation, executor, "cancelled"),
        };
        self.executor_item("response.output_item.done", place, &item);
    }

    fn place(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn action_id(&self, activation: ActivationId, executor: &str) -> String {
        format!("exec_{executor}_{}_{activation}", self.run.unique())
    }

    fn action(&self, activation: ActivationId, executor: &str, status: &str) -> Value {
        json!({
            "type": "executor_action",
            "id": self.action_id(activation, executor),
            "executor_id": executor,
            "status": status,
            "metadata": {},
            "result": null,
            "error": null,
        })
    }

    #[allow(clippy::cast_precision_loss)] // milliseconds of our time fit
    fn executor_item(&mut self, kind: &str, place: usize, item: &Value) {
        let at = self.at.0 as f64 / 1000.0;
        self.emit(kind, json!({ "output_index": place, "item": item, "created_at": at }));
    }

    /// What an executor says on its way. Only pages show it with the executor; others get it as an item.
    pub(super) fn words(&mut self, activation: ActivationId, executor: &str, text: &str) {
        let place = self.executors.get(&activation).copied().unwrap_or_default();
        let delta = json!({
            "item_id": self.action_id(activation, executor),
            "output_index": place,
            "content_index": 0,
            "delta": format!("{text}\n"),
            "logprobs": [],
        });
        self.emit("response.output_text.delta", delta);
    }

    /// Adds an item and tells it, piece by piece or whole. Gives its place.
    pub(super) fn item(&mut self, item: Value) -> usize {
        let at = self.place();
        match (item["type"].as_str(), self.manner.is_page()) {
            (Some("message"), false) => self.message(at, &item),
            (Some("message"), true) => {
                let whole = json!({ "output_index": at, "item": item });
                self.emit("response.output_item.added", whole);
            }
            _ => self.call(at, &item),
        }
        self.emit("response.output_item.done", json!({ "output_index": at, "item": item }));
        self.output.push(item);
        at
    }

    fn message(&mut self, at: usize, item: &Value) {
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        empty["content"] = json!([]);
        let part = item["content"][0].clone();
        let mut no_text = part.clone();
        no_text["text"] = "".into();
        let place = json!({ "item_id": item["id"], "output_index": at, "content_index": 0 });
        let with = |more: Value| merged(&place, more);
        let text = &part["text"];
        self.emit("response.output_item.added", json!({ "output_index": at, "item": empty }));
        self.emit("response.content_part.added", with(json!({ "part": no_text })));
        let delta = json!({ "delta": text, "logprobs": [] });
        self.emit("response.output_text.delta", with(delta));
        let done = json!({ "text": text, "logprobs": [] });
        self.emit("response.output_text.done", with(done));
        self.emit("response.content_part.done", with(json!({ "part": part })));
    }

    fn call(&mut self, at: usize, item: &Value) {
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        empty["arguments"] = "".into();
        let place = json!({ "item_id": item["id"], "output_index": at });
        let arguments = &item["arguments"];
        self.emit("response.output_item.added", json!({ "output_index": at, "item": empty }));
        let delta = merged(&place, json!({ "delta": arguments }));
        self.emit("response.function_call_arguments.delta", delta);
        let done = merged(&place, json!({ "arguments": arguments, "name": item["name"] }));
        self.emit("response.function_call_arguments.done", done);
    }

    /// Whether an item was told.
    pub(super) fn has(&self, item: &Value) -> bool {
        self.output.iter().any(|known| known["id"] == item["id"])
    }

    /// People are asked: as an item for OpenAI's clients, and in the two ways of the framework.
    pub(super) fn question(&mut self, question: &Question<'_>) {
        let item = question.item();
        if self.has(&item) {
            return;
        }
        let id = item["id"].clone();
        let at = self.item(item);
        if self.manner.is_plain() {
            return;
        }
        let place = json!({ "item_id": id, "output_index": at });
        let told = question.told(self.at, self.manner);
        for (kind, fields) in told {
            self.emit(kind, merged(&place, fields));
        }
        if !std::mem::replace(&mut self.asked, true) {
            self.status("IN_PROGRESS_PENDING_REQUESTS");
        }
    }
}

fn merged(place: &Value, more: Value) -> Value {
    let mut all = place.clone();
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}
