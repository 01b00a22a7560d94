//! What a tool gave, as JSON for a model.

use serde_json::{Value, json};
use signoff_core::text::clean;
use signoff_tools::ToolError;

/// The longest piece of binary data that is kept, in characters of base64.
const MAX_DATA: usize = 32 * 1024;
/// The longest error message that is kept, in bytes.
const MAX_ERROR: usize = 8 * 1024;

/// The result of a `tools/call`, as the protocol writes it.
pub(crate) fn outcome(result: &Value) -> Result<Value, ToolError> {
    let blocks = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let said = texts(blocks).unwrap_or_else(|| result["content"].to_string());
        let said = clean(&said, MAX_ERROR);
        let said = if said.is_empty() { "it does not say why".to_owned() } else { said };
        return Err(ToolError::new("tool_failed", said));
    }
    let only_text = texts(blocks);
    match (result.get("structuredContent"), only_text) {
        // The text says the same once more, for clients that know no structure.
        (Some(structured), Some(_)) => Ok(structured.clone()),
        (Some(structured), None) => {
            Ok(json!({ "structured": structured, "content": kept(blocks) }))
        }
        (None, Some(text)) => Ok(text.into()),
        (None, None) => Ok(json!({ "content": kept(blocks) })),
    }
}

/// The text, if there is nothing but text.
fn texts(blocks: &[Value]) -> Option<String> {
    let mut all = Vec::new();
    for block in blocks {
        if block["type"] != "text" {
            return None;
        }
        all.push(block["text"].as_str()?);
    }
    Some(all.join("\n"))
}

fn kept(blocks: &[Value]) -> Vec<Value> {
    blocks.iter().map(block).collect()
}

fn block(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("text") => json!({ "type": "text", "text": block["text"] }),
        Some(kind @ ("image" | "audio")) => {
            let mut kept = json!({ "type": kind, "mime_type": block["mimeType"] });
            keep_data(&mut kept, &block["data"]);
            kept
        }
        Some("resource") => {
            let resource = &block["resource"];
            let mut kept = json!({
                "type": "resource", "uri": resource["uri"], "mime_type": resource["mimeType"],
            });
            match resource.get("text") {
                Some(text) => kept["text"] = text.clone(),
                None => keep_data(&mut kept, &resource["blob"]),
            }
            kept
        }
        Some("resource_link") => json!({
            "type": "resource_link", "uri": block["uri"], "name": block["name"],
            "description": block["description"], "mime_type": block["mimeType"],
        }),
        _ => json!({ "type": "unknown" }),
    }
}

/// Binary data, if it is small; otherwise how much there was.
fn keep_data(kept: &mut Value, data: &Value) {
    let data = data.as_str().unwrap_or_default();
    kept["bytes"] = (data.len() / 4 * 3).into();
    if data.len() <= MAX_DATA {
        kept["data"] = data.into();
    } else {
        kept["left_out"] = true.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_result_becomes_json() {
        let text = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] });
        assert_eq!(outcome(&text).unwrap(), "a\nb");
        let both = json!({
            "content": [{ "type": "text", "text": "{}" }], "structuredContent": { "sum": 3 },
        });
        assert_eq!(outcome(&both).unwrap(), json!({ "sum": 3 }));
        let image = json!({ "content": [
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "image", "mimeType": "image/png", "data": "A".repeat(100_000) },
            { "type": "resource", "resource": { "uri": "x://1", "text": "t" } },
            { "type": "hologram" },
        ] });
        let kept = outcome(&image).unwrap();
        assert_eq!(kept["content"][0]["data"], "AAAA");
        assert_eq!(kept["content"][1]["left_out"], true);
        assert_eq!(kept["content"][2]["text"], "t");
        assert_eq!(kept["content"][3]["type"], "unknown");
        assert!(kept.to_string().len() < 1000);
        let failed = json!({ "isError": true, "content": [{ "type": "text", "text": "no\u{7}" }] });
        let error = outcome(&failed).unwrap_err();
        assert_eq!((error.0.code.as_str(), error.0.message.as_str()), ("tool_failed", "no"));
        assert_eq!(outcome(&json!({ "content": [] })).unwrap(), "");
    }
}
