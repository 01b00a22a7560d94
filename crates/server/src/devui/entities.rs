//! The workflows as the entities of a page of `DevUI`.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_runtime::{Definition, Engine};

use super::dump::dump;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem, unknown_workflow};
use crate::extract::{self, Id, Query};

const ENTITY: Answer = Answer::other(200, "The workflow and its graph.", "application/json");

static LIST: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/entities",
    id: "list_entities",
    summary: "The workflows that can be started (DevUI)",
    query: None,
    body: None,
    answers: &[Answer::other(200, "All of them, by id.", "application/json")],
    problems: &[],
};

static INFO: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/entities/{id}/info",
    id: "get_entity",
    summary: "A workflow with its graph (DevUI)",
    query: Some(of::<InfoQuery>),
    body: None,
    answers: &[ENTITY],
    problems: &[Problem::UnknownWorkflow],
};

static RELOAD: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/entities/{id}/reload",
    id: "reload_entity",
    summary: "Always refused: workflows are read when the server starts (DevUI)",
    query: None,
    body: None,
    answers: &[],
    problems: &[Problem::UnknownWorkflow, Problem::CannotReload],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&LIST, list).add(&INFO, info).add(&RELOAD, reload)
}

async fn list(app: App) -> Response {
    let entities: Vec<Value> = app.engine.workflows().map(|it| entity(it)).collect();
    extract::json(StatusCode::OK, &json!({ "entities": entities }))
}

/// Which entity.
#[allow(dead_code)]
#[derive(Debug, Deserialize, JsonSchema)]
struct InfoQuery {
    /// `workflow` or `agent`. The page says so; it makes no difference.
    r#type: Option<String>,
}

async fn info(
    app: App,
    Id(id): Id,
    query: Result<Query<InfoQuery>, ApiError>,
) -> Result<Response, ApiError> {
    query?;
    let definition = known(&app.engine, &id)?;
    let mut entity = entity(definition);
    entity["workflow_dump"] = dump(&app.engine, definition);
    Ok(extract::json(StatusCode::OK, &entity))
}

async fn reload(app: App, Id(id): Id) -> Result<Response, ApiError> {
    known(&app.engine, &id)?;
    let message = "workflows are read when the server starts; a changed file counts from then on";
    Err(ApiError::new(Problem::CannotReload, message)
        .hint("start the server again; runs finish on the definition they began with"))
}

fn known<'a>(engine: &'a Engine, id: &str) -> Result<&'a Definition, ApiError> {
    let found = engine.workflow(id).map(|definition| &**definition);
    found.ok_or_else(|| {
        let known: Vec<String> = engine.workflows().map(|it| it.workflow.id.clone()).collect();
        unknown_workflow(id, &known)
    })
}

fn entity(definition: &Definition) -> Value {
    let workflow = &definition.workflow;
    let executors: Vec<&str> = definition.graph.executors().iter().map(|it| &*it.name).collect();
    let schema = input(definition);
    let kind = if schema["type"] == "string" { "str" } else { "dict" };
    json!({
        "id": workflow.id,
        "type": "workflow",
        "name": workflow.id,
        "description": workflow.description,
        "framework": "signoff",
        "tools": executors,
        "metadata": { "version": definition.version },
        // Nothing else has it, so the page offers no button to load it anew.
        "source": "in_memory",
        "required_env_vars": [],
        "deployment_supported": false,
        "deployment_reason": "signoff serves its workflows itself",
        "instructions": null,
        "model": null,
        "chat_client_type": null,
        "context_provider": [],
        "middleware": [],
        "executors": executors,
        "workflow_dump": null,
        "input_schema": schema,
        "input_type_name": kind,
        "start_executor_id": definition.graph.start(),
    })
}

/// The schema of the input. The first sample is put in the form already.
fn input(definition: &Definition) -> Value {
    let mut schema = definition.workflow.input_schema();
    match definition.workflow.samples.first() {
        Some(sample @ Value::String(_)) if schema["type"] == "string" => {
            fill(&mut schema, sample);
        }
        Some(Value::Object(sample)) => {
            if let Some(Value::Object(fields)) = schema.get_mut("properties") {
                for (name, field) in fields.iter_mut() {
                    if let Some(value) = sample.get(name) {
                        fill(field, value);
                    }
                }
            }
        }
        _ => {}
    }
    schema
}

fn fill(schema: &mut Value, value: &Value) {
    if let Value::Object(schema) = schema {
        schema.entry("default").or_insert_with(|| value.clone());
    }
}
