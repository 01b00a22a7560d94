//! Agents that run elsewhere and speak A2A.
//!
//! An agent is named by the operator's configuration and nowhere else: no workflow file and no card can
//! lead a message, or a key, to another address. Its card is read when it is first needed; it is then
//! spoken to in JSON-RPC or over HTTP, in the protocol of 1.0, or in JSON-RPC of 0.3.
//!
//! What an agent says is a stranger's word: sizes are bounded, and questions are cleaned before people
//! see them.
//!
//! A task outlives every connection. Streams are listened to only to know when to look; what counts is
//! the task as the agent has it. A question ends the looking, and nothing waits in memory. See
//! `docs/a2a.md`.

mod card;
mod client;
mod config;
mod failure;
mod known;
mod line;
mod question;
mod reply;
mod several;
mod signature;
pub mod wire;
mod wish;

pub use card::leads_to;
pub use client::A2aAgent;
pub use config::{A2aConfig, Lost};
pub use signature::CardKey;
