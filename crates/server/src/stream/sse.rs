//! A journal, or the inbox, as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use serde_json::{Value, json};
use signoff_core::{Actor, RunId, Seq};

use super::{Heard, Listener, Tail, Told};
use crate::app::App;
use crate::shape;

/// How long nothing is said before a sign of life is given.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a client should wait before it comes back, in milliseconds.
const RETRY: u32 = 1000;
/// The sign of life.
pub(crate) const STILL_HERE: Bytes = Bytes::from_static(b": still here\n\n");

/// One stream.
struct Events {
    _counted: Counted,
    run: RunId,
    tail: Tail,
    greeted: bool,
    over: bool,
}

/// The journal of `run` after `after`, as a response that goes on until the run is over.
pub(crate) fn response(app: &App, run: RunId, after: Seq) -> Response {
    let tail = Tail::new(app, run.clone(), after);
    let events = Events { _counted: Counted::new(app), run, tail, greeted: false, over: false };
    body(stream::unfold(events, |mut events| async move {
        let frame = events.next().await?;
        Some((Ok(frame), events))
    }))
}

/// The frames of a stream as a response.
pub(crate) fn body(
    frames: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

/// What happens in the inbox, until the client goes or the server stops.
pub(crate) fn inbox(app: &App, listener: Listener) -> Response {
    let changes = Changes { _counted: Counted::new(app), listener, greeted: false, over: false };
    body(stream::unfold(changes, |mut changes| async move {
        let frame = changes.next().await?;
        Some((Ok(frame), changes))
    }))
}

/// A stream of the inbox.
struct Changes {
    _counted: Counted,
    listener: Listener,
    greeted: bool,
    over: bool,
}

impl Changes {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(greeting());
        }
        let Ok(heard) = tokio::time::timeout(KEEP_ALIVE, self.listener.next()).await else {
            return Some(STILL_HERE);
        };
        Some(match heard {
            Heard::Change(change) => format!("event: request\ndata: {}\n\n", change.text()).into(),
            Heard::Missed => frame("missed", None, &json!({ "reason": "read too slowly" })),
            Heard::Bye => {
                self.over = true;
                frame("bye", None, &json!({ "reason": "the server is stopping" }))
            }
        })
    }
}

/// A stream that counts as open for as long as this lives.
#[derive(Debug)]
pub(crate) struct Counted {
    app: App,
    user: Option<Actor>,
}

impl Counted {
    pub(crate) fn new(app: &App) -> Self {
        app.metrics.streams(1);
        // Users may come and go meanwhile; who was counted is counted back.
        let user = app.stream_user().cloned();
        if let Some(user) = &user {
            app.places.take(user);
        }
        Self { app: App::clone(app), user }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.app.metrics.streams(-1);
        self.user.iter().for_each(|user| self.app.places.give_back(user));
    }
}

/// Sent at once, so that a client knows that it is connected.
fn greeting() -> Bytes {
    format!("retry: {RETRY}\n\n").into()
}

impl Events {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(greeting());
        }
        let Ok(told) = tokio::time::timeout(KEEP_ALIVE, self.tail.next()).await else {
            return Some(STILL_HERE);
        };
        match told {
            Ok(Told::Entry(entry)) => {
                let data = shape::entry(&self.run, &entry);
                Some(frame("entry", Some(entry.seq), &data))
            }
            Ok(Told::Delta { run, agent, text, .. }) => {
                Some(frame("delta", None, &json!({ "run": run, "agent": agent, "text": text })))
            }
            Ok(Told::Restart { run, agent, .. }) => {
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
