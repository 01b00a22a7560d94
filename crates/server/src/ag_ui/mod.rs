//! The dialect of AG-UI, by which pages of others (`CopilotKit` and more) talk to agents.
//!
//! A thread is a conversation. A run of the protocol is a stretch of one of ours: it ends where people are asked, and
//! the next one answers. `input` reads what a client sends, `begin` decides what it does, `telling` turns the journal to
//! events, `interrupt` is a request as the protocol shows it and the answer as it takes it. Nothing is kept here.

mod begin;
mod capabilities;
mod events;
mod follow;
mod history;
mod input;
mod interrupt;
mod progress;
mod run;
mod speech;
mod telling;
mod words;

use crate::api::Api;

/// Adds the routes of this dialect.
pub(crate) fn routes(api: Api) -> Api {
    capabilities::routes(run::routes(api))
}
