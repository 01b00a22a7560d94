//! From what somebody lists to what a person chooses from.

use serde_json::{Map, Value};

use crate::request::Choice;

/// The most choices a person is shown.
const MAX_OPTIONS: usize = 100;
/// How much of an option's own fields is shown under its label, in characters.
const MAX_DESCRIPTION_CHARS: usize = 500;

const VALUE_FIELDS: [&str; 5] = ["value", "id", "name", "label", "title"];
const LABEL_FIELDS: [&str; 3] = ["label", "name", "title"];

/// The choices of `options`, or why a person could not choose among them.
pub fn choices(options: &[Value]) -> Result<Vec<Choice>, String> {
    if options.is_empty() {
        return Err("a selection needs at least one option in `options`".into());
    }
    if options.len() > MAX_OPTIONS {
        return Err(format!(
            "{} options are too many to choose from; at most {MAX_OPTIONS}, better three to five",
            options.len()
        ));
    }
    let mut choices: Vec<Choice> = Vec::with_capacity(options.len());
    for (index, option) in options.iter().enumerate() {
        let choice =
            choice(option).map_err(|problem| format!("option {}: {problem}", index + 1))?;
        // The same label twice is as bad as the same value: nobody could tell them apart.
        if choices.iter().any(|other| other.value == choice.value || other.label == choice.label) {
            return Err(format!("option {}: `{}` is there twice", index + 1, choice.label));
        }
        choices.push(choice);
    }
    Ok(choices)
}

/// The option that stands for `answer`, whole, as it was listed.
pub fn find<'a>(options: &'a [Value], answer: &Value) -> Option<&'a Value> {
    options.iter().find(|option| choice(option).is_ok_and(|choice| choice.value == *answer))
}

fn choice(option: &Value) -> Result<Choice, String> {
    match option {
        Value::String(text) if !text.trim().is_empty() => {
            Ok(Choice { value: option.clone(), label: text.trim().to_owned(), description: None })
        }
        Value::Number(_) | Value::Bool(_) => {
            Ok(Choice { value: option.clone(), label: option.to_string(), description: None })
        }
        Value::Object(fields) => from_fields(fields),
        _ => Err("must be text, or an object with `value` and `label`".into()),
    }
}

fn from_fields(fields: &Map<String, Value>) -> Result<Choice, String> {
    let value_field = VALUE_FIELDS
        .into_iter()
        .find(|name| fields.get(*name).is_some_and(|value| scalar_text(value).is_some()))
        .ok_or("needs a `value`, `id` or `name`")?;
    let value = fields[value_field].clone();
    let label_field = LABEL_FIELDS.into_iter().find(|name| {
        fields.get(*name).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    });
    let label = label_field.unwrap_or(value_field);
    let label = scalar_text(&fields[label]).unwrap_or_default();
    let description = match fields.get("description").and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        _ => describe(fields, value_field, label_field.unwrap_or(value_field)),
    };
    Ok(Choice { value, label, description })
}

/// What the option's other plain fields say: `capacity: 80, price: 1500`.
fn describe(fields: &Map<String, Value>, value_field: &str, label_field: &str) -> Option<String> {
    let told: Vec<String> = fields
        .iter()
        .filter(|(name, _)| *name != value_field && *name != label_field)
        .filter_map(|(name, value)| {
            Some(format!("{}: {}", name.replace('_', " "), scalar_text(value)?))
        })
        .collect();
    let text: String = told.join(", ").chars().take(MAX_DESCRIPTION_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
