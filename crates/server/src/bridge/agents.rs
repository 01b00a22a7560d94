//! What such a client can talk to.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::extract::json;

static PLAIN: Operation = Operation {
    verb: Verb::Get,
    path: "/bridge/v1/agents",
    id: "bridge_agents",
    summary: "The workflows, as agents that a terminal client can talk to (docs/bridge.md)",
    query: None,
    body: None,
    answers: &[Answer::json(200, "The agents. No parameter is needed.", of::<Vec<BridgeAgent>>)],
    problems: &[],
};

static IN_SESSION: Operation = Operation {
    path: "/bridge/{session}/v1/agents",
    id: "bridge_session_agents",
    summary: "The same, by the path of a session (docs/bridge.md)",
    ..PLAIN
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&PLAIN, agents).add(&IN_SESSION, agents)
}

/// A workflow, as such clients know agents.
#[derive(Debug, Serialize, JsonSchema)]
struct BridgeAgent {
    /// The workflow's id; give it as `model`.
    id: String,
    /// The same.
    name: String,
    /// What it does.
    instructions: String,
    /// The same as the id.
    model: String,
}

/// Parameters name a place elsewhere, in clients that have one, and mean nothing here.
async fn agents(app: App) -> Response {
    let agents: Vec<BridgeAgent> = app
        .engine
        .workflows()
        .map(|it| {
            let id = it.workflow.id.clone();
            let instructions = it.workflow.description.clone();
            BridgeAgent { name: id.clone(), model: id.clone(), id, instructions }
        })
        .collect();
    json(StatusCode::OK, &agents)
}
