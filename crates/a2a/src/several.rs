//! Several questions in one message: one request whose answer has a field for each.

use serde_json::{Map, Value, json};
use signoff_core::DecisionKind;
use signoff_core::text::clean;

use crate::question::{options, usable};
use crate::wire::Part;

/// The most questions at once.
const MAX_QUESTIONS: usize = 32;
/// The longest name of a question, in bytes.
const MAX_NAME: usize = 200;
/// The longest title, in bytes.
const MAX_TITLE: usize = 512;
/// By which agents name their questions.
const NAMES: [&str; 3] = ["requestId", "id", "name"];

/// Questions that are asked together.
#[derive(Debug)]
pub(crate) struct Several(Vec<One>);

#[derive(Debug)]
struct One {
    /// The field of the answer.
    name: String,
    /// Whether the agent wants to be told which question is answered.
    by_request: bool,
    schema: Value,
}

/// The questions in a message, if there are several.
pub(crate) fn of_parts(parts: &[Part]) -> Option<Several> {
    let data = parts.iter().filter_map(|part| part.data.as_ref()?.as_object());
    let mut all: Vec<One> = Vec::new();
    for data in data {
        let Some(schema) = wanted(data) else { continue };
        let named = NAMES.iter().find_map(|key| data.get(*key)?.as_str());
        let fits = |name: &&str| !name.is_empty() && name.len() <= MAX_NAME;
        let name = named.filter(fits).map_or_else(|| format!("{}", all.len() + 1), str::to_owned);
        all.push(One { name, by_request: data.contains_key("requestId"), schema });
    }
    let names: std::collections::BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let apart = names.len() == all.len();
    ((2..=MAX_QUESTIONS).contains(&all.len()) && apart).then_some(Several(all))
}

/// What answers one question.
fn wanted(data: &Map<String, Value>) -> Option<Value> {
    let offered = data.get("options").and_then(options);
    let schema = match offered {
        Some(options) => {
            let values: Vec<Value> = options.into_iter().map(|option| option.value).collect();
            json!({ "enum": values })
        }
        None => usable(data.get("schema")?)?,
    };
    let allowed = data.get("allowed").cloned().map(serde_json::from_value::<Vec<DecisionKind>>);
    let mut ways = match allowed {
        Some(Ok(allowed)) => {
            let named: Vec<&DecisionKind> = allowed
                .iter()
                .filter(|kind| !matches!(kind, DecisionKind::Respond | DecisionKind::Abort))
                .collect();
            let by_name = json!({
                "type": "object",
                "properties": { "decision": { "enum": named } },
                "required": ["decision"],
            });
            match (named.is_empty(), allowed.contains(&DecisionKind::Respond)) {
                (true, _) => schema,
                (false, true) => json!({ "anyOf": [schema, by_name] }),
                (false, false) => by_name,
            }
        }
        _ => schema,
    };
    let title = ["prompt", "title"].iter().find_map(|key| data.get(*key)?.as_str());
    if let (Some(title), Value::Object(fields)) = (title, &mut ways) {
        fields.insert("title".to_owned(), clean(title, MAX_TITLE).into());
    }
    Some(ways)
}

impl Several {
    /// What an answer to all of them must fit.
    pub(crate) fn schema(&self) -> Value {
        let fields: Map<String, Value> =
            self.0.iter().map(|one| (one.name.clone(), one.schema.clone())).collect();
        let names: Vec<&str> = self.0.iter().map(|one| one.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": fields,
            "required": names,
            "additionalProperties": false,
        })
    }

    /// The parts of an answer, each for its question; none, if the agent does not name its questions so.
    pub(crate) fn answers(&self, parts: &[Part]) -> Option<Vec<Part>> {
        let [Part { data: Some(Value::Object(fields)), .. }] = parts else { return None };
        let answer = |one: &One| {
            let value = fields.get(&one.name).filter(|_| one.by_request)?;
            let mut answer = match value {
                Value::Object(decision) if decision.contains_key("decision") => value.clone(),
                content => json!({ "content": content }),
            };
            answer["requestId"] = one.name.as_str().into();
            Some(Part::data(answer))
        };
        self.0.iter().map(answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use signoff_core::schema::check;

    use super::*;

    fn data(value: Value) -> Part {
        Part::data(value)
    }

    #[test]
    fn each_has_a_field_and_each_is_answered() {
        let parts = [
            Part::text("Two things."),
            data(json!({ "requestId": "a", "schema": { "type": "string" }, "prompt": "Where?" })),
            data(json!({ "requestId": "b", "schema": {}, "allowed": ["approve", "reject"] })),
        ];
        let several = of_parts(&parts).unwrap();
        let whole = several.schema();
        assert_eq!(whole["properties"]["a"]["title"], "Where?");
        let good = json!({ "a": "here", "b": { "decision": "approve" } });
        assert!(check(&whole, &good).is_ok());
        for bad in [json!({ "a": "here" }), json!({ "a": 1, "b": { "decision": "approve" } })] {
            assert!(check(&whole, &bad).is_err(), "{bad}");
        }
        let answers = several.answers(&[data(good)]).unwrap();
        let told: Vec<&Value> = answers.iter().filter_map(|part| part.data.as_ref()).collect();
        assert_eq!(told[0], &json!({ "requestId": "a", "content": "here" }));
        assert_eq!(told[1], &json!({ "requestId": "b", "decision": "approve" }));
    }

    #[test]
    fn one_question_or_two_of_a_name_are_not_several() {
        let one = data(json!({ "schema": { "type": "string" } }));
        assert!(of_parts(std::slice::from_ref(&one)).is_none());
        let same = data(json!({ "id": "x", "schema": { "type": "string" } }));
        assert!(of_parts(&[same.clone(), same]).is_none());
        let plain = of_parts(&[one.clone(), one]).unwrap();
        assert_eq!(plain.schema()["required"], json!(["1", "2"]));
        // Whoever does not name its questions by requests is told the whole object.
        assert!(plain.answers(&[data(json!({ "1": "a", "2": "b" }))]).is_none());
    }
}
