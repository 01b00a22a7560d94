//! How a stream of the Responses API is read.

use serde_json::Value;

use crate::assembly::{Assembly, Sink};
use crate::failure;
use crate::protocol::Reader;
use crate::provider::{Delta, ModelError, ModelReply, Usage};
use crate::wire_name::ToolNames;

/// A response in the making.
#[derive(Debug)]
pub(crate) struct Responses {
    reply: Assembly,
    refusal: String,
    done: bool,
}

impl Responses {
    pub(crate) fn new(names: ToolNames) -> Self {
        Self { reply: Assembly::new(names), refusal: String::new(), done: false }
    }

    /// An item of the output, whole. What has already come in pieces is not said again.
    fn item(&mut self, index: Option<u64>, item: &Value, sink: Sink<'_>) {
        match text(item, "type") {
            "message" => {
                if self.reply.has_text(index) {
                    return;
                }
                for part in item["content"].as_array().into_iter().flatten() {
                    match text(part, "type") {
                        "refusal" if self.refusal.is_empty() => {
                            self.refusal.push_str(text(part, "refusal"));
                        }
                        "output_text" | "text" => {
                            self.reply.text(index, text(part, "text"), sink);
                        }
                        _ => {}
                    }
                }
            }
            "function_call" => {
                let at = self.call(index, item);
                self.reply.whole_arguments(at, &item["arguments"], sink);
            }
            _ => {}
        }
    }

    /// The call of an item, begun if it is new.
    fn call(&mut self, index: Option<u64>, item: &Value) -> usize {
        let id = match text(item, "call_id") {
            "" => text(item, "id"),
            id => id,
        };
        let found = self.reply.find(|call| {
            (index.is_some() && call.index == index) || (!id.is_empty() && call.id == id)
        });
        found.unwrap_or_else(|| self.reply.begin(index, id, text(item, "name")))
    }

    fn completed(&mut self, response: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
            self.item(Some(index as u64), item, sink);
        }
        self.usage(&response["usage"]);
        let problem = &response["error"];
        if text(response, "status") == "failed" || problem.is_object() {
            return Err(failure::said(problem));
        }
        match text(&response["incomplete_details"], "reason") {
            "max_output_tokens" => return Err(failure::too_long()),
            "content_filter" => return Err(failure::refused("a content filter stopped it")),
            _ if text(response, "status") == "incomplete" => return Err(failure::cut()),
            _ => {}
        }
        self.done = true;
        Ok(())
    }

    fn usage(&mut self, usage: &Value) {
        if usage.is_object() {
            let number = |value: &Value| value.as_u64().unwrap_or(0);
            self.reply.usage = Usage {
                input: number(&usage["input_tokens"]),
                output: number(&usage["output_tokens"]),
                cached: number(&usage["input_tokens_details"]["cached_tokens"]),
                reasoning: number(&usage["output_tokens_details"]["reasoning_tokens"]),
                ..Usage::default()
            };
        }
    }
}

impl Reader for Responses {
    fn event(&mut self, name: &str, data: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        let kind = match text(data, "type") {
            "" => name,
            kind => kind,
        };
        let index = data["output_index"].as_u64();
        match kind {
            "response.output_text.delta" => self.reply.text(index, text(data, "delta"), sink),
            "response.refusal.delta" => self.refusal.push_str(text(data, "delta")),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                sink(Delta::Reasoning(text(data, "delta").to_owned()));
            }
            "response.output_item.added" if text(&data["item"], "type") == "function_call" => {
                self.call(index, &data["item"]);
            }
            "response.function_call_arguments.delta" => {
                let found = self.reply.find(|call| index.is_none() || call.index == index);
                if let Some(at) = found {
                    self.reply.arguments(at, text(data, "delta"), sink);
                }
            }
            "response.output_item.done" => self.item(index, &data["item"], sink),
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
                return self.completed(&data["response"], sink);
            }
            "error" => return Err(failure::said(data)),
            // A server that fails in the middle may not bother with a type.
            _ if data["error"].is_object() && kind.is_empty() => return Err(failure::said(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value, sink: Sink<'_>) -> Result<(), ModelError> {
        if !body["output"].is_array() {
            return Err(not_a_reply(body));
        }
        self.completed(body, sink)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ModelError> {
        if !self.refusal.is_empty() && self.reply.is_empty() {
            return Err(failure::refused(&self.refusal));
        }
        Ok(self.reply.finish())
    }
}

/// A string field, or nothing.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The error for JSON that is no reply: what it says, if it says something is wrong.
pub(crate) fn not_a_reply(body: &Value) -> ModelError {
    match body.get("error") {
        Some(error) if !error.is_null() => failure::said(body),
        _ => failure::malformed(&"it is JSON, but not a reply"),
    }
}
