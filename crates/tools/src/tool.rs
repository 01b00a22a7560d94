//! What a tool is.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use signoff_core::journal::ErrorInfo;
use signoff_core::{Timestamp, ToolSpec};

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
