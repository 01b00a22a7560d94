//! What an agent says of itself: one document that clients of both versions read.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};
use signoff_runtime::Definition;

use super::fault::{Fault, Kind};
use super::known;
use super::version::Version;
use crate::api::Api;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::json as answered;

/// Where a card is, below an agent or below the server.
pub(crate) const PLACES: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
/// How long a card may be kept.
const KEPT: &str = "public, max-age=300";

/// Adds the routes.
pub(super) fn routes(mut api: Api) -> Api {
    for place in PLACES {
        let below = format!("/a2a/{{workflow}}{place}");
        api.router = api.router.route(place, get(first)).route(&below, get(one));
    }
    api.router = api.router.route("/a2a", get(list));
    api
}

/// How a client reaches this server, and what it understands.
#[derive(Debug)]
pub(super) struct Base {
    url: String,
    /// Whether the client has said that it speaks 1.0, and so needs nothing of 0.3.
    plain: bool,
}

impl Base {
    pub(super) fn read(headers: &HeaderMap, uri: &Uri) -> Self {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        // What stands before the server may speak TLS for it.
        let scheme = match text(header::HeaderName::from_static("x-forwarded-proto")) {
            Some("https") => "https",
            _ => "http",
        };
        let url = format!("{scheme}://{}", text(header::HOST).unwrap_or("localhost"));
        let plain = matches!(Version::read(headers, uri), Ok(Some(Version::New)));
        Self { url, plain }
    }
}

/// The card of the workflow that comes first by name.
async fn first(app: App, uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    let Some(definition) = app.engine.workflows().next() else {
        return Err(ApiError::new(Problem::UnknownWorkflow, "there is no workflow"));
    };
    let full = !app.access.users.any();
    let card = describe(definition, &Base::read(&headers, &uri), full, !full);
    Ok(cached(&app, &headers, &card))
}

async fn one(
    app: App,
    Path(workflow): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    known(&app, &workflow)?;
    let full = !app.access.users.any();
    let card = card(&app, &Base::read(&headers, &uri), &workflow, full);
    let card = card.map_err(|fault| ApiError::new(Problem::UnknownWorkflow, fault.message))?;
    Ok(cached(&app, &headers, &card))
}

/// All agents, with their cards.
async fn list(app: App, uri: Uri, headers: HeaderMap) -> Response {
    let base = Base::read(&headers, &uri).url;
    let agents = app.engine.workflows().map(|definition| {
        let id = &definition.workflow.id;
        json!({ "id": id, "url": format!("{base}/a2a/{id}"), "card": format!("{base}/a2a/{id}{}", PLACES[0]) })
    });
    answered(StatusCode::OK, &json!({ "agents": agents.collect::<Vec<_>>() }))
}

/// The card of a workflow; `full` is for those who have come in.
pub(super) fn card(app: &App, base: &Base, workflow: &str, full: bool) -> Result<Value, Fault> {
    let definition = app.engine.workflow(workflow);
    let definition = definition
        .ok_or_else(|| Fault::new(Kind::Internal, format!("there is no workflow `{workflow}`")))?;
    Ok(describe(definition, base, full, app.access.users.any()))
}

fn describe(definition: &Definition, base: &Base, full: bool, closed: bool) -> Value {
    let workflow = &definition.workflow;
    let url = format!("{}/a2a/{}", base.url, workflow.id);
    let at = |binding: &str, version: &str| json!({ "url": url, "protocolBinding": binding, "protocolVersion": version });
    let modes = ["text/plain", "application/json"];
    let description = match workflow.description.trim() {
        "" => format!("The workflow {}.", workflow.id),
        said => said.to_owned(),
    };
    let mut skill = json!({
        "id": workflow.id, "name": workflow.id, "description": description, "tags": ["workflow"],
    });
    if full {
        let examples = workflow.samples.iter();
        let examples = examples.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
        skill["examples"] = examples.collect::<Vec<_>>().into();
    }
    let mut card = json!({
        "name": workflow.id,
        "description": description,
        "version": definition.version,
        "supportedInterfaces": [at("JSONRPC", "1.0"), at("HTTP+JSON", "1.0"), at("JSONRPC", "0.3")],
        "capabilities": { "streaming": true, "pushNotifications": false, "extendedAgentCard": true },
        "defaultInputModes": modes,
        "defaultOutputModes": modes,
        "skills": [skill],
    });
    if closed {
        let scheme = json!({ "scheme": "bearer", "description": "a token of `signoff user add`" });
        card["securitySchemes"] = json!({ "bearer": { "httpAuthSecurityScheme": scheme } });
        card["securityRequirements"] = json!([{ "schemes": { "bearer": { "list": [] } } }]);
    }
    if !base.plain {
        for_old_clients(&mut card, &url);
    }
    card
}

/// Adds what clients of 0.3 look for. Each version leaves the fields of the other alone.
fn for_old_clients(card: &mut Value, url: &str) {
    card["protocolVersion"] = "0.3.0".into();
    card["url"] = url.into();
    card["preferredTransport"] = "JSONRPC".into();
    card["supportsAuthenticatedExtendedCard"] = true.into();
    if let Some(bearer) = card.pointer_mut("/securitySchemes/bearer") {
        bearer["type"] = "http".into();
        bearer["scheme"] = "bearer".into();
        card["security"] = json!([{ "bearer": [] }]);
    }
}

/// A card, unless the client has it already.
fn cached(app: &App, headers: &HeaderMap, card: &Value) -> Response {
    let tag = format!("\"{}\"", signoff_core::text::digest(&card.to_string(), 32));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok());
    let known = known.is_some_and(|known| {
        known
            .split(',')
            .any(|it| matches!(it.trim().trim_start_matches("W/"), "*") || it.contains(&tag))
    });
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        answered(StatusCode::OK, card)
    };
    let fields = response.headers_mut();
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static(KEPT));
    // It says by which name the server was asked, and in which version.
    fields.insert(header::VARY, HeaderValue::from_static("host, x-forwarded-proto, a2a-version"));
    for (name, value) in [(header::ETAG, tag), (header::LAST_MODIFIED, app.since.http_date())] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            fields.insert(name, value);
        }
    }
    response
}
