//! What an agent that runs elsewhere is.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use signoff_core::Span;
use signoff_core::journal::ErrorInfo;
use signoff_core::request::RequestBody;

use crate::tool::BoxFuture;

/// An agent that runs elsewhere. It is given a task, works on it by itself, may ask people in between,
/// and gives an answer.
///
/// Nothing of a task is kept here between two calls: what is known of it is in the [`RemoteTask`] that
/// each call gives, which is journaled.
pub trait Remote: Send + Sync + std::fmt::Debug {
    /// The name workflow files know it by.
    fn name(&self) -> &str;

    /// How long it may work without giving an answer or asking something.
    fn timeout(&self) -> Span;

    /// Begins a task. Called twice, it may begin two; an error says whether it may have begun one.
    fn begin(&self, message: RemoteMessage) -> BoxFuture<'_, Result<RemoteTask, ErrorInfo>>;

    /// Answers a question of a task. May be called again: what has arrived is not sent twice.
    fn answer(&self, answer: RemoteAnswer) -> BoxFuture<'_, RemoteTask>;

    /// Looks how a task stands, until it needs us or patience ends.
    fn watch(&self, watch: RemoteWatch) -> BoxFuture<'_, RemoteTask>;

    /// Says that nobody waits for a task any more.
    fn cancel(&self, task: String) -> BoxFuture<'_, Result<(), ErrorInfo>>;

    /// Whether another task may be begun after this failure without asking anybody.
    fn begins_again(&self, _: &ErrorInfo) -> bool {
        false
    }
}

/// What an agent elsewhere is told.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteMessage {
    /// The same for every attempt to tell it, and different for every other message.
    pub id: String,
    /// What it is told, in order.
    pub parts: Vec<RemotePart>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum RemotePart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What else is known about it, such as who said it. An object, or null.
        about: Value,
    },
    /// A value.
    Data(Value),
}

/// An answer to a question of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteAnswer {
    /// The task.
    pub task: String,
    /// The context it is in, where there is one.
    pub context: Option<String>,
    /// The question, by its id.
    pub question: String,
    /// The answer.
    pub message: RemoteMessage,
}

/// A look at a task.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteWatch {
    /// The task.
    pub task: String,
    /// A question that has just been answered: seeing it means that the answer was not looked at yet.
    pub answered: Option<String>,
    /// How long to look before it is left alone for a while.
    pub patience: Span,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteTask {
    /// The agent, by the name workflow files know it by.
    pub remote: String,
    /// Its id there; none, if it was answered without becoming a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The context it is in, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// How it stands.
    pub state: RemoteState,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemoteState {
    /// It is being worked on.
    Working,
    /// It is done, with this answer.
    Done(String),
    /// It waits for people.
    Asks(Box<RemoteQuestion>),
    /// It ended without an answer.
    Failed(ErrorInfo),
    /// Nobody knows: it could not be looked at.
    Unknown {
        /// Why not.
        error: ErrorInfo,
        /// Whether that may pass by itself.
        passes: bool,
    },
}

/// A question of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteQuestion {
    /// The same for the same question.
    pub id: String,
    /// What people are asked.
    pub request: RequestBody,
}
