//! MCP: whatever speaks it can ask people and start workflows.
//!
//! `speaker` is what a client talks to, over HTTP (`http`) or a pipe (`stdio`); the protocol itself is the library's.
//! A question becomes a run of a workflow that every engine has (`ask`), and the client waits for it in the best way it
//! knows: as a task (`task`), by asking its own user (`elicit`), or by waiting and asking again (`wait`). What a client
//! keeps for us is signed (`kept`), so nothing is kept here: a session that this process does not know is made anew of
//! what the client brings (`session`).

mod arguments;
mod ask;
mod call;
mod elicit;
mod http;
mod kept;
mod look;
mod outcome;
mod resources;
mod session;
mod speaker;
mod stdio;
mod task;
mod tools;
mod wait;

use std::time::Duration;

pub(crate) use http::{Http, routes};
pub use stdio::Stdio;

/// The name of the secret that signs what clients keep for us.
pub(crate) const SECRET: &str = "mcp";

/// How MCP clients are answered.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// How long a call waits for a person before it says that the question waits.
    pub wait: Duration,
    /// Whether a client may put a question to its own user. If nothing is said: where everybody who comes in is
    /// whoever sits at this machine.
    pub client_answers: Option<bool>,
}

impl Default for McpSettings {
    fn default() -> Self {
        // Most clients give up on a call after a minute.
        Self { wait: Duration::from_secs(50), client_answers: None }
    }
}
