//! The inbox and journals over a WebSocket: told as they change, and decided on the same line.
//!
//! A session is one connection. It keeps nothing that matters: what it tells is in the store, and who
//! comes back goes on from the last sequence number it saw. `message` reads what clients say, `command` does
//! it by the same functions as the routes, `attached` follows runs, `approvals` has the words of clients
//! that know approvals only.

mod approvals;
mod attached;
mod command;
mod message;
mod pace;
mod session;
mod wire;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use self::session::Session;
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::Query;
use crate::stream::sse::Counted;

static WS: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/ws",
    id: "websocket",
    summary: "A WebSocket: the inbox as it changes, decisions, runs as they grow (docs/websocket.md)",
    query: Some(of::<WsQuery>),
    body: None,
    answers: &[Answer::other(101, "The connection is a WebSocket from here on.", "")],
    problems: &[Problem::UpgradeRequired, Problem::TooManyStreams, Problem::ShuttingDown],
};

/// The subprotocols, by the words they stand for.
const NATIVE: &str = "signoff.v1";
const APPROVALS: &str = "approvals";

/// How much of a connection is read and written at once, in bytes. Kept for as long as it is open, and most of
/// the time nothing happens on most of them.
const BUFFER: usize = 4 * 1024;

/// Adds the route.
pub(crate) fn routes(api: Api) -> Api {
    api.add(&WS, upgrade)
}

/// How a session is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WsQuery {
    /// In which words requests are told; a subprotocol of that name means the same.
    words: Option<Words>,
}

/// In which words requests are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Words {
    /// Our own.
    Native,
    /// `approval_requested` and `approval_received`.
    Approvals,
}

async fn upgrade(
    app: App,
    caller: Caller,
    mut headers: HeaderMap,
    Query(query): Query<WsQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let upgrade = upgrade.map_err(|error| {
        ApiError::new(
            Problem::UpgradeRequired,
            format!("this is a WebSocket: {}", error.body_text()),
        )
        .hint("connect with a WebSocket client; GET /v1/requests/events is plain HTTP")
    })?;
    app.takes_work()?;
    app.room("close some, or read /v1/requests")?;
    let upgrade = upgrade
        .protocols([NATIVE, APPROVALS])
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .max_message_size(app.settings.max_body)
        .max_frame_size(app.settings.max_body);
    let words = query.words.unwrap_or_else(|| match upgrade.selected_protocol() {
        Some(protocol) if protocol == APPROVALS => Words::Approvals,
        _ => Words::Native,
    });
    let mut credentials = HeaderMap::new();
    for name in [header::AUTHORIZATION, header::COOKIE] {
        credentials.extend(headers.remove(&name).map(|value| (name, value)));
    }
    // Counted from here on, so that no two get the last place.
    let counted = Counted::new(&app);
    let open = app.sessions.subscribe();
    Ok(upgrade.on_upgrade(move |socket| async move {
        Session::new(&app, (caller, credentials), words, socket).serve().await;
        drop((counted, open));
    }))
}
