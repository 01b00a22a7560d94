//! An agent that does as a test says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Response, Uri};
use futures_util::stream;
use serde_json::{Value, json};

/// What it sends back.
pub(crate) enum Answer {
    /// A result.
    Result(Value),
    /// An error of the protocol.
    Error(i64, &'static str),
    /// Whatever this is.
    Raw(u16, &'static str, Vec<u8>),
    /// A card, with the mark by which it is known again.
    Marked(&'static str, Value),
    /// A redirect.
    Redirect(String),
    /// A stream of results that breaks off after the last one.
    Stream(Vec<Value>),
    /// It takes the request, and the connection is gone.
    Gone,
}

type Play = dyn Fn(&str, &str, &Value) -> Answer + Send + Sync;

/// A server.
pub(crate) struct Fake {
    pub(crate) port: u16,
    /// The method of each request, with the headers it came with.
    heard: Arc<Mutex<Vec<(String, HeaderMap)>>>,
    /// How often it said that its card has not changed.
    same: Arc<AtomicUsize>,
}

impl Fake {
    /// A server that answers `card` and each method as `play` says. It knows its port by then.
    pub(crate) async fn start(
        play: impl Fn(u16, &str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_at(move |port, _, method, params| play(port, method, params)).await
    }

    /// The same by path as well.
    pub(crate) async fn start_at(
        play: impl Fn(u16, &str, &str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let same = Arc::new(AtomicUsize::new(0));
        let unchanged = Arc::clone(&same);
        let (log, play) = (
            Arc::clone(&heard),
            Arc::new(move |path: &str, method: &str, params: &Value| {
                play(port, path, method, params)
            }) as Arc<Play>,
        );
        let handle = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let (log, play) = (Arc::clone(&log), Arc::clone(&play));
            let unchanged = Arc::clone(&unchanged);
            async move {
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let name = match body["method"].as_str() {
                    Some(name) => name.to_owned(),
                    None if uri.path().ends_with("agent-card.json") => "card".to_owned(),
                    None => format!("{method} {uri}"),
                };
                let known = headers.get("if-none-match").cloned();
                log.lock().unwrap().push((name.clone(), headers));
                let answer = play(uri.path(), &name, &body["params"]);
                if let Answer::Marked(mark, _) = &answer
                    && known.is_some_and(|known| known == *mark)
                {
                    unchanged.fetch_add(1, Ordering::SeqCst);
                    return Response::builder().status(304).body(Body::empty()).unwrap();
                }
                respond(answer, name == "card")
            }
        };
        let router = axum::Router::new().fallback(handle);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, heard, same }
    }

    pub(crate) fn same(&self) -> usize {
        self.same.load(Ordering::SeqCst)
    }

    /// A header of all requests of this method that have it.
    pub(crate) fn headers(&self, method: &str, name: &str) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let found = heard.iter().filter(|(found, _)| found == method);
        let found = found.filter_map(|(_, headers)| headers.get(name));
        found.map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.heard().iter().filter(|name| *name == method).count()
    }

    pub(crate) fn header(&self, method: &str, name: &str) -> Option<String> {
        let heard = self.heard.lock().unwrap();
        let (_, headers) = heard.iter().find(|(found, _)| found == method)?;
        Some(headers.get(name)?.to_str().unwrap().to_owned())
    }
}

fn respond(answer: Answer, card: bool) -> Response<Body> {
    let json = |value: Value| {
        let built = Response::builder().header("content-type", "application/json");
        built.body(Body::from(value.to_string())).unwrap()
    };
    match answer {
        Answer::Result(value) if card => json(value),
        Answer::Result(value) => json(json!({ "jsonrpc": "2.0", "id": 1, "result": value })),
        Answer::Error(code, message) => json(
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": message } }),
        ),
        Answer::Raw(status, kind, body) => {
            let built = Response::builder().status(status).header("content-type", kind);
            built.body(Body::from(body)).unwrap()
        }
        Answer::Marked(mark, value) => {
            let mut response = json(value);
            response.headers_mut().insert("etag", mark.parse().unwrap());
            response
        }
        Answer::Redirect(to) => {
            Response::builder().status(307).header("location", to).body(Body::empty()).unwrap()
        }
        Answer::Stream(results) => {
            let events = results.into_iter().map(|result| {
                let envelope = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
                Ok(format!("data: {envelope}\n\n"))
            });
            let cut = std::iter::once(Err(std::io::Error::other("cut")));
            let built = Response::builder().header("content-type", "text/event-stream");
            built.body(Body::from_stream(stream::iter(events.chain(cut)))).unwrap()
        }
        Answer::Gone => {
            let cut = stream::once(async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err::<Bytes, _>(std::io::Error::other("gone"))
            });
            let built = Response::builder().header("content-type", "application/json");
            built.body(Body::from_stream(cut)).unwrap()
        }
    }
}

/// A card that leads to `url`.
pub(crate) fn card(url: &str) -> Value {
    json!({
        "name": "Fake", "version": "1", "capabilities": { "streaming": true },
        "supportedInterfaces": [{ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
    })
}

pub(crate) fn own_card(port: u16) -> Answer {
    Answer::Result(card(&format!("http://127.0.0.1:{port}/rpc")))
}

/// A task that stands so.
pub(crate) fn task(state: &str, words: Option<&str>) -> Value {
    let mut status = json!({ "state": format!("TASK_STATE_{state}") });
    if let Some(words) = words {
        status["message"] = json!({ "messageId": "its-message", "role": "ROLE_AGENT", "parts": [{ "text": words }] });
    }
    json!({ "id": "T", "contextId": "C", "status": status })
}

pub(crate) fn taken(task: &Value) -> Answer {
    Answer::Result(json!({ "task": task }))
}
