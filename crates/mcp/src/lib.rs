//! Tools of MCP servers, which may ask people.
//!
//! A server is named by the operator's configuration and nowhere else: no workflow file and no API can
//! start a program or open a connection here. It is reached when its tools are first wanted, over stdio
//! or streamable HTTP, in the protocol of 2026-07-28 or of 2025-11-25.
//!
//! What a server says is a stranger's word: sizes are bounded, names and descriptions are cleaned, and
//! its hints about what a tool does count only where the operator trusts them.
//!
//! A tool that asks people ends its call with the question; nothing waits in memory. Once there is an
//! answer, on this process or another, the call is made again and the answer handed over. See
//! `docs/mcp.md`.
//!
//! The protocol itself is the work of the official `rmcp`, none of whose types leave this crate.

mod answer;
mod call;
mod config;
mod content;
mod desk;
#[cfg(test)]
mod fuzz_tests;
mod http;
mod link;
mod listing;
mod name;
mod pipe;
mod question;
mod session;
mod source;
mod stdio;
mod tool;

pub use config::McpServerConfig;
pub use pipe::pipe;
pub use source::McpSource;
