//! A task that is followed, as server-sent events.

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;
use signoff_a2a::wire::Event;

use super::fault::Fault;
use super::follow::{Follow, Until};
use crate::app::App;
use crate::stream::sse::{Counted, KEEP_ALIVE, STILL_HERE, body};

/// How a binding writes what is told.
pub(super) type Write = Box<dyn Fn(Result<&Event, &Fault>, Until) -> Value + Send>;

struct Events {
    _counted: Counted,
    follow: Follow,
    write: Write,
    over: bool,
}

/// What happens to a task, until it is not followed any further. Closing the stream stops nothing.
pub(super) fn response(app: &App, follow: Follow, write: Write) -> Response {
    let events = Events { _counted: Counted::new(app), follow, write, over: false };
    body(stream::unfold(events, |mut events| async move {
        let frame = events.next().await?;
        Some((Ok(frame), events))
    }))
}

impl Events {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let Ok(next) = tokio::time::timeout(KEEP_ALIVE, self.follow.next()).await else {
            return Some(STILL_HERE);
        };
        let data = match &next {
            Ok(None) => return None,
            Ok(Some(event)) => (self.write)(Ok(event), self.follow.until()),
            Err(fault) => {
                self.over = true;
                (self.write)(Err(fault), self.follow.until())
            }
        };
        Some(format!("data: {data}\n\n").into())
    }
}
