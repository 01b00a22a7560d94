//! How a request to the Responses API is written.
//!
//! Nothing is stored there (`store: false`), and nothing refers to earlier calls: the journal is the one
//! memory, and the whole conversation goes along each time.

use serde_json::{Map, Value, json};

use crate::protocol::{Settings, parameters};
use crate::provider::ModelRequest;
use crate::render::{self, Own, Turn};
use crate::wire_name::ToolNames;

pub(crate) fn body(request: &ModelRequest, settings: &Settings, names: &ToolNames) -> Value {
    let schema = request.output.as_deref();
    let native = schema.filter(|schema| settings.structured_output && is_object(schema));
    let mut body = json!({
        "model": settings.model,
        "instructions": render::system(request, if native.is_some() { None } else { schema }),
        "input": render::turns(request, names).iter().flat_map(items).collect::<Vec<_>>(),
        "stream": true,
        "store": false,
    });
    if !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "type": "function",
                    "name": names.wire(&tool.name),
                    "description": tool.description,
                    "parameters": parameters(&tool.parameters),
                    "strict": false,
                })
            })
            .collect();
        body["parallel_tool_calls"] = true.into();
    }
    if let Some(schema) = native {
        body["text"] = json!({ "format": {
            "type": "json_schema", "name": "answer", "schema": schema, "strict": is_strict(schema),
        } });
    }
    if let Some(tokens) = settings.max_output_tokens {
        body["max_output_tokens"] = tokens.into();
    }
    if let Some(temperature) = settings.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(effort) = settings.effort {
        body["reasoning"] = json!({ "effort": effort, "summary": "auto" });
    }
    body
}

fn items(turn: &Turn) -> Vec<Value> {
    match turn {
        Turn::Others(texts) => {
            let content: Vec<Value> =
                texts.iter().map(|text| json!({ "type": "input_text", "text": text })).collect();
            vec![json!({ "type": "message", "role": "user", "content": content })]
        }
        Turn::Own(said) => said
            .iter()
            .map(|own| match own {
                Own::Text(text) => json!({
                    "type": "message",
                    "role": "assistant",
                    "content": [{ "type": "output_text", "text": text }],
                }),
                Own::Call { id, name, arguments } => json!({
                    "type": "function_call",
                    "call_id": id,
                    "name": name,
                    "arguments": arguments.to_string(),
                }),
            })
            .collect(),
        Turn::Results(results) => results
            .iter()
            .map(|result| {
                json!({
                    "type": "function_call_output",
                    "call_id": result.id,
                    "output": result.plain(),
                })
            })
            .collect(),
    }
}

/// Whether a schema's root is an object, as the API wants it.
pub(crate) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object") && schema.get("anyOf").is_none()
}

/// Whether the API can hold a model to the schema to the letter: every object says all it has, requires
/// it, and allows no more; nothing that it does not support is used.
pub(crate) fn is_strict(schema: &Value) -> bool {
    const UNSUPPORTED: [&str; 9] = [
        "allOf",
        "oneOf",
        "not",
        "if",
        "patternProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
    ];
    let Some(fields) = schema.as_object() else { return false };
    if UNSUPPORTED.iter().any(|keyword| fields.contains_key(*keyword)) {
        return false;
    }
    let is_object = match fields.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => fields.contains_key("properties"),
    };
    if is_object {
        let none = Map::new();
        let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required = fields.get("required").and_then(Value::as_array);
        let all = properties.keys().all(|name| {
            required.is_some_and(|required| required.iter().any(|it| it.as_str() == Some(name)))
        });
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) || !all {
            return false;
        }
    }
    let groups = ["properties", "$defs", "definitions"];
    let named = groups.iter().filter_map(|group| fields.get(*group)?.as_object());
    let mut below = named
        .flat_map(Map::values)
        .chain(fields.get("items"))
        .chain(fields.get("anyOf").and_then(Value::as_array).into_iter().flatten());
    below.all(is_strict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_closed_schemas_are_strict() {
        let closed = |properties: Value, required: Value| {
            json!({
                "type": "object", "properties": properties, "required": required,
                "additionalProperties": false,
            })
        };
        let text = json!({ "type": "string" });
        assert!(is_strict(&closed(json!({ "a": text }), json!(["a"]))));
        assert!(!is_strict(&closed(json!({ "a": text }), json!([]))));
        assert!(!is_strict(&json!({ "type": "object", "properties": {} })));
        assert!(!is_strict(&json!({ "oneOf": [] })));
        let inner = json!({ "type": "array", "items": { "type": "object" } });
        assert!(!is_strict(&closed(json!({ "a": inner }), json!(["a"]))));
        let either = json!({ "anyOf": [text, { "type": "null" }] });
        assert!(is_strict(&closed(json!({ "a": either }), json!(["a"]))));
        assert!(!is_strict(&json!(true)));
    }
}
