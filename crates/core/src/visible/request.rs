//! A request as people may be shown it.

use serde_json::{Map, Value};

use super::{Look, Secrets, value};
use crate::request::{RequestBody, RequestKind};

/// Fields of a context that are bound, or are names and digests of the system.
const EXACT: [&str; 7] =
    ["tool", "options", "digest", "implementation", "policy", "on_timeout", "action"];
/// The longest text in which words that press are looked for: beyond it, it is data.
const WORDS_IN: usize = 4000;

/// The field of a context that was only a text, once something is said of it.
const TEXT: &str = "text";

impl RequestBody {
    /// The same with nothing hidden in what people are shown, and no secret. `context.proposal`, the values of options and
    /// what a preview pins stay exact; where the proposal would be shown otherwise, `context.shown` is that, and
    /// `context.warnings` says what was found.
    #[must_use]
    pub fn made_visible(mut self, secrets: &Secrets) -> Self {
        let mut look = Look::new(secrets);
        // What the system asks in its own words presses nobody.
        let of_model = self.kind != RequestKind::ToolCall;
        if of_model && self.prompt.len() <= WORDS_IN {
            look.words(&self.prompt);
        }
        self.prompt = look.text("prompt", &self.prompt);
        for option in &mut self.options {
            option.label = look.text("options", &option.label);
            option.description = option.description.as_ref().map(|it| look.text("options", it));
        }
        self.reasons = self.reasons.iter().map(|it| super::text(it, secrets)).collect();
        self.preview = match std::mem::take(&mut self.preview) {
            Value::Object(fields) => Value::Object(preview(fields, &mut look)),
            other => look.value("preview", &other),
        };
        let was_object = self.context.is_object();
        let mut context = match std::mem::take(&mut self.context) {
            Value::Object(fields) => self::context(fields, of_model, &mut look),
            Value::Null => Map::new(),
            other => Map::from_iter([(TEXT.to_owned(), look.value("context", &other))]),
        };
        let warnings = look.warnings();
        if !warnings.is_empty() {
            context.insert("warnings".to_owned(), warnings.into());
        }
        self.context = match context.len() {
            0 => Value::Null,
            // Without warnings it need not be an object.
            1 if !was_object && context.contains_key(TEXT) => {
                context.remove(TEXT).unwrap_or_default()
            }
            _ => Value::Object(context),
        };
        self
    }

    /// What is proposed as people may be shown it.
    pub fn shown_proposal(&self) -> Option<&Value> {
        self.context.get("shown").or_else(|| self.proposal())
    }

    /// What people are warned of.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let warnings = self.context.get("warnings").and_then(Value::as_array);
        warnings.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// Whether it is a text in which nothing can hide.
fn is_plain(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.bytes().all(|it| it.is_ascii_graphic()))
}

/// What the system says an action would do. What it pins is bound.
fn preview(fields: Map<String, Value>, look: &mut Look<'_>) -> Map<String, Value> {
    let shown = fields.into_iter().map(|(name, value)| {
        let value = match name.as_str() {
            "pin" => value,
            _ => look.value(&format!("preview.{name}"), &value),
        };
        (name, value)
    });
    shown.collect()
}

fn context(fields: Map<String, Value>, of_model: bool, look: &mut Look<'_>) -> Map<String, Value> {
    let proposed = if of_model { "proposal" } else { "arguments" };
    let mut context = Map::new();
    for (name, given) in fields {
        // Only we say what was found.
        if name == "shown" || name == "warnings" {
            continue;
        }
        let kept = match name.as_str() {
            "proposal" => {
                words(&given, look);
                let shown = look.value(proposed, &given);
                if shown != given {
                    context.insert("shown".to_owned(), shown);
                }
                given
            }
            "reasons" => evidence(given, look.secrets),
            name if EXACT.contains(&name) => given,
            // Somebody is to open it as it is.
            "url" if is_plain(&given) => given,
            _ => {
                if of_model {
                    words(&given, look);
                }
                look.value(&name, &given)
            }
        };
        context.insert(name, kept);
    }
    context
}

/// What speaks for asking. The gate and the criterion are compared with later, so only what was found stays out of sight.
fn evidence(reasons: Value, secrets: &Secrets) -> Value {
    let Value::Array(reasons) = reasons else { return value(&reasons, secrets) };
    let shown = reasons.into_iter().map(|mut reason| {
        match reason.get_mut("evidence") {
            Some(Value::String(text)) => *text = super::text(text, secrets),
            Some(_) => {}
            None => reason = value(&reason, secrets),
        }
        reason
    });
    shown.collect()
}

/// Looks for words that press in short texts.
fn words(value: &Value, look: &mut Look<'_>) {
    match value {
        Value::String(text) if text.len() <= WORDS_IN => look.words(text),
        Value::Array(items) => items.iter().for_each(|item| words(item, look)),
        Value::Object(fields) => fields.values().for_each(|value| words(value, look)),
        _ => {}
    }
}
