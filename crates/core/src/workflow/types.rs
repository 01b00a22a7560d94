//! JSON Schemas of a definition: how they share types, and how one is made to stand alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::Workflow;

/// How a schema refers to a shared type.
pub(super) const PREFIX: &str = "#/types/";
/// Keywords whose value is a mapping from names to schemas.
const NAMED: &[&str] =
    &["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Keywords whose value is data and not a schema.
const DATA: &[&str] = &["const", "enum", "default", "examples"];

impl Workflow {
    /// The schema of `agent`'s final answer, with the types it uses inside (as `$defs`). None for an
    /// agent that answers in free text, or that does not exist.
    pub fn output_schema(&self, agent: &str) -> Option<Value> {
        let own = self.agents.get(agent)?.output.as_ref().map(|schema| self.standalone(schema));
        own.or_else(|| self.in_phases()?.output(agent))
    }

    /// The schema of the start input, with the types it uses inside. Text, if the file has none.
    pub fn input_schema(&self) -> Value {
        match &self.input {
            Some(schema) => self.standalone(schema),
            None => json!({ "type": "string" }),
        }
    }

    /// The schema of a canned tool's arguments, with the types it uses inside. Any object, if the
    /// file has none.
    pub fn tool_schema(&self, tool: &str) -> Option<Value> {
        Some(match &self.tools.get(tool)?.parameters {
            Some(schema) => self.standalone(schema),
            None => json!({ "type": "object" }),
        })
    }

    pub(super) fn standalone(&self, schema: &Value) -> Value {
        standalone(schema, &self.types)
    }
}

fn standalone(schema: &Value, types: &BTreeMap<String, Value>) -> Value {
    let mut used = BTreeSet::new();
    let mut open: Vec<String> = type_names(schema);
    while let Some(name) = open.pop() {
        if let Some(found) = types.get(&name)
            && used.insert(name)
        {
            open.extend(type_names(found));
        }
    }
    let mut schema = schema.clone();
    redirect(&mut schema, false);
    if used.is_empty() {
        return schema;
    }
    let mut defs = Map::new();
    for name in used {
        if let Some(found) = types.get(&name) {
            let mut found = found.clone();
            redirect(&mut found, false);
            defs.insert(name, found);
        }
    }
    if let Value::Object(fields) = &mut schema {
        fields.insert("$defs".into(), Value::Object(defs));
    }
    schema
}

/// Where a schema refers to something.
pub(super) struct Reference {
    /// The place of the reference in the schema, as a JSON pointer.
    pub(super) path: String,
    /// What it refers to.
    pub(super) target: String,
    /// Whether following it looks at the same value again instead of a part of it.
    pub(super) same_value: bool,
}

impl Reference {
    /// The shared type it refers to, if it refers to one.
    pub(super) fn type_name(&self) -> Option<String> {
        let name = self.target.strip_prefix(PREFIX)?.split('/').next()?;
        Some(name.replace("~1", "/").replace("~0", "~"))
    }
}

/// Every reference in `schema`.
pub(super) fn references(schema: &Value) -> Vec<Reference> {
    let mut found = Vec::new();
    visit(schema, "", true, &mut |path, fields, same_value| {
        if let Some(Value::String(target)) = fields.get("$ref") {
            let path = format!("{path}/$ref");
            found.push(Reference { path, target: target.clone(), same_value });
        }
    });
    found
}

/// Keywords of `schema` that cannot work once it is put into another one, with their places.
pub(super) fn unsupported(schema: &Value) -> Vec<(String, &'static str)> {
    const WORDS: &[&str] = &[
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$defs",
        "definitions",
        "$vocabulary",
    ];
    let mut found = Vec::new();
    visit(schema, "", true, &mut |path, fields, _| {
        for word in WORDS.iter().filter(|word| fields.contains_key(**word)) {
            found.push((format!("{path}/{word}"), *word));
        }
    });
    found
}

fn type_names(schema: &Value) -> Vec<String> {
    references(schema).iter().filter_map(Reference::type_name).collect()
}

/// Calls `see` with every subschema that is an object, its place, and whether it judges the same
/// value as the whole schema does.
fn visit(
    schema: &Value,
    path: &str,
    same_value: bool,
    see: &mut impl FnMut(&str, &Map<String, Value>, bool),
) {
    let Value::Object(fields) = schema else {
        return;
    };
    see(path, fields, same_value);
    for (word, value) in fields {
        let below = super::tree::join(path, word);
        let same = same_value
            && matches!(
                word.as_str(),
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
            );
        match value {
            _ if DATA.contains(&word.as_str()) => {}
            Value::Object(named) if NAMED.contains(&word.as_str()) => {
                for (name, value) in named {
                    visit(value, &super::tree::join(&below, name), same, see);
                }
            }
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    visit(item, &format!("{below}/{n}"), same, see);
                }
            }
            other => visit(other, &below, same, see),
        }
    }
}

/// Turns references to shared types into references inside of the schema that stands alone.
fn redirect(schema: &mut Value, named: bool) {
    let Value::Object(fields) = schema else {
        if let Value::Array(items) = schema {
            for item in items {
                redirect(item, false);
            }
        }
        return;
    };
    for (word, value) in fields.iter_mut() {
        match value {
            Value::String(target) if word == "$ref" && !named => {
                if let Some(name) = target.strip_prefix(PREFIX) {
                    *target = format!("#/$defs/{name}");
                }
            }
            _ if !named && DATA.contains(&word.as_str()) => {}
            other => redirect(other, !named && NAMED.contains(&word.as_str())),
        }
    }
}
