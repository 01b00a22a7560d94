//! The JSON Schema of a workflow file: what editors are given, and what files are checked against.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{NAME_PATTERN, Workflow};

/// Where the schema is published.
pub const SCHEMA_ID: &str = "https://signoff.dev/schema/workflow.json";
/// A length of time. Nine digits of days still fit the milliseconds it is kept in.
pub(super) const SPAN_PATTERN: &str = "^[0-9]{1,9}(ms|s|m|h|d)$";

/// The JSON Schema of a workflow file.
pub fn json_schema() -> Value {
    SCHEMA.clone()
}

pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let generated = serde_json::to_value(schemars::schema_for!(Workflow)).unwrap_or_default();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Signoff workflow",
    });
    if let (Value::Object(schema), Value::Object(generated)) = (&mut schema, generated) {
        for (name, value) in generated {
            schema.entry(name).or_insert(value);
        }
    }
    bound_numbers(&mut schema);
    schema["$defs"]["Span"]["pattern"] = SPAN_PATTERN.into();
    for map in ["agents", "types", "tools", "executors"] {
        schema["properties"][map]["propertyNames"] = json!({ "pattern": NAME_PATTERN });
    }
    schema
});

/// A generated schema says `"format": "uint32"`, which no checker knows; bounds say the same to all.
pub(super) fn bound_numbers(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format") == Some(&json!("uint32")) {
                fields.remove("format");
                fields.insert("maximum".into(), u32::MAX.into());
            }
            fields.values_mut().for_each(bound_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(bound_numbers),
        _ => {}
    }
}
