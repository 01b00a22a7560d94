//! Replies as each protocol writes them.

use serde_json::{Value, json};
use signoff_core::Part;
use signoff_core::message::ToolCall;
use signoff_models::ModelReply;

use super::serve::Wire;

/// A server-sent event: its name, if the protocol has names, and its data.
pub(super) type Event = (Option<&'static str>, Value);

/// The reply in pieces. `pieces` is the text as it was streamed.
pub(super) fn events(wire: Wire, reply: &ModelReply, pieces: &[String]) -> Vec<Event> {
    match wire {
        Wire::Responses => responses_events(reply, pieces),
        Wire::Chat => chat_events(reply, pieces),
        Wire::Messages => messages_events(reply, pieces),
    }
}

/// The reply in one.
pub(super) fn whole(wire: Wire, reply: &ModelReply) -> Value {
    match wire {
        Wire::Responses => response(reply, "completed"),
        Wire::Chat => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "test-model",
            "choices": [{
                "index": 0, "finish_reason": stop(reply, "tool_calls", "stop"),
                "message": {
                    "role": "assistant", "content": text_of(reply),
                    "tool_calls": calls(reply).enumerate().map(chat_call).collect::<Vec<_>>(),
                },
            }],
            "usage": chat_usage(reply),
        }),
        Wire::Messages => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model",
            "content": reply.parts.iter().filter_map(block).collect::<Vec<_>>(),
            "stop_reason": stop(reply, "tool_use", "end_turn"),
            "usage": { "input_tokens": reply.usage.input, "output_tokens": reply.usage.output },
        }),
    }
}

/// The error body of a status.
pub(super) fn error(wire: Wire, status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    match wire {
        Wire::Messages => {
            json!({ "type": "error", "error": { "type": kind, "message": message } })
        }
        _ => json!({ "error": { "message": message, "type": kind, "param": null, "code": null } }),
    }
}

fn calls(reply: &ModelReply) -> impl Iterator<Item = &ToolCall> {
    reply.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    })
}

fn text_of(reply: &ModelReply) -> Option<String> {
    let texts: Vec<&str> = reply
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn stop(reply: &ModelReply, calls_word: &'static str, text_word: &'static str) -> &'static str {
    if calls(reply).next().is_some() { calls_word } else { text_word }
}

/// JSON in two pieces, cut where it hurts.
fn halves(text: &str) -> [&str; 2] {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle -= 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn item(part: &Part, index: usize) -> Option<Value> {
    match part {
        Part::Text(text) => Some(json!({
            "type": "message", "id": format!("msg_{index}"), "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        })),
        Part::ToolCall(call) => Some(json!({
            "type": "function_call", "id": format!("fc_{index}"), "call_id": call.id,
            "name": call.name, "arguments": call.arguments.to_string(), "status": "completed",
        })),
        _ => None,
    }
}

fn response(reply: &ModelReply, status: &str) -> Value {
    let items = reply.parts.iter().enumerate().filter_map(|(index, part)| item(part, index));
    let usage = reply.usage;
    json!({
        "id": "resp_1", "object": "response", "status": status, "model": "test-model",
        "output": items.collect::<Vec<_>>(),
        "usage": {
            "input_tokens": usage.input, "output_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "input_tokens_details": { "cached_tokens": usage.cached },
            "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        },
    })
}

fn responses_events(reply: &ModelReply, pieces: &[String]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut push = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        data["sequence_number"] = events.len().into();
        events.push((Some(name), data));
    };
    let empty = json!({ "id": "resp_1", "status": "in_progress", "output": [] });
    push("response.created", json!({ "response": empty }));
    push("response.something_new", json!({ "nobody": ["knows", "it"] }));
    let mut pieces = Some(pieces);
    for (index, part) in reply.parts.iter().enumerate() {
        let Some(item) = item(part, index) else { continue };
        let mut begun = item.clone();
        begun["status"] = "in_progress".into();
        match part {
            Part::ToolCall(_) => begun["arguments"] = "".into(),
            _ => begun["content"] = json!([]),
        }
        let id = item["id"].clone();
        push("response.output_item.added", json!({ "output_index": index, "item": begun }));
        match part {
            Part::Text(text) => {
                let whole = [text.clone()];
                for delta in pieces.take().unwrap_or(&whole) {
                    push(
                        "response.output_text.delta",
                        json!({ "item_id": id, "output_index": index, "content_index": 0, "delta": delta }),
                    );
                }
            }
            Part::ToolCall(call) => {
                for delta in halves(&call.arguments.to_string()) {
                    push(
                        "response.function_call_arguments.delta",
                        json!({ "item_id": id, "output_index": index, "delta": delta }),
                    );
                }
            }
            _ => {}
        }
        push("response.output_item.done", json!({ "output_index": index, "item": item }));
    }
    push("response.completed", json!({ "response": response(reply, "completed") }));
    events
}

fn chat_usage(reply: &ModelReply) -> Value {
    let usage = reply.usage;
    json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

fn chat_call((index, call): (usize, &ToolCall)) -> Value {
    json!({
        "index": index, "id": call.id, "type": "function",
        "function": { "name": call.name, "arguments": call.arguments.to_string() },
    })
}

fn chat_events(reply: &ModelReply, pieces: &[String]) -> Vec<Event> {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
            "model": "test-model", "choices": [choice],
        });
        (None, chunk)
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for piece in pieces {
        events.push(chunk(json!({ "content": piece }), Value::Null));
    }
    for (index, call) in calls(reply).enumerate() {
        let mut begun = chat_call((index, call));
        begun["function"]["arguments"] = "".into();
        events.push(chunk(json!({ "tool_calls": [begun] }), Value::Null));
        for half in halves(&call.arguments.to_string()) {
            let more = json!({ "index": index, "function": { "arguments": half } });
            events.push(chunk(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    events.push(chunk(json!({}), stop(reply, "tool_calls", "stop").into()));
    let usage =
        json!({ "object": "chat.completion.chunk", "choices": [], "usage": chat_usage(reply) });
    events.push((None, usage));
    events.push((None, "[DONE]".into()));
    events
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Text(text) => Some(json!({ "type": "text", "text": text })),
        Part::ToolCall(call) => Some(json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments,
        })),
        _ => None,
    }
}

fn messages_events(reply: &ModelReply, pieces: &[String]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut push = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        events.push((Some(name), data));
    };
    let usage = json!({ "input_tokens": reply.usage.input, "output_tokens": 1 });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "usage": usage,
    });
    push("message_start", json!({ "message": message }));
    push("ping", json!({}));
    let mut pieces = Some(pieces);
    for (index, part) in reply.parts.iter().enumerate() {
        let Some(mut begun) = block(part) else { continue };
        let deltas: Vec<Value> = match part {
            Part::Text(text) => {
                begun["text"] = "".into();
                let whole = [text.clone()];
                let pieces = pieces.take().unwrap_or(&whole);
                pieces.iter().map(|text| json!({ "type": "text_delta", "text": text })).collect()
            }
            Part::ToolCall(call) => {
                begun["input"] = json!({});
                halves(&call.arguments.to_string())
                    .map(|half| json!({ "type": "input_json_delta", "partial_json": half }))
                    .into()
            }
            _ => Vec::new(),
        };
        push("content_block_start", json!({ "index": index, "content_block": begun }));
        for delta in deltas {
            push("content_block_delta", json!({ "index": index, "delta": delta }));
        }
        push("content_block_stop", json!({ "index": index }));
    }
    push(
        "message_delta",
        json!({
            "delta": { "stop_reason": stop(reply, "tool_use", "end_turn") },
            "usage": { "output_tokens": reply.usage.output },
        }),
    );
    push("message_stop", json!({}));
    events
}
