//! What a form is made of.

use std::collections::BTreeSet;

use serde_json::Value;
use signoff_core::DecisionKind;
use signoff_core::request::{RequestBody, RequestKind};

use super::{Extra, Field, Part, pick};
use crate::editor::Editor;

/// The most fields that are shown one by one; more are edited as JSON.
const MAX_FIELDS: usize = 40;

/// What a decision is called on its button.
pub(super) fn label(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Respond => "Send answer",
        DecisionKind::Approve => "Approve",
        DecisionKind::Edit => "Change and approve",
        DecisionKind::Reject => "Deny",
        DecisionKind::Revise => "Revise",
        DecisionKind::Redo => "Do again",
        DecisionKind::Retry => "Try again",
        DecisionKind::Skip => "Skip",
        DecisionKind::Rollback => "Undo the step",
        DecisionKind::Abort => "Abort the run",
    }
}

/// A value as it is typed.
pub(super) fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

pub(super) fn parts(body: &RequestBody) -> Vec<Part> {
    let allows = |kind: DecisionKind| body.allowed.contains(&kind);
    let mut parts = Vec::new();
    // A call can be changed, or answered in place of its result; other questions want one of both.
    let call = body.kind == RequestKind::ToolCall;
    if allows(DecisionKind::Edit) && (call || !allows(DecisionKind::Respond)) {
        edits(body, &mut parts);
    }
    if allows(DecisionKind::Respond) {
        answers(body, &mut parts);
    }
    let plain = |kind: &DecisionKind| *kind == DecisionKind::Respond;
    if !body.allowed.iter().all(plain) {
        parts.push(Part::Note(Editor::line()));
    }
    parts.extend(Extra::of(body).into_iter().map(Part::Extra));
    parts.push(Part::Buttons);
    parts
}

fn answers(body: &RequestBody, parts: &mut Vec<Part>) {
    let schema = &body.response_schema;
    let choice = |value: &Value| (written(value), value.clone(), None);
    // What is said in place of a tool's result is free.
    let free = body.kind == RequestKind::ToolCall;
    let listed = body.options.iter();
    let listed: Vec<_> =
        listed.map(|it| (it.label.clone(), it.value.clone(), it.description.clone())).collect();
    let several = schema["type"] == "array" && !free;
    if let Some(values) = schema["items"]["enum"].as_array().filter(|it| several && !it.is_empty())
    {
        // What stands in the options has words of its own.
        let said = |value: &Value| listed.iter().find(|it| it.1 == *value).cloned();
        let of = values.iter().map(|value| said(value).unwrap_or_else(|| choice(value))).collect();
        parts.push(Part::Several { of, on: BTreeSet::new(), at: 0 });
    } else if several && !listed.is_empty() {
        parts.push(Part::Several { of: listed, on: BTreeSet::new(), at: 0 });
    } else if !listed.is_empty() {
        parts.push(Part::Choices { of: listed, at: None });
    } else if let Some(values) = schema["enum"].as_array().filter(|it| !free && !it.is_empty()) {
        parts.push(Part::Choices { of: values.iter().map(choice).collect(), at: None });
    } else if schema["type"] == "boolean" && !free {
        let of = vec![("yes".to_owned(), true.into(), None), ("no".to_owned(), false.into(), None)];
        parts.push(Part::Choices { of, at: None });
    } else if let Some(fields) = fields(schema, &Value::Null).filter(|_| !free) {
        parts.extend(fields.into_iter().map(Part::Field));
    } else {
        let text = schema["type"] == "string" || schema["type"].is_null() || free;
        let label = match (free, text) {
            (true, _) => "Or say this in place of its result",
            (false, true) => "Answer",
            (false, false) => "Answer, as JSON",
        };
        parts.push(Part::Text { label, editor: Editor::lines(), was: None });
    }
}

fn edits(body: &RequestBody, parts: &mut Vec<Part>) {
    let Some(proposal) = body.proposal() else { return };
    if let Some(fields) = fields(&body.response_schema, proposal) {
        parts.extend(fields.into_iter().map(Part::Field));
        return;
    }
    let (label, was) = match proposal {
        Value::String(text) => ("Proposed", text.clone()),
        other => ("Proposed, as JSON", serde_json::to_string_pretty(other).unwrap_or_default()),
    };
    let editor = Editor::lines().with(&was).at_start();
    let was = Some(editor.text().to_owned());
    parts.push(Part::Text { label, editor, was });
}

/// The fields of an object, of what is proposed or of what the schema names.
fn fields(schema: &Value, proposal: &Value) -> Option<Vec<Field>> {
    let properties = schema["properties"].as_object();
    let needed = |name: &str| {
        schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name))
    };
    let about = |property: &Value| {
        let title = property["description"].as_str().or(property["title"].as_str());
        let values = property["enum"]
            .as_array()
            .map(|values| values.iter().map(written).collect::<Vec<_>>().join(", "));
        match (title, values) {
            (Some(title), Some(values)) => Some(format!("{title}: {values}")),
            (title, values) => title.map(ToOwned::to_owned).or(values),
        }
    };
    let fields: Vec<Field> = match (proposal.as_object(), properties) {
        (Some(proposed), _) => proposed
            .iter()
            .map(|(name, value)| {
                let property = properties.and_then(|all| all.get(name)).unwrap_or(&Value::Null);
                Field {
                    name: name.clone(),
                    about: about(property),
                    editor: Editor::line().with(&written(value)),
                    json: !value.is_string(),
                    was: Some(value.clone()),
                    needed: needed(name),
                    of: pick::values(property, Some(value), needed(name)),
                    sought: String::new(),
                }
            })
            .collect(),
        (None, Some(properties)) if proposal.is_null() => properties
            .iter()
            .map(|(name, property)| Field {
                name: name.clone(),
                about: about(property),
                editor: Editor::line()
                    .with(&property.get("default").map(written).unwrap_or_default()),
                json: property["type"].as_str().is_some_and(|kind| kind != "string"),
                was: None,
                needed: needed(name),
                of: pick::values(property, None, needed(name)),
                sought: String::new(),
            })
            .collect(),
        _ => return None,
    };
    // What has parts of its own is not a line.
    let flat =
        fields.iter().all(|field| !matches!(field.was, Some(Value::Array(_) | Value::Object(_))));
    // A line that loses something on the way in cannot be edited as a line.
    let whole = fields
        .iter()
        .all(|field| field.was.as_ref().is_none_or(|was| field.editor.text() == written(was)));
    (!fields.is_empty() && fields.len() <= MAX_FIELDS && whole && flat).then_some(fields)
}
