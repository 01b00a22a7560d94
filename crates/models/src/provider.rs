//! What a provider is asked and what it gives back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use signoff_core::id::Name;
use signoff_core::journal::ErrorInfo;
pub use signoff_core::journal::{Reply as ModelReply, Usage};
use signoff_core::{Message, ToolSpec};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One question to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The agent that asks.
    pub agent: Name,
    /// The model alias it asks.
    pub model: Name,
    /// How many calls this agent has made before in this run.
    pub turn: u32,
    /// What the agent is told to be and do.
    pub instructions: Arc<str>,
    /// The whole conversation as this agent sees it.
    pub messages: Vec<Arc<Message>>,
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// JSON Schema its final answer must fit.
    pub output: Option<Arc<Value>>,
    /// The id of the message that started the run, where a client gave it one.
    pub sent: Option<Name>,
}

/// A piece of a reply, as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More of the text.
    Text(String),
    /// More of what the model thinks before it speaks. Not part of the reply.
    Reasoning(String),
    /// More of the arguments of a tool call.
    ToolArguments {
        /// The call's id; empty where the provider has given none.
        id: String,
        /// The tool.
        name: Name,
        /// More of the JSON.
        text: String,
    },
    /// The reply failed on the way and is asked for again: what has come so far is void.
    Restart,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", info.message)]
pub struct ModelError {
    /// What went wrong.
    pub info: ErrorInfo,
    /// Whether asking again may help.
    pub retryable: bool,
    /// How long the provider wants to be left alone first.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// An error that asking again does not mend.
    pub fn new(info: ErrorInfo) -> Self {
        Self { info, retryable: false, retry_after: None }
    }

    /// An error that may be gone when asked again.
    pub fn passing(info: ErrorInfo) -> Self {
        Self { info, retryable: true, retry_after: None }
    }
}

/// What others call a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelIdentity {
    /// Whose way of speaking it has: `openai`, `anthropic`, `scripted`.
    pub provider: &'static str,
    /// The provider's own name of it, if it has one.
    pub model: Option<Name>,
    /// The host and port that are asked, if any are.
    pub server: Option<(String, u16)>,
}

/// A source of replies.
pub trait Provider: Send + Sync + std::fmt::Debug {
    /// Asks. Pieces of the text go to `sink` as they come; the reply holds all of it once more.
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;

    /// What others call the model that is asked, or asked first. Nothing, if that is not known.
    fn identity(&self) -> Option<ModelIdentity> {
        None
    }
}
