//! The document that describes the API, made from the routes and the shapes.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::{Operation, api};
use crate::error::Problem;
use crate::extract::FORM;
use crate::shape;

/// What any request can be answered with, besides what its operation says.
const ALWAYS: [Problem; 8] = [
    Problem::MissingToken,
    Problem::InvalidToken,
    Problem::NotPermitted,
    Problem::TooManyRequests,
    Problem::HostRefused,
    Problem::OriginRefused,
    Problem::Store,
    Problem::Internal,
];
/// What a request with a body can be answered with.
const BODY: [Problem; 5] = [
    Problem::MalformedJson,
    Problem::InvalidBody,
    Problem::BodyTimeout,
    Problem::BodyTooLarge,
    Problem::UnsupportedMediaType,
];

/// Operations whose body is what a page sends, and no JSON.
const FORMS: [&str; 1] = ["decide_by_link"];
/// What people read; who is answered with it is told of errors by it as well.
const PAGE: &str = "text/html";

/// The `OpenAPI` document.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = "/components/schemas".into();
    });
    let mut reading = SchemaGenerator::new(settings.clone().for_deserialize());
    let mut writing = SchemaGenerator::new(settings);
    let error = writing.subschema_for::<shape::Error>();
    let mut paths: Map<String, Value> = Map::new();
    for operation in api().operations {
        let described = describe(operation, &mut reading, &mut writing, &error);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.verb.as_str()] = described;
    }
    let mut schemas = reading.take_definitions(true);
    schemas.extend(writing.take_definitions(true));
    schemas.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Signoff",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs multi-agent workflows that stop for people.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn describe(
    operation: &Operation,
    reading: &mut SchemaGenerator,
    writing: &mut SchemaGenerator,
    error: &Schema,
) -> Value {
    let mut parameters = in_path(operation.path);
    if let Some(query) = operation.query {
        parameters.extend(in_query(query, reading));
    }
    let mut responses: Map<String, Value> = Map::new();
    for answer in operation.answers {
        // One status may come with one of several kinds of body.
        let response = responses
            .entry(answer.status.to_string())
            .or_insert_with(|| json!({ "description": answer.means }));
        let schema = answer.body.map(|body| json!({ "schema": body(writing) }));
        if !answer.media.is_empty() {
            response["content"][answer.media] = schema.unwrap_or_else(|| json!({}));
        }
    }
    responses.extend(failures(operation, error));
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = operation.body {
        let schema = body(reading);
        let media = if FORMS.contains(&operation.id) { FORM } else { "application/json" };
        let content = json!({ media: { "schema": schema } });
        described["requestBody"] =
            json!({ "required": needed(&schema, reading), "content": content });
    }
    described
}

/// Whether nothing at all is no such body.
fn needed(schema: &Schema, generator: &SchemaGenerator) -> bool {
    let fields = defined(schema).and_then(|name| generator.definitions().get(name));
    fields.is_some_and(|fields| fields.get("required").or(fields.get("oneOf")).is_some())
}

/// The name of a schema among the definitions.
fn defined(schema: &Schema) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
}

/// The errors, by status, with the codes of each.
fn failures(operation: &Operation, error: &Schema) -> impl Iterator<Item = (String, Value)> {
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    let in_path = operation.path.contains('{').then_some(&Problem::InvalidPath);
    let body = if operation.body.is_some() { &BODY[..] } else { &[] };
    let page = operation.answers.iter().any(|answer| answer.media == PAGE);
    let query = operation.query.is_some().then_some(&Problem::InvalidQuery);
    for problem in ALWAYS.iter().chain(in_path).chain(query).chain(body).chain(operation.problems) {
        let known = codes.entry(problem.status().as_u16()).or_default();
        if !known.contains(&problem.code()) {
            known.push(problem.code());
        }
    }
    codes.into_iter().map(move |(status, codes)| {
        let mut response = json!({
            "description": format!("`{}`", codes.join("`, `")),
            "content": { "application/json": { "schema": error } },
        });
        if page {
            response["content"][PAGE] = json!({});
        }
        (status.to_string(), response)
    })
}

fn in_path(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|after| after.split('}').next());
    names
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        })
        .collect()
}

/// The parameters of a query: the properties of its shape.
fn in_query(query: crate::api::SchemaOf, generator: &mut SchemaGenerator) -> Vec<Value> {
    let whole = query(generator);
    // It stands among the definitions, where nothing else refers to it.
    let shape = defined(&whole).and_then(|name| generator.definitions_mut().remove(name));
    let Some(Value::Object(properties)) = shape.and_then(|it| it.get("properties").cloned()) else {
        return Vec::new();
    };
    properties
        .into_iter()
        .map(|(name, mut schema)| {
            without_null(&mut schema);
            let text = schema.as_object_mut().and_then(|fields| fields.remove("description"));
            let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
            if let Some(text) = text {
                parameter["description"] = text;
            }
            parameter
        })
        .collect()
}

/// A parameter that may be left out is never null.
fn without_null(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.remove("default");
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            fields.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(kinds)) = fields.remove("anyOf") {
        for kind in kinds.into_iter().filter(|kind| kind["type"] != "null") {
            if let Value::Object(kind) = kind {
                fields.extend(kind);
            }
        }
    }
}
