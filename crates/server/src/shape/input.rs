//! What a client sent, as a workflow wants it.

use serde_json::{Value, json};
use signoff_core::schema;
use signoff_runtime::Engine;

/// The input of a workflow: what was sent, as it is, as what its text says in JSON, or as its one field.
pub(crate) fn input(engine: &Engine, workflow: Option<&str>, value: &Value) -> Value {
    let known = workflow.and_then(|id| engine.workflow(id));
    known.map_or_else(|| value.clone(), |known| shaped(&known.workflow.input_schema(), value))
}

fn shaped(wanted: &Value, value: &Value) -> Value {
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let inner = parsed.as_ref().unwrap_or(value).get("input").cloned();
    let field = wanted["required"].as_array().and_then(|names| match &names[..] {
        [Value::String(name)] => Some(json!({ name.as_str(): value })),
        _ => None,
    });
    // Text that is an object with `input` is what some forms make of plain text.
    let candidates = [inner, Some(value.clone()), parsed, field];
    let fits = |value: &Value| schema::check(wanted, value).is_ok();
    candidates.into_iter().flatten().find(fits).unwrap_or_else(|| value.clone())
}
