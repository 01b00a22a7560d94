//! What a workflow can do, in the words of AG-UI.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::run::known;
use crate::api::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{self, Id};

static GET: Operation = Operation {
    verb: Verb::Get,
    path: "/ag-ui/{workflow}",
    id: "ag_ui_capabilities",
    summary: "What a workflow can do (AG-UI's `AgentCapabilities`)",
    query: None,
    body: None,
    answers: &[Answer::other(200, "Its capabilities.", "application/json")],
    problems: &[Problem::UnknownWorkflow],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&GET, get)
}

async fn get(app: App, Id(workflow): Id) -> Result<Response, ApiError> {
    known(&app, &workflow)?;
    let Some(definition) = app.engine.workflow(&workflow) else {
        return Err(ApiError::new(Problem::UnknownWorkflow, "there is no such workflow"));
    };
    let file = &definition.workflow;
    let agents: Vec<Value> = file
        .agents
        .iter()
        .map(|(id, agent)| json!({ "name": agent.name.as_deref().unwrap_or(id) }))
        .collect();
    let capabilities = json!({
        "identity": {
            "name": file.id,
            "type": "signoff",
            "description": file.description,
            "version": file.version(),
        },
        "transport": { "streaming": true, "websocket": false, "httpBinary": false, "resumable": false },
        "tools": { "supported": true, "clientProvided": false },
        "state": { "snapshots": true, "deltas": true, "memory": true, "persistentState": false },
        "multiAgent": { "supported": file.agents.len() > 1, "subagents": agents },
        "reasoning": { "supported": false },
        "humanInTheLoop": {
            "supported": true,
            "approvals": true,
            "interventions": true,
            "feedback": true,
            "interrupts": true,
            "approveWithEdits": true,
        },
    });
    Ok(extract::json(StatusCode::OK, &capabilities))
}
