//! What a tool is.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use signoff_core::journal::ErrorInfo;
use signoff_core::request::RequestBody;
use signoff_core::{Decision, Span, Timestamp, ToolSpec};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The arguments, already checked against the tool's schema.
    pub arguments: Value,
    /// The same for every attempt at this call, and different for every other call.
    pub idempotency_key: Arc<str>,
    /// When the call was made.
    pub now: Timestamp,
    /// What the tool asked people in earlier rounds of this call, and what they answered.
    pub rounds: Vec<Round>,
}

/// A question a tool asked, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// What the tool wanted to remember with its question.
    pub state: Value,
    /// The decision; none if nobody took one in time.
    pub decision: Option<Decision>,
}

/// What a tool gives back.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolReply {
    /// Its result.
    Done(Value),
    /// A question to people. The call ends here, and nothing of it is kept in memory; once there is
    /// an answer the tool is called again with the same arguments and key, and with this round.
    Ask(Box<ToolQuestion>),
}

/// A tool's question to people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolQuestion {
    /// The question.
    pub request: RequestBody,
    /// What the tool wants to remember with it.
    #[serde(default)]
    pub state: Value,
}

/// Why a tool gave no result. The agent that called it is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct ToolError(pub ErrorInfo);

impl ToolError {
    /// An error with a stable code.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self(ErrorInfo::new(code, message))
    }
}

/// Something an agent can call.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// How it presents itself.
    fn spec(&self) -> &ToolSpec;

    /// Calls it.
    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>>;

    /// Calls it where it may ask people. Tools that never do need not know of it.
    fn converse(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        let called = self.call(invocation);
        Box::pin(async move { called.await.map(ToolReply::Done) })
    }

    /// What a call with `arguments` would do, for a person to see before it is made; nothing is changed.
    /// An object: `summary` in one line; `diff` or `detail` with the whole of it; `argv` of a command; `files`, what a
    /// deletion takes, as `count` and a `sample` of 20 at most; `pin`, the arguments to
    /// add so that the call is refused if what was shown is no longer so. `None`: nothing to show.
    fn preview(&self, arguments: &Value) -> BoxFuture<'_, Result<Option<Value>, ToolError>> {
        let _ = arguments;
        Box::pin(async { Ok(None) })
    }

    /// What is needed to undo a call with `arguments`, looked up before it is made; nothing is changed. It is kept with
    /// the run and given to [`Tool::undo`]. `None`: it cannot be undone.
    fn before(&self, arguments: &Value) -> BoxFuture<'_, Result<Option<Value>, ToolError>> {
        let _ = arguments;
        Box::pin(async { Ok(None) })
    }

    /// Undoes a call, by what [`Tool::before`] gave; refused if what the call left is not there any more as it left it. To
    /// undo twice is to undo once. In a line, what was done.
    fn undo(&self, before: &Value) -> BoxFuture<'_, Result<String, ToolError>> {
        let _ = before;
        Box::pin(async { Err(ToolError::new("cannot_undo", "this tool undoes nothing")) })
    }

    /// How long one call may take.
    fn timeout(&self) -> Span {
        Span::seconds(600)
    }
}

/// Tools that come from somewhere else, and may change while we run.
pub trait ToolSource: Send + Sync + std::fmt::Debug {
    /// The name workflow files know it by: `mcp:NAME/*`.
    fn name(&self) -> &str;

    /// The tools it has now. Cheap when nothing has changed.
    fn tools(&self) -> BoxFuture<'_, Result<Vec<Arc<dyn Tool>>, ToolError>>;
}

type Body = dyn Fn(Invocation) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// A tool made of an async function.
pub struct FnTool {
    spec: ToolSpec,
    body: Box<Body>,
}

impl std::fmt::Debug for FnTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FnTool({})", self.spec.name)
    }
}

impl FnTool {
    /// A tool that presents itself as `spec` and does `body`.
    pub fn new<F, Fut>(spec: ToolSpec, body: F) -> Self
    where
        F: Fn(Invocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        Self { spec, body: Box::new(move |invocation| Box::pin(body(invocation))) }
    }
}

impl Tool for FnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        (self.body)(invocation)
    }
}
