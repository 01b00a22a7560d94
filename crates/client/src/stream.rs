//! One open stream of events.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use signoff_net::sse::{Decoder, Event};
use signoff_net::{Client, NetError, Policy, Response};

/// The largest event that is read.
const MAX_EVENT: usize = 8 * 1024 * 1024;
/// The server says every 15 seconds that it is there.
pub(crate) const SILENCE: Duration = Duration::from_secs(40);
/// How long a stream may go on before it is opened again.
const LONGEST: Duration = Duration::from_hours(24);

/// A client for what does not end, and may be silent for so long.
pub(crate) fn streaming(silence: Duration) -> Result<Client, NetError> {
    let policy = Policy {
        connect_timeout: Duration::from_secs(5),
        idle_timeout: silence,
        total_timeout: LONGEST,
        max_response_bytes: u64::MAX,
        ..Policy::configured()
    };
    Client::new(policy)
}

/// A stream that is open.
#[derive(Debug)]
pub(crate) struct Opened {
    response: Response,
    decoder: Decoder,
    ready: VecDeque<Event>,
}

/// What came of waiting for the next event.
#[derive(Debug)]
pub(crate) enum Next {
    /// An event by its name, with its data.
    Event(String, Value),
    /// Data that is not JSON.
    Garbage(String),
    /// The stream ended in good order.
    End,
    /// It broke.
    Broke(String),
}

impl Opened {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, decoder: Decoder::new(MAX_EVENT), ready: VecDeque::new() }
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return read(event);
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => match self.decoder.push(&bytes) {
                    Ok(events) => self.ready.extend(events),
                    Err(error) => return Next::Broke(error.to_string()),
                },
                Ok(None) => return Next::End,
                Err(error) => return Next::Broke(error.to_string()),
            }
        }
    }
}

fn read(event: Event) -> Next {
    if event.data == "[DONE]" {
        return Next::Event("[DONE]".to_owned(), Value::Null);
    }
    match serde_json::from_str(&event.data) {
        Ok(data) => Next::Event(event.name, data),
        Err(_) => Next::Garbage(event.data.chars().take(200).collect()),
    }
}
