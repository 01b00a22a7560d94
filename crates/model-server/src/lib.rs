//! A model server on this machine: real HTTP, three protocols, replies from any [`Provider`], and
//! faults on demand.
//!
//! It reads a request back from the wire into a [`ModelRequest`] and asks its brain, usually a
//! [`Scripted`](signoff_models::Scripted) model, so that a workflow can be run over each protocol and
//! must come to the same end. What it reads is what a model could read: the agent's name from the system
//! prompt, others' words by their marks. The turn is the number of replies the conversation shows.
//!
//! For tests and benchmarks; what goes wrong here fails one, so it panics.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod encode;
mod fault;
mod read;
mod serve;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use signoff_core::{ErrorInfo, Part};
use signoff_models::{
    BoxFuture, Delta, ModelError, ModelReply, ModelRequest, Provider, ProviderConfig, ProviderKind,
};

pub use fault::Fault;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Where it went.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Value,
}

impl Recorded {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
struct Shared {
    brain: Arc<dyn Provider>,
    faults: Mutex<VecDeque<Fault>>,
    requests: Mutex<Vec<Recorded>>,
    /// Whether requests are kept.
    records: bool,
    /// Exchanges that are going on, and the most there have been at once.
    open: AtomicUsize,
    most: AtomicUsize,
    /// Exchanges that ended because the client went away.
    abandoned: AtomicUsize,
}

/// The server. It stops when this is dropped.
#[derive(Debug)]
pub struct ModelServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl ModelServer {
    /// Starts a server whose replies are `brain`'s.
    pub async fn start(brain: Arc<dyn Provider>) -> Self {
        Self::start_and(brain, true).await
    }

    /// The same without keeping what it was asked, for many calls.
    pub async fn start_forgetful(brain: Arc<dyn Provider>) -> Self {
        Self::start_and(brain, false).await
    }

    async fn start_and(brain: Arc<dyn Provider>, records: bool) -> Self {
        let shared = Arc::new(Shared {
            brain,
            records,
            faults: Mutex::default(),
            requests: Mutex::default(),
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            abandoned: AtomicUsize::new(0),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = serve::router(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { shared, address, task }
    }

    /// The `base_url` of all three protocols.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// A configuration that leads here, with short waits.
    pub fn config(&self, provider: ProviderKind) -> ProviderConfig {
        serde_json::from_value(serde_json::json!({
            "provider": provider,
            "model": "test-model",
            "base_url": self.base_url(),
            "retry_delay": "1ms",
            "timeout": "20s",
            "first_byte_timeout": "1s",
            "idle_timeout": "1s",
        }))
        .unwrap()
    }

    /// What happens to the next calls, in their order. Those after them are well.
    pub fn faults(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.faults.lock().unwrap().extend(faults);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// How many exchanges are going on.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// The most exchanges there have been at once.
    pub fn most(&self) -> usize {
        self.shared.most.load(Ordering::SeqCst)
    }

    /// How many exchanges ended because the client went away.
    pub fn abandoned(&self) -> usize {
        self.shared.abandoned.load(Ordering::SeqCst)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A brain that says one thing after another, and the last one for ever.
#[derive(Debug)]
pub struct Replies(Mutex<VecDeque<ModelReply>>);

impl Replies {
    /// Says `replies`.
    pub fn new(replies: impl IntoIterator<Item = ModelReply>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(replies.into_iter().collect())))
    }

    /// Says `text`, always.
    pub fn text(text: &str) -> Arc<Self> {
        let parts = vec![Part::Text(text.to_owned())];
        Self::new([ModelReply { parts, ..ModelReply::default() }])
    }
}

impl Provider for Replies {
    fn complete<'a>(
        &'a self,
        _: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let mut replies = self.0.lock().unwrap();
        let reply = match replies.len() {
            0 => Err(ModelError::new(ErrorInfo::new("no_reply", "there is no reply left"))),
            1 => Ok(replies[0].clone()),
            _ => Ok(replies.pop_front().unwrap()),
        };
        for part in reply.iter().flat_map(|reply| &reply.parts) {
            if let Part::Text(text) = part {
                sink(Delta::Text(text.clone()));
            }
        }
        Box::pin(async move { reply })
    }
}
