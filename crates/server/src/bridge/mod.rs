//! The dialect of terminal clients that send only text, `qlaw-cli` above all.
//!
//! A client sends a model and a text, never an id. Who it is, the path it came by and the model make the
//! id of a conversation (`talk`), and the latest run of that says what the text is: a start, an answer, or
//! neither (`begin`). What the run tells is written as few kinds of events as such a client understands
//! (`follow`, `telling`, `question`). Nothing is kept here.

mod agents;
mod begin;
mod follow;
mod frame;
mod question;
mod respond;
mod runs;
mod talk;
mod telling;

pub(crate) use question::written;

use crate::api::Api;

/// Adds the routes of this dialect.
pub(crate) fn routes(api: Api) -> Api {
    runs::routes(agents::routes(respond::routes(api)))
}
