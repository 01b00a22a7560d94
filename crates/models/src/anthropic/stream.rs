//! How a stream of the Messages API is read.

use serde_json::Value;

use crate::assembly::{Assembly, Sink};
use crate::failure;
use crate::openai::stream::{not_a_reply, text};
use crate::protocol::Reader;
use crate::provider::{Delta, ModelError, ModelReply};
use crate::wire_name::ToolNames;

/// A message in the making.
#[derive(Debug)]
pub(crate) struct Messages {
    reply: Assembly,
    stopped: Option<String>,
    done: bool,
}

impl Messages {
    pub(crate) fn new(names: ToolNames) -> Self {
        Self { reply: Assembly::new(names), stopped: None, done: false }
    }

    /// A block, as far as it is there when it begins.
    fn block(&mut self, index: Option<u64>, block: &Value, sink: Sink<'_>) {
        match text(block, "type") {
            "text" => self.reply.text(index, text(block, "text"), sink),
            "thinking" => think(text(block, "thinking"), sink),
            "tool_use" => {
                let at = self.reply.begin(index, text(block, "id"), text(block, "name"));
                let input = &block["input"];
                // An empty object is what stands here before the pieces come.
                if input.as_object().is_some_and(|input| !input.is_empty()) {
                    self.reply.whole_arguments(at, input, sink);
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: Option<u64>, delta: &Value, sink: Sink<'_>) {
        match text(delta, "type") {
            "text_delta" => self.reply.text(index, text(delta, "text"), sink),
            "thinking_delta" => think(text(delta, "thinking"), sink),
            "input_json_delta" => {
                let found = self.reply.find(|call| index.is_none() || call.index == index);
                if let Some(at) = found {
                    self.reply.arguments(at, text(delta, "partial_json"), sink);
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, reason: &Value) {
        if let Some(reason) = reason.as_str() {
            self.stopped = Some(reason.to_owned());
        }
    }

    /// What is read from the cache or written to it is not in `input_tokens`; here it is.
    fn usage(&mut self, usage: &Value) {
        let number = |field: &str| usage.get(field).and_then(Value::as_u64);
        if let Some(input) = number("input_tokens") {
            let cached = number("cache_read_input_tokens").unwrap_or(0);
            let written = number("cache_creation_input_tokens").unwrap_or(0);
            self.reply.usage.input = input.saturating_add(cached).saturating_add(written);
            self.reply.usage.cached = cached;
        }
        if let Some(output) = number("output_tokens") {
            self.reply.usage.output = output;
        }
    }
}

fn think(thought: &str, sink: Sink<'_>) {
    if !thought.is_empty() {
        sink(Delta::Reasoning(thought.to_owned()));
    }
}

impl Reader for Messages {
    fn event(&mut self, name: &str, data: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        let kind = match text(data, "type") {
            "" => name,
            kind => kind,
        };
        let index = data["index"].as_u64();
        match kind {
            "message_start" => self.usage(&data["message"]["usage"]),
            "content_block_start" => self.block(index, &data["content_block"], sink),
            "content_block_delta" => self.delta(index, &data["delta"], sink),
            "message_delta" => {
                self.stop(&data["delta"]["stop_reason"]);
                self.usage(&data["usage"]);
            }
            "message_stop" => self.done = true,
            "error" => return Err(failure::said(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        let Some(content) = body["content"].as_array() else { return Err(not_a_reply(body)) };
        for (index, block) in content.iter().enumerate() {
            self.block(Some(index as u64), block, sink);
        }
        self.stop(&body["stop_reason"]);
        self.usage(&body["usage"]);
        self.done = true;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done || self.stopped.is_some()
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ModelError> {
        match self.stopped.as_deref() {
            Some("max_tokens") => Err(failure::too_long()),
            Some("refusal") => Err(failure::refused("")),
            Some("model_context_window_exceeded") => Err(failure::context_length("")),
            _ => Ok(self.reply.finish()),
        }
    }
}
