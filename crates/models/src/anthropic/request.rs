//! How a request to the Messages API is written.
//!
//! The shape of an answer is asked for in the system prompt: a forced tool would keep the agent from
//! calling its own tools. With `structured_output = true`, the API's own `output_config.format` is used.

use serde_json::{Value, json};

use crate::openai::request::is_object;
use crate::protocol::{Settings, parameters};
use crate::provider::ModelRequest;
use crate::render::{self, Own, Turn};
use crate::wire_name::ToolNames;

/// The API wants a limit.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

pub(crate) fn body(request: &ModelRequest, settings: &Settings, names: &ToolNames) -> Value {
    let schema = request.output.as_deref();
    let native = schema.filter(|schema| settings.structured_output && is_object(schema));
    let mut body = json!({
        "model": settings.model,
        "max_tokens": settings.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "system": render::system(request, if native.is_some() { None } else { schema }),
        "messages": messages(&render::turns(request, names)),
        "stream": true,
    });
    if !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": names.wire(&tool.name),
                    "description": tool.description,
                    "input_schema": parameters(&tool.parameters),
                })
            })
            .collect();
    }
    if let Some(schema) = native {
        body["output_config"]["format"] = json!({ "type": "json_schema", "schema": schema });
    }
    if let Some(effort) = settings.effort {
        // Adaptive, because thoughts are not kept: only then may a turn with tool calls lack them.
        body["thinking"] = json!({ "type": "adaptive" });
        body["output_config"]["effort"] = effort.into();
    } else if let Some(temperature) = settings.temperature {
        body["temperature"] = temperature.into();
    }
    body
}

/// Roles alternate: results and what others say behind them are one user message.
fn messages(turns: &[Turn]) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in turns {
        let (role, blocks) = blocks(turn);
        match messages.last_mut() {
            Some((before, there)) if *before == role => there.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    let written = |(role, content)| json!({ "role": role, "content": content });
    messages.into_iter().map(written).collect()
}

fn blocks(turn: &Turn) -> (&'static str, Vec<Value>) {
    match turn {
        Turn::Others(texts) => {
            ("user", texts.iter().map(|text| json!({ "type": "text", "text": text })).collect())
        }
        Turn::Own(said) => {
            let block = |own: &Own| match own {
                Own::Text(text) => json!({ "type": "text", "text": text }),
                Own::Call { id, name, arguments } => {
                    json!({ "type": "tool_use", "id": id, "name": name, "input": arguments })
                }
            };
            ("assistant", said.iter().map(block).collect())
        }
        Turn::Results(results) => {
            let block = |result: &render::Outcome| {
                let mut block = json!({
                    "type": "tool_result", "tool_use_id": result.id, "content": result.content,
                });
                if result.is_error {
                    block["is_error"] = true.into();
                }
                block
            };
            ("user", results.iter().map(block).collect())
        }
    }
}
