//! A journal as server-sent events.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use signoff_core::{RunId, Seq};

use super::{Tail, Told};
use crate::app::App;
use crate::shape;

/// How long nothing is said before a sign of life is given.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a client should wait before it comes back, in milliseconds.
const RETRY: u32 = 1000;

/// One stream.
struct Events {
    app: App,
    run: RunId,
    tail: Tail,
    greeted: bool,
    over: bool,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.app.metrics.streams(-1);
    }
}

/// The journal of `run` after `after`, as a response that goes on until the run is over.
pub(crate) fn response(app: &App, run: RunId, after: Seq) -> Response {
    app.metrics.streams(1);
    let tail = Tail::new(app, run.clone(), after);
    let events = Events { app: App::clone(app), run, tail, greeted: false, over: false };
    let frames = stream::unfold(events, |mut events| async move {
        let frame = events.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), events))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

impl Events {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        // At once, so that a client knows that it is connected.
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(format!("retry: {RETRY}\n\n").into());
        }
        let Ok(told) = tokio::time::timeout(KEEP_ALIVE, self.tail.next()).await else {
            return Some(Bytes::from_static(b": still here\n\n"));
        };
        match told {
            Ok(Told::Entry(entry)) => {
                let data = shape::entry(&self.run, &entry);
                Some(frame("entry", Some(entry.seq), &data))
            }
            Ok(Told::Delta { run, agent, text }) => {
                Some(frame("delta", None, &json!({ "run": run, "agent": agent, "text": text })))
            }
            Ok(Told::Restart { run, agent }) => {
                Some(frame("restart", None, &json!({ "run": run, "agent": agent })))
            }
            Ok(Told::End) => None,
            Ok(Told::Bye) => Some(self.bye("the server is stopping")),
            // The client comes back by itself, and reads on where it was.
            Err(error) => Some(self.bye(&format!("the journal cannot be read ({})", error.code()))),
        }
    }

    fn bye(&mut self, reason: &str) -> Bytes {
        self.over = true;
        frame("bye", None, &json!({ "reason": reason }))
    }
}

/// One event. JSON has no line breaks of its own, so it is one line of data.
fn frame(event: &str, id: Option<Seq>, data: &Value) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {event}\ndata: {data}\n\n").into()
}
