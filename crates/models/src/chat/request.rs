//! How a request for a chat completion is written.
//!
//! In the words that all servers know: content is plain text, what several others said is one user
//! message (many chat templates want roles to alternate), and the limit of tokens is `max_tokens`.

use serde_json::{Value, json};

use crate::openai::request::{is_object, is_strict};
use crate::protocol::{Settings, parameters};
use crate::provider::ModelRequest;
use crate::render::{self, Own, Turn};
use crate::wire_name::ToolNames;

pub(crate) fn body(request: &ModelRequest, settings: &Settings, names: &ToolNames) -> Value {
    let schema = request.output.as_deref();
    let native = schema.filter(|schema| settings.structured_output && is_object(schema));
    let system = render::system(request, if native.is_some() { None } else { schema });
    let mut messages = vec![json!({ "role": "system", "content": system })];
    for turn in &render::turns(request, names) {
        match turn {
            Turn::Others(texts) => {
                messages.push(json!({ "role": "user", "content": texts.join("\n\n") }));
            }
            Turn::Own(said) => messages.push(own(said)),
            Turn::Results(results) => messages.extend(results.iter().map(|result| {
                json!({ "role": "tool", "tool_call_id": result.id, "content": result.plain() })
            })),
        }
    }
    let mut body = json!({
        "model": settings.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| {
                json!({ "type": "function", "function": {
                    "name": names.wire(&tool.name),
                    "description": tool.description,
                    "parameters": parameters(&tool.parameters),
                } })
            })
            .collect();
    }
    if let Some(schema) = native {
        body["response_format"] = json!({ "type": "json_schema", "json_schema": {
            "name": "answer", "schema": schema, "strict": is_strict(schema),
        } });
    }
    if let Some(tokens) = settings.max_output_tokens {
        let name = if settings.is_openai { "max_completion_tokens" } else { "max_tokens" };
        body[name] = tokens.into();
    }
    if let Some(temperature) = settings.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(effort) = settings.effort {
        body["reasoning_effort"] = effort.into();
    }
    body
}

fn own(said: &[Own]) -> Value {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for own in said {
        match own {
            Own::Text(text) => texts.push(text.as_str()),
            Own::Call { id, name, arguments } => calls.push(json!({
                "id": id,
                "type": "function",
                "function": { "name": name, "arguments": arguments.to_string() },
            })),
        }
    }
    let mut message = json!({ "role": "assistant", "content": texts.join("\n") });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}
