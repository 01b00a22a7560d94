//! What the page asks before anything else: whom it talks to.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::extract::json;

static META: Operation = Operation {
    verb: Verb::Get,
    path: "/meta",
    id: "devui_meta",
    summary: "What a page of DevUI may do here (DevUI)",
    query: None,
    body: None,
    answers: &[Answer::json(200, "What there is.", of::<Meta>)],
    problems: &[],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&META, meta)
}

/// What a page may do here.
#[derive(Debug, Serialize, JsonSchema)]
struct Meta {
    /// `developer`: the page shows events as they come.
    ui_mode: &'static str,
    /// The version of this program.
    version: &'static str,
    /// Who answers.
    framework: &'static str,
    /// The page knows `python` and `dotnet`, and expects sessions of the first.
    runtime: &'static str,
    capabilities: Capabilities,
    /// Whether it needs a token.
    auth_required: bool,
}

/// What of the page's own features there is here.
#[allow(clippy::struct_excessive_bools)] // the page asks for them so
#[derive(Debug, Serialize, JsonSchema)]
struct Capabilities {
    /// Spans of `OpenTelemetry`.
    instrumentation: bool,
    /// Whether they can be asked for again.
    trace_retrieval: bool,
    /// Sending things on to OpenAI.
    openai_proxy: bool,
    /// Putting workflows on Azure.
    deployment: bool,
}

async fn meta(app: App) -> Response {
    let meta = Meta {
        ui_mode: "developer",
        version: env!("CARGO_PKG_VERSION"),
        framework: "signoff",
        runtime: "python",
        capabilities: Capabilities {
            instrumentation: false,
            trace_retrieval: false,
            openai_proxy: false,
            deployment: false,
        },
        auth_required: app.access.users.any(),
    };
    json(StatusCode::OK, &meta)
}
