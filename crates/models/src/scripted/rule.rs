//! Rules: when they fit, and what they say.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;
use signoff_core::Name;
use signoff_core::journal::ErrorInfo;

use super::template::{Scope, Template, Templates, plain};
use super::view::View;
use super::{Manner, ScriptError};
use crate::provider::ModelRequest;

/// One rule. All its conditions must hold.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) agents: Vec<Name>,
    pub(super) turn: Option<u32>,
    pub(super) messages: Option<usize>,
    pub(super) id: Option<Regex>,
    pub(super) input: Option<Regex>,
    pub(super) last: Option<Regex>,
    pub(super) when: Option<Regex>,
    pub(super) unless: Option<Regex>,
    pub(super) condition: Option<Template>,
    pub(super) reply: Reply,
    pub(super) manner: Manner,
}

/// What a rule says.
#[derive(Debug)]
pub(super) enum Reply {
    /// Text, tool calls, or both.
    Say { text: Option<Template>, calls: Vec<(Name, Template)> },
    /// A value, as text.
    Json(Template),
    /// An error.
    Fail { info: ErrorInfo, retryable: bool },
}

impl Rule {
    /// Whether it fits. If so, its named groups are in `scope` as `captures`.
    pub(super) fn fits(
        &self,
        request: &ModelRequest,
        view: &View,
        templates: &Templates,
        scope: &mut Scope,
    ) -> Result<bool, ScriptError> {
        let is = |wanted: Option<usize>, there: usize| wanted.is_none_or(|wanted| wanted == there);
        if !(self.agents.is_empty() || self.agents.contains(&request.agent))
            || self.turn.is_some_and(|turn| turn != view.turn)
            || !is(self.messages, view.messages)
            || self.unless.as_ref().is_some_and(|pattern| pattern.is_match(&view.text))
        {
            return Ok(false);
        }
        let mut captures = BTreeMap::new();
        for (pattern, text) in [
            (&self.id, &view.id),
            (&self.input, &view.input),
            (&self.last, &view.last),
            (&self.when, &view.text),
        ] {
            let Some(pattern) = pattern else { continue };
            let Some(found) = pattern.captures(text) else { return Ok(false) };
            for name in pattern.capture_names().flatten() {
                if let Some(group) = found.name(name) {
                    captures.insert(name, group.as_str());
                }
            }
        }
        scope.set("captures", &serde_json::json!(captures));
        match &self.condition {
            None => Ok(true),
            Some(condition) => templates.render(condition, scope).map(|value| is_true(&value)),
        }
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// A named value of a script.
#[derive(Debug)]
pub(super) enum Binding {
    /// What a template gives.
    Template(Template),
    /// What a pattern finds: its first group, or all of it.
    Find { pattern: Regex, within: Template, number: bool, default: Template },
}

impl Binding {
    pub(super) fn value(&self, templates: &Templates, scope: &Scope) -> Result<Value, ScriptError> {
        match self {
            Self::Template(template) => templates.render(template, scope),
            Self::Find { pattern, within, number, default } => {
                let within = plain(&templates.render(within, scope)?);
                let found = pattern.captures(&within).and_then(|found| {
                    // The first group that took part, so that alternatives can each have their own.
                    (1..found.len()).find_map(|group| found.get(group)).or_else(|| found.get(0))
                });
                match found.map(|found| found.as_str()) {
                    Some(text) if *number => match as_number(text) {
                        Some(number) => Ok(number),
                        None => templates.render(default, scope),
                    },
                    Some(text) => Ok(text.trim().into()),
                    None => templates.render(default, scope),
                }
            }
        }
    }
}

/// `3,000` and `$3000` and `3k` as a number.
fn as_number(text: &str) -> Option<Value> {
    let text = text
        .trim()
        .trim_start_matches(['$', '€', '£'])
        .replace([',', ' '], "")
        .to_ascii_lowercase();
    let (digits, factor) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => (text.as_str(), 1),
    };
    if let Ok(whole) = digits.parse::<i64>() {
        return whole.checked_mul(factor).map(Value::from);
    }
    let number = digits.parse::<f64>().ok()? * f64::from(i32::try_from(factor).ok()?);
    serde_json::Number::from_f64(number).map(Value::Number)
}
