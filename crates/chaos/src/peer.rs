//! Somebody else's service, which honours idempotency keys: the world in which effects happen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::Value;

use crate::history::Acted;

/// How long it takes to answer, so that processes die in between.
const TAKES: Duration = Duration::from_millis(30);

/// The service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    done: Arc<Mutex<Done>>,
}

#[derive(Debug, Default)]
struct Done {
    /// What was done under each key: for whom, and which step.
    by_key: BTreeMap<String, (String, u64)>,
    calls: u64,
}

impl Peer {
    /// Begins to serve. It, and its address.
    pub(crate) async fn start() -> (Self, String) {
        let peer = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().route("/effects", post(act)).with_state(peer.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (peer, format!("http://{address}/effects"))
    }

    /// What was done for a conversation.
    pub(crate) fn acted(&self, name: &str) -> Vec<Acted> {
        let done = self.done.lock().unwrap();
        let of_it = done.by_key.iter().filter(|(_, (whose, _))| whose == name);
        of_it.map(|(key, (_, step))| Acted { step: *step, key: key.clone() }).collect()
    }

    /// How many calls came, and how many of them did something.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let done = self.done.lock().unwrap();
        (done.calls, done.by_key.len() as u64)
    }
}

async fn act(State(peer): State<Peer>, headers: HeaderMap, body: Bytes) -> Response {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (Some(key), Some(name), Some(step)) =
        (key, body["conversation"].as_str(), body["step"].as_u64())
    else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    {
        let mut done = peer.done.lock().unwrap();
        done.calls += 1;
        done.by_key.insert(key.to_owned(), (name.to_owned(), step));
    }
    tokio::time::sleep(TAKES).await;
    ([(header::CONTENT_TYPE, "application/json")], r#"{"done":true}"#).into_response()
}
