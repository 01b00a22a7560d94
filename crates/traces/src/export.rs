//! Sends spans: in batches, with some patience, and never in anybody's way.
//!
//! | what happens | what is done |
//! |---|---|
//! | a batch is full, or its first span has waited for a second | it is sent |
//! | no connection, or 429, 502, 503, 504 | wait, longer each time, or as long as is asked for, and send it again |
//! | it is refused, or was sent often enough | it is dropped and counted |
//! | the program stops | what is left is sent once |
//!
//! While a batch waits, others gather in the queue; what does not fit there is dropped by `watch`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use signoff_net::{Client, Method, NetError, Policy, Request, StatusCode};
use tokio::sync::{mpsc, watch as signal};
use tokio::time::{Instant, timeout_at};

use crate::Counts;
use crate::config::Config;
use crate::otlp;
use crate::span::Span;

/// The most spans in a batch.
const BATCH: usize = 512;
/// How long a span waits for others. Short, since what waits is lost if the process is killed.
const GATHER: Duration = Duration::from_secs(1);
/// How often a batch is sent before it is given up.
const ATTEMPTS: u32 = 5;
/// The wait before it is sent for the second time; it doubles from one to the next.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait, wishes of the other side included.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long sending a batch may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of an answer is read.
const MAX_ANSWER: usize = 64 * 1024;

/// How sending a batch went.
enum Sent {
    /// It was taken, but for so many spans.
    Taken { rejected: u64 },
    /// It may go better later.
    Later { problem: String, after: Option<Duration> },
    /// It will not.
    Refused { problem: String },
}

/// Sends what comes from the queue.
pub(crate) struct Export {
    config: Config,
    queue: mpsc::Receiver<Span>,
    counts: Arc<Counts>,
    stopping: signal::Receiver<bool>,
    client: Option<Client>,
    /// Whether the last batch was lost. Told once, not each time.
    failing: bool,
}

impl Export {
    pub(crate) fn new(
        config: Config,
        queue: mpsc::Receiver<Span>,
        counts: Arc<Counts>,
        stopping: signal::Receiver<bool>,
    ) -> Self {
        Self { config, queue, counts, stopping, client: None, failing: false }
    }

    /// Sends until nothing more can come.
    pub(crate) async fn run(mut self) {
        while let Some(batch) = self.gather().await {
            self.deliver(&batch).await;
        }
    }

    async fn gather(&mut self) -> Option<Vec<Span>> {
        let mut batch = vec![self.queue.recv().await?];
        let until = Instant::now() + GATHER;
        while batch.len() < BATCH {
            match timeout_at(until, self.queue.recv()).await {
                Ok(Some(span)) => batch.push(span),
                Ok(None) | Err(_) => break,
            }
        }
        Some(batch)
    }

    async fn deliver(&mut self, batch: &[Span]) {
        let body = otlp::body(&self.config.resource, batch);
        let mut wait = FIRST_WAIT;
        for attempt in 1..=ATTEMPTS {
            let (problem, after) = match self.send(body.clone()).await {
                Sent::Taken { rejected } => return self.taken(batch.len(), rejected),
                Sent::Refused { problem } => return self.lost(batch.len(), &problem),
                Sent::Later { problem, after } => (problem, after),
            };
            if attempt == ATTEMPTS || *self.stopping.borrow() {
                return self.lost(batch.len(), &problem);
            }
            let pause = tokio::time::sleep(after.unwrap_or(wait).min(LONGEST_WAIT));
            tokio::select! {
                () = pause => {}
                // Once more, at once.
                _ = self.stopping.wait_for(|stop| *stop) => {}
            }
            wait *= 2;
        }
    }

    fn taken(&mut self, spans: usize, rejected: u64) {
        let rejected = rejected.min(spans as u64);
        self.counts.add_sent(spans - usize::try_from(rejected).unwrap_or(spans));
        self.counts.add_dropped(rejected);
        if rejected > 0 {
            tracing::warn!(rejected, "whoever collects spans did not want some of them");
        }
        if std::mem::take(&mut self.failing) {
            tracing::warn!("spans are taken again");
        }
    }

    fn lost(&mut self, spans: usize, problem: &str) {
        self.counts.add_dropped(spans as u64);
        if std::mem::replace(&mut self.failing, true) {
            tracing::debug!(spans, problem, "spans were dropped");
        } else {
            tracing::warn!(spans, problem, "spans were dropped; runs go on without traces");
        }
    }

    async fn send(&mut self, body: Vec<u8>) -> Sent {
        let request = Request {
            headers: self.config.headers.clone(),
            body: body.into(),
            ..Request::new(Method::POST, self.config.url.clone())
        };
        let client = match self.client().await {
            Ok(client) => client,
            Err(error) => return Sent::Refused { problem: error.to_string() },
        };
        let response = match client.send(request).await {
            Ok(response) => response,
            Err(error @ NetError::Refused { .. }) => {
                return Sent::Refused { problem: error.to_string() };
            }
            Err(error) => return Sent::Later { problem: error.to_string(), after: None },
        };
        let status = response.status();
        if status.is_success() {
            return Sent::Taken { rejected: rejected(&response.beginning(MAX_ANSWER).await) };
        }
        let problem = format!("it was answered with {}", status.as_u16());
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let after = response.header("retry-after").and_then(|text| text.parse().ok());
                Sent::Later { problem, after: after.map(Duration::from_secs) }
            }
            _ => Sent::Refused { problem },
        }
    }

    /// The client, made when it is first needed: reading the machine's certificates takes a while.
    async fn client(&mut self) -> Result<Client, NetError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let policy = Policy {
            connect_timeout: TIMEOUT / 2,
            first_byte_timeout: TIMEOUT,
            idle_timeout: TIMEOUT,
            total_timeout: TIMEOUT,
            ..Policy::configured()
        };
        let made = tokio::task::spawn_blocking(|| Client::new(policy)).await;
        let client = made.unwrap_or_else(|error| {
            let host = "this machine".to_owned();
            Err(NetError::Tls { host, problem: error.to_string() })
        })?;
        Ok(self.client.insert(client).clone())
    }
}

/// How many spans an answer says were rejected.
fn rejected(answer: &[u8]) -> u64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let rejected = &answer["partialSuccess"]["rejectedSpans"];
    let written = rejected.as_str().and_then(|text| text.parse().ok());
    written.or_else(|| rejected.as_u64()).unwrap_or(0)
}
