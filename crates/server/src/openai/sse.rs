//! A response as server-sent events.

use std::io::{self, Write as _};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use super::follow::Follow;
use crate::app::App;
use crate::error::{ApiError, Problem};

/// How long nothing is said before a sign of life is given.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How much room events have at first.
const FRAMES: usize = 8 * 1024;

struct Events {
    app: App,
    follow: Follow,
    /// The last event the client has.
    after: Option<u64>,
    ended: bool,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.app.metrics.streams(-1);
    }
}

/// Whether there is room for one more stream.
pub(super) fn room(app: &App) -> Result<(), ApiError> {
    if app.metrics.open_streams() >= app.settings.max_streams {
        return Err(ApiError::new(Problem::TooManyStreams, "there are too many streams")
            .hint("close some, or ask without `stream`"));
    }
    Ok(())
}

/// The events of a response after `after`, until it ends. Closing the stream stops nothing.
pub(super) fn response(app: &App, follow: Follow, after: Option<u64>) -> Response {
    app.metrics.streams(1);
    let id = follow.stretch.id().to_string();
    let id = HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static(""));
    let events = Events { app: App::clone(app), follow, after, ended: false };
    let frames = stream::unfold(events, |mut events| async move {
        let frame = events.next().await?;
        Some((frame, events))
    });
    let headers = [
        (HeaderName::from_static("x-response-id"), id),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

impl Events {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.ended {
            return None;
        }
        loop {
            let Ok(events) = tokio::time::timeout(KEEP_ALIVE, self.follow.next()).await else {
                return Some(Ok(Bytes::from_static(b": still here\n\n")));
            };
            let events = match events {
                Ok(events) if !events.is_empty() || self.follow.over => events,
                // Cut off. The connection is broken off as well, so that no client takes this for the end: it
                // comes back with what it has.
                Ok(_) | Err(_) => {
                    self.ended = true;
                    return Some(Err(io::Error::other("the response goes on elsewhere")));
                }
            };
            let mut frames = Vec::with_capacity(FRAMES);
            let new = |event: &&Value| event["sequence_number"].as_u64() > self.after;
            events.iter().filter(new).for_each(|event| frame(&mut frames, event));
            if self.follow.over {
                self.ended = true;
                frames.extend_from_slice(b"data: [DONE]\n\n");
            }
            if !frames.is_empty() {
                return Some(Ok(frames.into()));
            }
        }
    }
}

fn frame(frames: &mut Vec<u8>, event: &Value) {
    let kind = event["type"].as_str().unwrap_or_default();
    // Writing to memory cannot fail.
    let _ = write!(frames, "event: {kind}\ndata: ");
    let _ = serde_json::to_writer(&mut *frames, event);
    frames.extend_from_slice(b"\n\n");
}
