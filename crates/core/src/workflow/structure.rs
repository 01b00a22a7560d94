//! Whether a file has the right keys with the right kinds of values, in words for people.

use std::sync::LazyLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

use super::NAME_PATTERN;
use super::diagnostic::{MAX_PROBLEMS, Problem, quote, quote_all, suggest};
use super::publish::{SCHEMA, SPAN_PATTERN};
use super::tree::join;

static VALIDATOR: LazyLock<Option<Validator>> =
    LazyLock::new(|| jsonschema::draft202012::new(&SCHEMA).ok());

/// Every problem of `value` as a workflow file.
pub(super) fn problems(value: &Value) -> Vec<Problem> {
    problems_by(VALIDATOR.as_ref(), value)
}

/// Every problem of `value` as a file that `validator` knows.
pub(super) fn problems_by(validator: Option<&Validator>, value: &Value) -> Vec<Problem> {
    // The schema is made from our own types; a test holds that it compiles.
    let Some(validator) = validator else {
        return vec![Problem::value("", "the schema of such files is broken")];
    };
    validator.iter_errors(value).take(MAX_PROBLEMS).flat_map(|error| explain(&error)).collect()
}

/// `value` without the keys that `problems` found unknown, so that the rest can be looked at.
pub(super) fn without_unknown_keys(mut value: Value, problems: &[Problem]) -> Option<Value> {
    for problem in problems {
        if !problem.message.starts_with(UNKNOWN_KEY) {
            return None;
        }
        let (parent, key) = problem.path.rsplit_once('/')?;
        let key = key.replace("~1", "/").replace("~0", "~");
        value.pointer_mut(parent)?.as_object_mut()?.shift_remove(&key);
    }
    Some(value)
}

const UNKNOWN_KEY: &str = "unknown key ";

fn explain(error: &ValidationError<'_>) -> Vec<Problem> {
    let path = error.instance_path().as_str();
    let here = name_of(path);
    let one = |message: String| vec![Problem::value(path, message)];
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|key| {
                let known = properties_at(error);
                Problem::key(join(path, key), format!("{UNKNOWN_KEY}{}", quote(key)))
                    .maybe_hint(suggest(key, known.iter().map(String::as_str), "known keys here"))
            })
            .collect(),
        ValidationErrorKind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            let message = match path {
                "" => format!("`{property}` is missing"),
                _ => format!("{here} needs `{property}`"),
            };
            let about = described_near(error)
                .and_then(|schema| schema["properties"][property]["description"].as_str());
            vec![Problem::key(path, message).maybe_hint(about.map(|about| {
                let about = about.split('\n').next().unwrap_or(about);
                format!("`{property}`: {about}")
            }))]
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(one) => kind_word(*one).to_owned(),
                TypeKind::Multiple(set) => set
                    .iter()
                    .filter(|kind| *kind != JsonType::Null)
                    .map(kind_word)
                    .collect::<Vec<_>>()
                    .join(" or "),
            };
            one(format!("{here} must be {wanted}, this is {}", this_is(error.instance())))
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<&str> =
                options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            vec![not_one_of(path, error.instance(), &options)]
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            alternatives(path, error.instance(), context)
        }
        ValidationErrorKind::PropertyNames { error } => {
            let key = error.instance().as_str().unwrap_or_default();
            vec![
                Problem::key(join(path, key), format!("{} cannot be a name", quote(key)))
                    .hint(NAME_HINT),
            ]
        }
        ValidationErrorKind::Pattern { pattern } if pattern == SPAN_PATTERN => {
            let text = error.instance().as_str().unwrap_or_default();
            vec![
                Problem::value(path, format!("{} is not a length of time", quote(text)))
                    .hint("write for example 30s, 15m or 24h"),
            ]
        }
        ValidationErrorKind::Pattern { pattern } if pattern == NAME_PATTERN => {
            let text = error.instance().as_str().unwrap_or_default();
            vec![Problem::value(path, format!("{} cannot be a name", quote(text))).hint(NAME_HINT)]
        }
        ValidationErrorKind::Minimum { limit } => one(format!("{here} must be at least {limit}")),
        ValidationErrorKind::Maximum { limit } => one(format!("{here} must be at most {limit}")),
        _ => one(format!("{here}: {error}")),
    }
}

const NAME_HINT: &str =
    "a name begins with a letter and goes on with letters, digits, `_` and `-`, 64 at most";

/// Of several ways a value could be right, the one it was most likely meant to be.
fn alternatives(
    path: &str,
    instance: &Value,
    context: &[Vec<ValidationError<'_>>],
) -> Vec<Problem> {
    let constants: Vec<&str> = context
        .iter()
        .flatten()
        .filter_map(|error| match error.kind() {
            ValidationErrorKind::Constant { expected_value } => expected_value.as_str(),
            _ => None,
        })
        .collect();
    if !constants.is_empty() {
        return vec![not_one_of(path, instance, &constants)];
    }
    let wrong_kind = |error: &ValidationError<'_>| {
        error.instance_path().as_str() == path
            && matches!(error.kind(), ValidationErrorKind::Type { .. })
    };
    // The way whose kind of value it is already: what is wrong is inside.
    if let Some(meant) = context.iter().find(|errors| !errors.iter().any(wrong_kind)) {
        return meant.iter().flat_map(explain).collect();
    }
    let mut wanted: Vec<&str> = Vec::new();
    for error in context.iter().flatten().filter(|error| wrong_kind(error)) {
        if let ValidationErrorKind::Type { kind: TypeKind::Single(kind) } = error.kind()
            && *kind != JsonType::Null
            && !wanted.contains(&kind_word(*kind))
        {
            wanted.push(kind_word(*kind));
        }
    }
    let message =
        format!("{} must be {}, this is {}", name_of(path), wanted.join(" or "), this_is(instance));
    vec![Problem::value(path, message)]
}

fn not_one_of(path: &str, instance: &Value, options: &[&str]) -> Problem {
    let here = name_of(path);
    match instance.as_str() {
        Some(text) => {
            let all = quote_all(options.iter().copied());
            Problem::value(path, format!("{here} cannot be {}; it is one of {all}", quote(text)))
                .maybe_hint(
                    suggest(text, options.iter().copied(), "")
                        .filter(|hint| hint.starts_with("did")),
                )
        }
        None => Problem::value(
            path,
            format!(
                "{here} must be one of {}, this is {}",
                quote_all(options.iter().copied()),
                this_is(instance)
            ),
        ),
    }
}

/// The schema that holds the keyword of this error.
fn parent_schema(error: &ValidationError<'_>) -> Option<&'static Value> {
    let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
    SCHEMA.pointer(parent)
}

/// The same, or where that is one of several ways, the schema they are ways of.
fn described_near(error: &ValidationError<'_>) -> Option<&'static Value> {
    let here = parent_schema(error)?;
    if here.get("properties").is_some() {
        return Some(here);
    }
    let (path, _) = error.schema_path().as_str().split_once("/anyOf/")?;
    SCHEMA.pointer(path)
}

fn properties_at(error: &ValidationError<'_>) -> Vec<String> {
    parent_schema(error)
        .and_then(|schema| schema["properties"].as_object())
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

/// What people would call the thing at `path`.
pub(super) fn name_of(path: &str) -> String {
    let Some((parent, last)) = path.rsplit_once('/') else {
        return "the file".to_owned();
    };
    match last.parse::<usize>() {
        Ok(n) => format!("item {} of {}", n + 1, name_of(parent)),
        Err(_) => quote(&last.replace("~1", "/").replace("~0", "~")),
    }
}

fn kind_word(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "nothing",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "text",
        JsonType::Array => "a list",
        JsonType::Object => "a mapping",
    }
}

fn this_is(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
