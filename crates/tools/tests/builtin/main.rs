//! The built-in tools as an agent meets them: made from the operator's settings, called through the trait.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod command;
mod escape;
mod files;
mod http;
mod server;
mod settings;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use signoff_core::Timestamp;
use signoff_tools::{Builtin, Invocation, Tool, ToolError};

/// The tools of some settings.
struct Tools(Vec<Arc<dyn Tool>>);

impl Tools {
    fn new(settings: &str, folder: &Path) -> Self {
        let settings: Builtin = toml::from_str(settings).unwrap();
        Self(settings.tools(folder).unwrap())
    }

    fn files(folder: &Path) -> Self {
        Self::new("files = { root = \".\" }", folder)
    }

    fn get(&self, name: &str) -> &Arc<dyn Tool> {
        self.0.iter().find(|tool| &*tool.spec().name == name).expect(name)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        self.call_as("key", name, arguments).await
    }

    async fn call_as(&self, key: &str, name: &str, arguments: Value) -> Result<Value, ToolError> {
        let now = Timestamp(0);
        let result = self
            .get(name)
            .call(Invocation { arguments, idempotency_key: key.into(), now, rounds: Vec::new() })
            .await;
        if let Ok(value) = &result {
            assert!(value.to_string().len() <= 256 * 1024, "the dispatcher would cut this");
        }
        result
    }

    async fn code(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments.clone()).await {
            Ok(value) => panic!("{name} {arguments} gave {value}"),
            Err(ToolError(error)) => error.code,
        }
    }

    async fn preview(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        self.get(name).preview(&arguments).await.map(Option::unwrap)
    }
}
