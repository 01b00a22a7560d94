//! The inbox as it changes. Comes back by itself, and then says that it must be read again.

use std::time::Duration;

use serde_json::Value;
use signoff_core::Request;

use crate::request;
use crate::retry::Pauses;
use crate::server::Server;
use crate::stream::{Next, Opened};

/// What happens in the inbox, or to the way to it.
#[derive(Clone, Debug, PartialEq)]
pub enum InboxEvent {
    /// It is listened to from here on: read the inbox now, and nothing is missed.
    Listening,
    /// Something happened to a request: asked, decided, expired, cancelled, claimed, released, assigned, commented.
    Change {
        /// What.
        change: String,
        /// The request as it is now.
        request: Box<Request>,
    },
    /// The way to the server is broken; it is tried again by itself.
    Lost {
        /// What is wrong.
        problem: String,
    },
    /// Something that this client does not know. It goes on.
    Strange(String),
    /// The server does not let us in, and will not.
    Refused(String),
}

/// The inbox that is listened to.
#[derive(Debug)]
pub struct InboxEvents {
    server: Server,
    stream: Option<Opened>,
    pauses: Pauses,
    pause: Option<Duration>,
    refused: bool,
}

impl InboxEvents {
    pub(crate) fn new(server: Server) -> Self {
        Self { server, stream: None, pauses: Pauses::default(), pause: None, refused: false }
    }

    /// What happens next. Never ends by itself.
    pub async fn next(&mut self) -> InboxEvent {
        if self.refused {
            std::future::pending::<()>().await;
        }
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause).await;
            self.pause = None;
        }
        let Some(stream) = &mut self.stream else {
            match self.server.open("/v1/requests/events").await {
                Ok(Some(opened)) => {
                    self.stream = Some(opened);
                    self.pauses.worked();
                    return InboxEvent::Listening;
                }
                Ok(None) => return self.broke("the server has no stream".to_owned()),
                Err(error) if error.may_pass() => return self.broke(error.to_string()),
                Err(error) => {
                    self.refused = true;
                    return InboxEvent::Refused(error.to_string());
                }
            }
        };
        match stream.next().await {
            Next::Event(name, data) => self.read(&name, data),
            Next::Garbage(text) => {
                InboxEvent::Strange(format!("something that is not JSON: {text}"))
            }
            Next::End => self.broke("the server ended the stream".to_owned()),
            Next::Broke(problem) => self.broke(problem),
        }
    }

    fn broke(&mut self, problem: String) -> InboxEvent {
        self.stream = None;
        self.pause = Some(self.pauses.next());
        InboxEvent::Lost { problem }
    }

    fn read(&mut self, name: &str, mut data: Value) -> InboxEvent {
        match name {
            "request" => {
                let change = data["change"].as_str().unwrap_or_default().to_owned();
                match request::read(data["request"].take()) {
                    Ok(noted) => InboxEvent::Change { change, request: Box::new(noted.request) },
                    Err(problem) => InboxEvent::Strange(problem),
                }
            }
            // What was missed is in the list.
            "missed" => InboxEvent::Listening,
            "bye" => self.broke(data["reason"].as_str().unwrap_or("the server stops").to_owned()),
            other => InboxEvent::Strange(format!("an event `{other}` that is not known here")),
        }
    }
}
