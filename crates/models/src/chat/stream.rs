//! How a stream of chat completion chunks is read, with the liberties servers take.
//!
//! Known to happen: no usage, `finish_reason: ""`, tool calls without index or id or all with index 0,
//! arguments as an object, `content: null` or a list, whole messages instead of deltas, errors in the
//! middle, no `[DONE]`.

use serde_json::Value;

use crate::assembly::{Assembly, Sink};
use crate::failure;
use crate::openai::stream::{not_a_reply, text};
use crate::protocol::Reader;
use crate::provider::{Delta, ModelError, ModelReply, Usage};
use crate::wire_name::ToolNames;

/// A completion in the making.
#[derive(Debug)]
pub(crate) struct Chunks {
    reply: Assembly,
    refusal: String,
    /// Why the model stopped, once it has.
    stopped: Option<String>,
    done: bool,
}

impl Chunks {
    pub(crate) fn new(names: ToolNames) -> Self {
        Self { reply: Assembly::new(names), refusal: String::new(), stopped: None, done: false }
    }

    fn chunk(&mut self, chunk: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::said(chunk));
        }
        self.usage(&chunk["usage"]);
        let Some(choice) = chunk["choices"].get(0) else { return Ok(()) };
        let delta = match choice.get("delta") {
            Some(delta @ Value::Object(_)) => delta,
            _ => &choice["message"],
        };
        for field in ["reasoning_content", "reasoning"] {
            let thought = text(delta, field);
            if !thought.is_empty() {
                sink(Delta::Reasoning(thought.to_owned()));
                break;
            }
        }
        match &delta["content"] {
            Value::String(piece) => self.reply.text(None, piece, sink),
            Value::Array(parts) => {
                for part in parts {
                    self.reply.text(None, text(part, "text"), sink);
                }
            }
            _ => {}
        }
        self.refusal.push_str(text(delta, "refusal"));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, sink);
        }
        match choice["finish_reason"].as_str() {
            None | Some("") => {}
            Some(reason) => self.stopped = Some(reason.to_owned()),
        }
        Ok(())
    }

    fn call(&mut self, call: &Value, sink: Sink<'_>) {
        let (index, id) = (call["index"].as_u64(), text(call, "id"));
        let function = match call.get("function") {
            Some(function @ Value::Object(_)) => function,
            _ => call,
        };
        let name = text(function, "name");
        let by_id = || (!id.is_empty()).then(|| self.reply.find(|call| call.id == id)).flatten();
        // The same index with another id is another call: some servers number all of them 0.
        let by_index = || {
            index.and_then(|index| {
                self.reply.find(|call| {
                    call.index == Some(index)
                        && (id.is_empty() || call.id.is_empty() || call.id == id)
                })
            })
        };
        let last = || {
            let nameless = index.is_none() && id.is_empty() && name.is_empty();
            nameless.then(|| self.reply.find(|_| true)).flatten()
        };
        let at = by_id().or_else(by_index).or_else(last);
        let at = at.unwrap_or_else(|| self.reply.begin(index, id, name));
        if let Some(slot) = self.reply.call(at) {
            if slot.id.is_empty() {
                id.clone_into(&mut slot.id);
            }
            if slot.name.is_empty() {
                name.clone_into(&mut slot.name);
            }
        }
        match &function["arguments"] {
            Value::String(piece) => self.reply.arguments(at, piece, sink),
            whole => self.reply.whole_arguments(at, whole, sink),
        }
    }

    fn usage(&mut self, usage: &Value) {
        if usage.is_object() {
            let number = |value: &Value| value.as_u64().unwrap_or(0);
            self.reply.usage = Usage {
                input: number(&usage["prompt_tokens"]),
                output: number(&usage["completion_tokens"]),
                cached: number(&usage["prompt_tokens_details"]["cached_tokens"]),
                reasoning: number(&usage["completion_tokens_details"]["reasoning_tokens"]),
                ..Usage::default()
            };
        }
    }
}

impl Reader for Chunks {
    fn event(&mut self, _: &str, data: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        self.chunk(data, sink)
    }

    fn whole(&mut self, body: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        if !body["choices"].is_array() {
            return Err(not_a_reply(body));
        }
        self.done = true;
        self.chunk(body, sink)
    }

    fn is_done(&self) -> bool {
        self.done || self.stopped.is_some()
    }

    fn done_mark(&mut self) {
        self.done = true;
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ModelError> {
        match self.stopped.as_deref() {
            Some("length") => return Err(failure::too_long()),
            Some("content_filter") => {
                return Err(failure::refused("a content filter stopped it"));
            }
            _ => {}
        }
        if !self.refusal.is_empty() && self.reply.is_empty() {
            return Err(failure::refused(&self.refusal));
        }
        Ok(self.reply.finish())
    }
}
