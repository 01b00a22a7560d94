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
/// Where the key is that cards are signed with.
pub(crate) const KEYS: &str = "/.well-known/jwks.json";
/// How long a card may be kept.
const KEPT: &str = "public, max-age=300";

/// Adds the routes.
pub(super) fn routes(mut api: Api) -> Api {
    for place in PLACES {
        let below = format!("/a2a/{{workflow}}{place}");
        api.router = api.router.route(place, get(first)).route(&below, get(one));
    }
    api.router = api.router.route("/a2a", get(list)).route(KEYS, get(keys));
    api
}

/// How a client reaches this server, and what it understands.
#[derive(Clone, Debug)]
pub(super) struct Base {
    url: String,
    /// Whether the client has said that it speaks 1.0, and so needs nothing of 0.3.
    plain: bool,
}

impl Base {
    /// The same for a client of HTTP/2, which says it elsewhere.
    #[cfg(feature = "grpc")]
    pub(super) fn of(request: &axum::extract::Request) -> Self {
        let read = Self::read(request.headers(), request.uri());
        match request.uri().authority() {
            Some(host) => Self { url: format!("http://{host}"), ..read },
            None => read,
        }
    }

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
    Ok(cached(&app, &uri, &headers, definition))
}

async fn one(
    app: App,
    Path(workflow): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    known(&app, &workflow)?;
    let Some(definition) = app.engine.workflow(&workflow) else {
        return Err(ApiError::new(Problem::UnknownWorkflow, "there is no such workflow"));
    };
    Ok(cached(&app, &uri, &headers, definition))
}

/// The public key that cards are signed with; no key, if they are not.
async fn keys(app: App) -> Response {
    let none = || json!({ "keys": [] });
    let keys = app.settings.card_key.as_ref().map_or_else(none, |key| key.public());
    answered(StatusCode::OK, &keys)
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

/// The card of a workflow, for those who have come in.
pub(super) fn card(app: &App, base: &Base, workflow: &str) -> Result<Value, Fault> {
    let definition = app.engine.workflow(workflow);
    let definition = definition
        .ok_or_else(|| Fault::new(Kind::Internal, format!("there is no workflow `{workflow}`")))?;
    let plain = base.plain || app.settings.card_key.is_some();
    let base = Base { plain, ..base.clone() };
    Ok(signed(app, &base, describe(app, definition, &base, true)))
}

/// A card with its signature, if cards are signed. What clients of 0.3 read is none of what is signed.
fn signed(app: &App, base: &Base, card: Value) -> Value {
    match &app.settings.card_key {
        Some(key) => key.signed(card, &format!("{}{KEYS}", base.url)),
        None => card,
    }
}

fn describe(app: &App, definition: &Definition, base: &Base, full: bool) -> Value {
    let (closed, pushes) = (app.access.users.any(), app.settings.receivers.is_some());
    let workflow = &definition.workflow;
    let url = format!("{}/a2a/{}", base.url, workflow.id);
    let at = |binding: &str, version: &str| json!({ "url": url, "protocolBinding": binding, "protocolVersion": version });
    let mut interfaces = vec![at("JSONRPC", "1.0"), at("HTTP+JSON", "1.0"), at("JSONRPC", "0.3")];
    if cfg!(feature = "grpc") {
        // Clients of gRPC want a host and a port.
        let host = base.url.split_once("://").map_or(base.url.as_str(), |(_, host)| host);
        interfaces.push(json!({
            "url": host, "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": workflow.id,
        }));
    }
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
        "supportedInterfaces": interfaces,
        "capabilities": { "streaming": true, "pushNotifications": pushes, "extendedAgentCard": true },
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
fn cached(app: &App, uri: &Uri, headers: &HeaderMap, definition: &Definition) -> Response {
    let mut base = Base::read(headers, uri);
    // Where clients of 0.3 look nothing is signed.
    let key = app.settings.card_key.as_ref().filter(|_| uri.path().ends_with(PLACES[0]));
    base.plain |= key.is_some();
    let card = describe(app, definition, &base, !app.access.users.any());
    // A signature is another each time, and no part of the tag.
    let by = key.map_or("", |key| key.id());
    let tag = format!("\"{}\"", signoff_core::text::digest(&format!("{by}{card}"), 32));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok());
    let known = known.is_some_and(|known| {
        known
            .split(',')
            .any(|it| matches!(it.trim().trim_start_matches("W/"), "*") || it.contains(&tag))
    });
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if key.is_some() {
        answered(StatusCode::OK, &signed(app, &base, card))
    } else {
        answered(StatusCode::OK, &card)
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
