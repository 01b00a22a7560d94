//! The JSON Schemas of a definition: each one compiles, and none can blow up.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Check;
use crate::schema;
use crate::workflow::diagnostic::{Problem, quote, suggest};
use crate::workflow::structure::name_of;
use crate::workflow::tree::join;
use crate::workflow::types::{PREFIX, Reference, references, unsupported};

/// How many shared types a file may have.
pub(crate) const MAX_TYPES: usize = 256;
/// How many values a schema may have with its references followed: compiling follows them all.
pub(crate) const MAX_EXPANDED: usize = 20_000;

impl Check<'_> {
    pub(super) fn schemas(&mut self) {
        let workflow = self.workflow;
        let before = self.problems.len();
        let mut all: Vec<(String, &Value)> = Vec::new();
        for (name, schema) in &workflow.types {
            all.push((join("/types", name), schema));
        }
        for (name, agent) in &workflow.agents {
            if let Some(schema) = &agent.output {
                all.push((join(&join("/agents", name), "output"), schema));
            }
        }
        for (name, tool) in &workflow.tools {
            if let Some(schema) = &tool.parameters {
                all.push((join(&join("/tools", name), "parameters"), schema));
            }
        }
        if let Some(schema) = &workflow.input {
            all.push(("/input".to_owned(), schema));
        }
        if workflow.types.len() > MAX_TYPES {
            let message = format!("at most {MAX_TYPES} types are accepted");
            self.report(Problem::key("/types", message));
            return;
        }
        for (path, schema) in &all {
            self.schema(path, schema);
        }
        self.types_come_down();
        if self.problems.len() > before {
            return;
        }
        // Only now is it safe to follow every reference.
        let mut weights = BTreeMap::new();
        for (path, schema) in &all {
            let weight = self.weight(schema, &mut weights, &mut BTreeSet::new());
            if weight > MAX_EXPANDED {
                let message = format!(
                    "the schema has more than {MAX_EXPANDED} values with its references followed"
                );
                self.report(Problem::value(path, message).hint("make it smaller"));
            } else if let Err(problem) = schema::compile(&workflow.standalone(schema)) {
                self.report(Problem::value(path, problem));
            }
        }
        if self.problems.len() == before {
            self.samples();
        }
    }

    fn schema(&mut self, path: &str, schema: &Value) {
        if !schema.is_object() && !schema.is_boolean() {
            self.report(
                Problem::value(path, "a JSON Schema is a mapping")
                    .hint("write for example `{ type: string }`"),
            );
            return;
        }
        for (place, word) in unsupported(schema) {
            self.report(
                Problem::key(format!("{path}{place}"), format!("`{word}` is not supported here"))
                    .hint("put shared schemas under `types` and refer to `#/types/NAME`"),
            );
        }
        for reference in references(schema) {
            let place = format!("{path}{}", reference.path);
            match reference.type_name() {
                Some(name) => {
                    let known = self.workflow.types.keys().map(String::as_str);
                    self.must_know("type", &name, &place, known);
                }
                None => self.report(
                    Problem::value(
                        place,
                        format!("{} is not a reference to a type", quote(&reference.target)),
                    )
                    .hint(format!("write `{PREFIX}NAME`")),
                ),
            }
        }
        for error in jsonschema::draft202012::meta::validator().iter_errors(schema).take(20) {
            let place = error.instance_path().as_str();
            let problem = match error.instance().as_ref() {
                Value::String(text) if place.ends_with("/type") => {
                    let types =
                        ["string", "number", "integer", "boolean", "object", "array", "null"];
                    Problem::value(
                        format!("{path}{place}"),
                        format!("{} is not a type of JSON Schema", quote(text)),
                    )
                    .maybe_hint(suggest(text, types, "types"))
                }
                _ => {
                    let full = format!("{path}{place}");
                    let message =
                        format!("{} is not right in a JSON Schema: {error}", name_of(&full));
                    Problem::value(full, shorten(&message))
                }
            };
            self.report(problem);
        }
    }

    /// A type that is itself without going into a part of the value would never end.
    fn types_come_down(&mut self) {
        let workflow = self.workflow;
        let mut next: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, schema) in &workflow.types {
            let same = references(schema)
                .into_iter()
                .filter(|reference| reference.same_value)
                .filter_map(|reference| reference.type_name());
            next.insert(name, same.collect());
        }
        for name in workflow.types.keys() {
            let mut seen: BTreeSet<&str> = BTreeSet::new();
            let mut open: Vec<&str> = vec![name];
            let mut loops = false;
            while let Some(current) = open.pop() {
                for to in next.get(current).into_iter().flatten() {
                    loops |= to == name;
                    if seen.insert(to) {
                        open.push(to);
                    }
                }
            }
            if loops {
                self.report(
                    Problem::key(
                        join("/types", name),
                        format!("type {} is defined by itself", quote(name)),
                    )
                    .hint("refer to it only from inside of `properties` or `items`"),
                );
            }
        }
    }

    /// How many values `schema` has with references followed; a type inside of itself counts once.
    fn weight(
        &self,
        schema: &Value,
        done: &mut BTreeMap<String, usize>,
        inside: &mut BTreeSet<String>,
    ) -> usize {
        let mut total = size(schema);
        for name in references(schema).iter().filter_map(Reference::type_name) {
            let weight = match (done.get(&name), self.workflow.types.get(&name)) {
                (Some(weight), _) => *weight,
                (None, Some(found)) if inside.insert(name.clone()) => {
                    let weight = self.weight(found, done, inside);
                    inside.remove(&name);
                    done.insert(name, weight);
                    weight
                }
                _ => 1,
            };
            total = total.saturating_add(weight);
        }
        total
    }

    fn samples(&mut self) {
        let workflow = self.workflow;
        if workflow.samples.is_empty() {
            return;
        }
        let Ok(validator) = schema::compile(&workflow.input_schema()) else {
            return;
        };
        for (n, sample) in workflow.samples.iter().enumerate() {
            if let Err(problems) = schema::problems(&validator, sample) {
                self.report(Problem::value(
                    format!("/samples/{n}"),
                    shorten(&format!("the sample does not fit `input`: {}", problems.join("; "))),
                ));
            }
        }
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

/// Messages of the schema checker show the value, which may be long.
fn shorten(message: &str) -> String {
    match message.char_indices().nth(300) {
        Some((cut, _)) => format!("{}…", &message[..cut]),
        None => message.to_owned(),
    }
}
