//! A typed client of a Signoff server.
//!
//! Knows the server's own API and no terminal. What is streamed comes back by itself: a stream that breaks is opened
//! again after the last entry that was seen, and says in between that it is broken. Text from the server is handed on as
//! it came; whoever shows it makes it safe to show.

mod address;
mod entry;
mod error;
mod inbox;
mod request;
mod requests;
mod responses;
mod retry;
mod run_events;
mod server;
mod shapes;
mod stream;

pub use address::Address;
pub use error::{ClientError, Refused};
pub use inbox::{InboxEvent, InboxEvents};
pub use request::{Note, Noted};
pub use responses::{Asked, Endpoint, Said, Turn};
pub use run_events::{RunEvent, RunEvents};
pub use server::Server;
pub use shapes::{Filter, Many, Page, Run, RunFilter, Session, Start, Workflow, WorkflowSummary};
