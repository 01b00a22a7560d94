//! The server itself: a request comes in, a fault or a reply goes out.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::routing::post;
use serde_json::Value;
use signoff_models::Delta;

use super::{Fault, Recorded, Shared, encode, read};

/// One of the three protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Responses,
    Chat,
    Messages,
}

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/responses", post(|s, u, h, b| handle(Wire::Responses, s, u, h, b)))
        .route("/v1/chat/completions", post(|s, u, h, b| handle(Wire::Chat, s, u, h, b)))
        .route("/v1/messages", post(|s, u, h, b| handle(Wire::Messages, s, u, h, b)))
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

/// An exchange that is going on; it has been abandoned if it is dropped before it is done.
struct Exchange {
    shared: Arc<Shared>,
    done: bool,
}

impl Exchange {
    fn begin(shared: &Arc<Shared>) -> Self {
        let open = shared.open.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most.fetch_max(open, Ordering::SeqCst);
        Self { shared: Arc::clone(shared), done: false }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
        if !self.done {
            self.shared.abandoned.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn handle(
    wire: Wire,
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response<Body>, Infallible> {
    let mut exchange = Exchange::begin(&shared);
    let body: Value = serde_json::from_slice(&body).unwrap();
    if shared.records {
        let recorded =
            Recorded { path: uri.path().to_owned(), headers: texts(&headers), body: body.clone() };
        shared.requests.lock().unwrap().push(recorded);
    }
    let fault = shared.faults.lock().unwrap().pop_front().unwrap_or(Fault::None);
    match &fault {
        Fault::SlowHead(wait) => tokio::time::sleep(*wait).await,
        Fault::Never => tokio::time::sleep(Duration::from_hours(1)).await,
        Fault::Status(status, retry_after) => {
            exchange.done = true;
            let body = encode::error(wire, *status, "it was told to fail").to_string();
            return Ok(failure(*status, retry_after.as_deref(), body));
        }
        Fault::StatusBody(status, body) => {
            exchange.done = true;
            return Ok(failure(*status, None, body.clone()));
        }
        Fault::Echo => {
            exchange.done = true;
            let body = encode::error(wire, 401, &format!("I do not know {:?}", texts(&headers)))
                .to_string();
            return Ok(failure(401, None, body));
        }
        _ => {}
    }
    let request = match wire {
        Wire::Responses => read::responses(&body),
        Wire::Chat => read::chat(&body),
        Wire::Messages => read::messages(&body),
    };
    let pieces = Mutex::new(Vec::new());
    let sink = |delta: Delta| {
        if let Delta::Text(text) = delta {
            pieces.lock().unwrap().push(text);
        }
    };
    let reply = match shared.brain.complete(&request, &sink).await {
        Ok(reply) => reply,
        Err(error) => {
            exchange.done = true;
            let status = if error.retryable { 503 } else { 400 };
            let body = encode::error(wire, status, &error.info.message).to_string();
            return Ok(failure(status, None, body));
        }
    };
    if fault == Fault::Whole || body["stream"] != true {
        exchange.done = true;
        let body = encode::whole(wire, &reply).to_string();
        let response = Response::builder().header("content-type", "application/json");
        return Ok(response.body(body.into()).unwrap());
    }
    let pieces = pieces.into_inner().unwrap();
    let events = encode::events(wire, &reply, &pieces);
    Ok(streamed(wire, &events, &fault, exchange))
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

fn failure(status: u16, retry_after: Option<&str>, body: String) -> Response<Body> {
    let mut response = Response::builder()
        .status(StatusCode::from_u16(status).unwrap())
        .header("content-type", "application/json");
    if let Some(wait) = retry_after {
        response = response.header("retry-after", wait);
    }
    response.body(body.into()).unwrap()
}

/// What is left to send.
struct Sending {
    events: std::vec::IntoIter<Vec<u8>>,
    /// What comes when no event is left.
    end: End,
    pause: Duration,
    exchange: Exchange,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Well,
    Break,
    Hang,
}

fn streamed(
    wire: Wire,
    events: &[encode::Event],
    fault: &Fault,
    exchange: Exchange,
) -> Response<Body> {
    let mut lines: Vec<Vec<u8>> = events.iter().map(|event| line(wire, event)).collect();
    let mut pause = Duration::ZERO;
    let mut end = End::Well;
    let mut media = "text/event-stream";
    let broken = |data: &[u8]| [b"data: ", data, b"\n\n"].concat();
    match fault {
        Fault::SlowEvents(wait) => pause = *wait,
        Fault::Break(after) => {
            lines.truncate(*after);
            end = End::Break;
        }
        Fault::Cut(after) => lines.truncate(*after),
        Fault::Malformed => lines.insert(1, broken(b"{\"type\": \"response.out")),
        Fault::ContentType(other) => media = other,
        Fault::LongLine(bytes) => lines.insert(1, broken(&vec![b'x'; *bytes])),
        Fault::NotUtf8 => lines.insert(1, broken(b"{\"text\": \"\xff\xfe\"}")),
        Fault::Silent => {
            lines.clear();
            end = End::Hang;
        }
        _ => {}
    }
    let sending = Sending { events: lines.into_iter(), end, pause, exchange };
    let body = futures_util::stream::unfold(sending, next);
    Response::builder().header("content-type", media).body(Body::from_stream(body)).unwrap()
}

async fn next(mut sending: Sending) -> Option<(Result<Vec<u8>, std::io::Error>, Sending)> {
    if !sending.pause.is_zero() {
        tokio::time::sleep(sending.pause).await;
    }
    if let Some(event) = sending.events.next() {
        // Most servers send each event on its own.
        tokio::task::yield_now().await;
        return Some((Ok(event), sending));
    }
    match sending.end {
        End::Well => {
            sending.exchange.done = true;
            None
        }
        End::Break => {
            sending.exchange.done = true;
            // Let what was sent arrive first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            sending.end = End::Well;
            Some((Err(std::io::Error::other("it was told to break")), sending))
        }
        End::Hang => std::future::pending().await,
    }
}

fn line(wire: Wire, (name, data): &encode::Event) -> Vec<u8> {
    match (data, name) {
        (Value::String(mark), _) => format!("data: {mark}\n\n"),
        // As llama.cpp and others do: no space.
        (data, None) if wire == Wire::Chat => format!("data:{data}\n\n"),
        (data, None) => format!("data: {data}\n\n"),
        (data, Some(name)) => format!("event: {name}\ndata: {data}\n\n"),
    }
    .into_bytes()
}
