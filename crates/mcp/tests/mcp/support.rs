//! Servers to talk to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::{Decision, Timestamp};
use signoff_mcp::{McpServerConfig, McpSource};
use signoff_testkit::peers::{cache, install};
use signoff_tools::{Invocation, Round, Tool, ToolError, ToolQuestion, ToolReply, ToolSource as _};

const EVERYTHING: &str = "@modelcontextprotocol/server-everything";

/// The file that is the everything server.
pub(crate) fn everything() -> PathBuf {
    let folder = cache("everything");
    let file = folder.join("node_modules").join(EVERYTHING).join("dist/index.js");
    let package = format!("{EVERYTHING}@2026.8.31");
    let npm = ["npm", "install", "--prefix", ".", "--no-audit", "--no-fund", &package];
    install(&folder, &file, &npm);
    file
}

pub(crate) fn config(text: &str) -> McpServerConfig {
    toml::from_str(text).unwrap()
}

pub(crate) fn source(name: &str, text: &str) -> McpSource {
    McpSource::new(name, &config(text), Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The everything server over stdio.
pub(crate) fn everything_source() -> McpSource {
    source("all", &format!("command = [\"node\", \"{}\", \"stdio\"]", everything().display()))
}

/// The fake server, behaving as `mode` says.
pub(crate) fn fake(mode: &str, keys: &str) -> McpSource {
    source("fake", &format!("command = [\"node\", \"tests/mcp/fake.mjs\", \"{mode}\"]\n{keys}"))
}

pub(crate) async fn names(source: &McpSource) -> Vec<String> {
    source.tools().await.unwrap().iter().map(|tool| tool.spec().name.to_string()).collect()
}

pub(crate) async fn tool(source: &McpSource, name: &str) -> Arc<dyn Tool> {
    let tools = source.tools().await.unwrap();
    let found = tools.iter().find(|tool| &*tool.spec().name == name).cloned();
    found.unwrap_or_else(|| {
        let there: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
        panic!("no {name} among {there:?}; it said: {}", source.last_words())
    })
}

pub(crate) fn invocation(arguments: Value, rounds: Vec<Round>) -> Invocation {
    Invocation { arguments, idempotency_key: "key-1".into(), now: Timestamp(0), rounds }
}

pub(crate) async fn call(
    source: &McpSource,
    name: &str,
    arguments: Value,
) -> Result<Value, ToolError> {
    tool(source, name).await.call(invocation(arguments, Vec::new())).await
}

/// Calls a tool with what was asked before; the question it asks now.
pub(crate) async fn asks(source: &McpSource, name: &str, rounds: &[Round]) -> ToolQuestion {
    match converse(source, name, rounds).await.unwrap() {
        ToolReply::Ask(question) => *question,
        ToolReply::Done(value) => panic!("it did not ask: {value}"),
    }
}

/// Calls a tool with what was asked before; what it gives.
pub(crate) async fn gives(source: &McpSource, name: &str, rounds: &[Round]) -> Value {
    match converse(source, name, rounds).await.unwrap() {
        ToolReply::Done(value) => value,
        ToolReply::Ask(question) => panic!("it asked: {}", question.request.prompt),
    }
}

pub(crate) async fn converse(
    source: &McpSource,
    name: &str,
    rounds: &[Round],
) -> Result<ToolReply, ToolError> {
    tool(source, name).await.converse(invocation(json!({}), rounds.to_vec())).await
}

/// What the journal keeps of a question and its answer.
pub(crate) fn answered(question: &ToolQuestion, decision: Option<Decision>) -> Round {
    if let Some(decision) = &decision {
        question.request.check(decision).unwrap();
    }
    let kept: Value = serde_json::from_str(&question.state.to_string()).unwrap();
    Round { state: kept, decision }
}

pub(crate) fn reject() -> Decision {
    Decision::reject(None, signoff_core::decision::Then::Continue)
}

/// Whether a process is there and not merely waiting to be buried.
pub(crate) fn lives(pid: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}
