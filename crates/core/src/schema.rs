//! JSON Schema checks, bounded, and never leaving the process.

pub use jsonschema::Validator;
use serde_json::{Value, json};

/// The largest schema accepted, in bytes of JSON.
pub const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// How deep a schema may nest.
pub const MAX_SCHEMA_DEPTH: usize = 32;
/// How many problems are reported for one value.
const MAX_PROBLEMS: usize = 20;
/// How much is said of one of them, in bytes.
const MAX_PROBLEM_BYTES: usize = 1024;

/// Compiles `schema`, or says why it is not one that can be used here.
pub fn compile(schema: &Value) -> Result<Validator, String> {
    let size = serde_json::to_string(schema).map_or(usize::MAX, |text| text.len());
    if size > MAX_SCHEMA_BYTES {
        return Err(format!(
            "the schema has {size} bytes; at most {MAX_SCHEMA_BYTES} are accepted"
        ));
    }
    if depth(schema, 0) > MAX_SCHEMA_DEPTH {
        return Err(format!("the schema nests deeper than {MAX_SCHEMA_DEPTH} levels"));
    }
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(jsonschema::PatternOptions::regex().size_limit(1 << 20))
        .build(schema)
        .map_err(|error| error.to_string())
}

/// Whether `value` fits `schema`; if not, every problem with its place.
pub fn check(schema: &Value, value: &Value) -> Result<(), Vec<String>> {
    // The schemas of plain questions need no compiling.
    if schema.is_null() || schema.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(());
    }
    let validator = compile(schema).map_err(|problem| vec![problem])?;
    problems(&validator, value)
}

/// Compiled schemas, kept because compiling costs far more than checking and most requests share a
/// few schemas. Bounded; forgets everything when it is full.
#[derive(Debug, Default)]
pub struct Compiled {
    by_text: std::sync::Mutex<std::collections::HashMap<String, std::sync::Arc<Validator>>>,
}

/// How many schemas are kept.
const MAX_COMPILED: usize = 256;

impl Compiled {
    /// The same as [`check`].
    pub fn check(&self, schema: &Value, value: &Value) -> Result<(), Vec<String>> {
        let text = schema.to_string();
        let lock = || self.by_text.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = lock().get(&text).cloned();
        if let Some(validator) = known {
            return problems(&validator, value);
        }
        let validator = std::sync::Arc::new(compile(schema).map_err(|problem| vec![problem])?);
        let mut by_text = lock();
        if by_text.len() >= MAX_COMPILED {
            by_text.clear();
        }
        by_text.insert(text, std::sync::Arc::clone(&validator));
        drop(by_text);
        problems(&validator, value)
    }
}

/// Every problem of `value`, with its place.
pub fn problems(validator: &Validator, value: &Value) -> Result<(), Vec<String>> {
    let problems: Vec<String> = validator
        .iter_errors(value)
        .take(MAX_PROBLEMS)
        .map(|error| {
            let place = error.instance_path().to_string();
            let said =
                if place.is_empty() { error.to_string() } else { format!("{place}: {error}") };
            // It quotes what is wrong, however long that is.
            crate::text::cut(said, MAX_PROBLEM_BYTES)
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn depth(value: &Value, above: usize) -> usize {
    if above > MAX_SCHEMA_DEPTH {
        return above;
    }
    match value {
        Value::Array(items) => {
            items.iter().map(|item| depth(item, above + 1)).max().unwrap_or(above)
        }
        Value::Object(fields) => {
            fields.values().map(|field| depth(field, above + 1)).max().unwrap_or(above)
        }
        _ => above,
    }
}

/// A schema for values of the same shape as `example`: what an edit of a proposal must look like.
pub fn shape_of(example: &Value) -> Value {
    match example {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_i64() || number.is_u64() => json!({ "type": "number" }),
        Value::Number(_) => json!({ "type": "number" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Array(items) => match items.first() {
            Some(first) => json!({ "type": "array", "items": shape_of(first) }),
            None => json!({ "type": "array" }),
        },
        Value::Object(fields) => {
            let properties: serde_json::Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), shape_of(value))).collect();
            let required: Vec<&String> = fields.keys().collect();
            json!({
                "type": "object",
                "required": required,
                "properties": properties,
                "additionalProperties": false,
            })
        }
    }
}

/// Puts all keys in order, at every depth.
pub(crate) fn sort_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.sort_keys();
            fields.values_mut().for_each(sort_keys);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_keys),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_must_keep_the_shape() {
        let schema = shape_of(&json!({ "venue": 1200, "notes": "x", "items": [1] }));
        assert!(check(&schema, &json!({ "venue": 900, "notes": "", "items": [] })).is_ok());
        let problems =
            check(&schema, &json!({ "venue": "much", "items": [], "extra": 1 })).unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn what_is_wrong_with_something_large_is_said_in_few_words() {
        let large = json!(["é".repeat(1_000_000), "x".repeat(1_000_000)]);
        let problems = check(&json!({ "items": { "type": "integer" } }), &large).unwrap_err();
        assert_eq!(problems.len(), 2);
        assert!(problems.iter().all(|it| it.len() < 1100 && it.ends_with('…')), "{problems:?}");
    }

    #[test]
    fn bombs_are_refused() {
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({ "properties": { "a": deep } });
        }
        assert!(compile(&deep).unwrap_err().contains("deeper"));
        assert!(compile(&json!({ "enum": ["x".repeat(100_000)] })).unwrap_err().contains("bytes"));
        assert!(compile(&json!({ "type": "strin" })).is_err());
        assert!(compile(&json!({ "$ref": "http://127.0.0.1:1/schema" })).is_err());
    }
}
