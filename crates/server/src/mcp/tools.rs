//! The tools, as clients and their models are told of them.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::arguments::{
    AskHuman, GetAnswer, GetRequest, GetRun, ListRequests, ListRuns, Nothing, RequestApproval,
    StartWorkflow,
};
use super::outcome::Outcome;
use crate::shape::{List, Request, Run, WorkflowSummary};

/// What a client's model is told before anything else.
pub(super) const INSTRUCTIONS: &str = "Signoff asks people. Use ask_human when you cannot go on \
sensibly without a person's answer, and request_approval before you do something that cannot be undone or \
that somebody must agree to. A person may take minutes or days: if a call comes back with status `pending`, \
the question is kept; call get_answer with its request id to go on waiting, or do other work first. Only \
status `answered` is an answer, and only `approved: true` is an approval. You cannot answer or approve \
anything here yourself.";

/// All tools.
pub(super) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool::<AskHuman, Outcome>(
            "ask_human",
            "Ask a person",
            "Asks a person a question and gives back the answer. Ask when an essential fact is missing or a \
             choice is a matter of taste; ask one thing at a time, complete in itself. Give `options` if the \
             person is to choose, or `schema` if you need fields. If nobody answers soon, the result has \
             status `pending`: then call get_answer with its `request`.",
            asks(),
        ),
        tool::<RequestApproval, Outcome>(
            "request_approval",
            "Ask for approval",
            "Asks a person to agree to something before you do it: deleting, paying, sending, deploying. Put \
             what exactly you will do it with into `arguments`; the person may change them. Do it only if the \
             result says `approved: true`, and then with `value`. If nobody decides soon, the result has \
             status `pending`: then call get_answer with its `request`.",
            asks(),
        ),
        tool::<GetAnswer, Outcome>(
            "get_answer",
            "Get the answer to a question",
            "Waits for the answer to a question that was asked before, and gives it back. If it is still \
             `pending` afterwards, call it again later.",
            looks(),
        ),
        tool::<StartWorkflow, Run>(
            "start_workflow",
            "Start a workflow",
            "Starts a run of a workflow and gives it back at once; the run goes on by itself, and its questions \
             go to people. get_run says how it stands.",
            asks(),
        ),
        tool::<GetRun, Run>(
            "get_run",
            "Look at a run",
            "A run as it stands: its status, what it waits for, and its output.",
            looks(),
        ),
        tool::<ListRuns, List<Run>>("list_runs", "List runs", "Runs, newest first.", looks()),
        tool::<GetRequest, Request>(
            "get_request",
            "Look at a request",
            "A question to people as it stands.",
            looks(),
        ),
        tool::<ListRequests, List<Request>>(
            "list_requests",
            "List requests",
            "Questions to people, oldest first.",
            looks(),
        ),
        tool::<Nothing, List<WorkflowSummary>>(
            "list_workflows",
            "List workflows",
            "The workflows that can be started, with the schema of their input.",
            looks(),
        ),
    ]
});

/// Adds something, and harms nothing: what follows is up to people.
fn asks() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(true)
}

/// Changes nothing.
fn looks() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).idempotent(true).open_world(false)
}

fn tool<I: JsonSchema, O: JsonSchema>(
    name: &'static str,
    title: &str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    let mut annotations = annotations;
    annotations.title = Some(title.to_owned());
    Tool::new(name, description, schema::<I>())
        .with_title(title)
        .with_raw_output_schema(schema::<O>())
        .with_annotations(annotations)
}

/// A schema as all clients take it: not every one follows references, and some complain of formats of Rust.
fn schema<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    let generator = settings.into_generator();
    match serde_json::to_value(generator.into_root_schema_for::<T>()) {
        Ok(mut schema) => {
            without_formats(&mut schema);
            let mut fields = schema.as_object().cloned().unwrap_or_default();
            fields.remove("title");
            Arc::new(fields)
        }
        Err(_) => Arc::default(),
    }
}

fn without_formats(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            fields.values_mut().for_each(without_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_formats),
        _ => {}
    }
}
