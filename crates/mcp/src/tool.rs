//! A remote tool as a tool of ours.

use std::sync::Arc;

use serde_json::Value;
use signoff_core::{Span, ToolSpec};
use signoff_tools::{BoxFuture, Invocation, Tool, ToolError, ToolReply};

use crate::call::{Call, Failed};
use crate::link::Link;
use crate::listing::Listed;
use crate::question::Asker;

/// A tool of a server.
#[derive(Debug)]
pub(crate) struct RemoteTool {
    pub(crate) server: Arc<str>,
    pub(crate) listed: Listed,
    pub(crate) link: Arc<Link>,
    pub(crate) total: Span,
    pub(crate) idle: Span,
}

impl RemoteTool {
    async fn make(&self, invocation: Invocation) -> Result<ToolReply, ToolError> {
        let asker = Asker { server: &self.server, tool: &self.listed.remote };
        let call = Call { asker, total: self.total, idle: self.idle };
        let repeatable = self.listed.spec.effects.repeatable();
        let mut again = repeatable;
        loop {
            let session = self.link.session().await?;
            match call.make(&session, &invocation).await {
                Ok(reply) => return Ok(reply),
                Err(Failed::Told(error)) => return Err(error),
                Err(Failed::Gone) => session.give_up(),
            }
            if !again {
                return Err(self.gone(repeatable));
            }
            again = false;
        }
    }

    fn gone(&self, repeatable: bool) -> ToolError {
        let server = &self.server;
        let message = if repeatable {
            format!("the server `{server}` went away in the middle of the call")
        } else {
            format!(
                "the server `{server}` went away in the middle of the call, which may have happened: \
                 look before calling again"
            )
        };
        ToolError::new("mcp_disconnected", message)
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.listed.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            match self.make(invocation).await? {
                ToolReply::Done(value) => Ok(value),
                ToolReply::Ask(_) => Err(ToolError::new(
                    "tool_failed",
                    "the tool asks people, which is not possible where it was called",
                )),
            }
        })
    }

    fn converse(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(self.make(invocation))
    }

    /// A little more than the call itself may take, so that the server is told when it takes longer.
    fn timeout(&self) -> Span {
        Span(self.total.0.saturating_add(10_000))
    }
}
