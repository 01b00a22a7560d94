//! The words of Signoff as types, and the rules between them.
//!
//! Everything here is pure: no I/O, no clock, no randomness, no threads. A run *is* its journal;
//! [`RunState`] is the fold of that journal, and [`plan`] turns a state and an input into the events
//! to append next. The layers above perform what is planned and append what happened.

pub mod answer;
pub mod choices;
pub mod deciders;
pub mod decision;
mod demand;
pub mod expr;
pub mod feedback;
pub mod graph;
pub mod id;
pub mod journal;
pub mod message;
pub mod plan;
pub mod policy;
pub mod question;
pub mod request;
pub mod schema;
pub mod state;
pub mod steps;
pub mod text;
pub mod time;
pub mod tool;
mod unanswered;
pub mod visible;
pub mod workflow;

pub use decision::{Actor, Decision, DecisionKind, Refusal, Siblings};
pub use graph::{Edge, ExecutorDef, ExecutorKind, Graph};
pub use id::{ActivationId, ConversationId, Key, Name, RequestId, RequestNo, RunId, Seq, Tenant};
pub use journal::{Caller, Entry, ErrorInfo, Event, Input, Outcome, Payload};
pub use message::{Message, Part, Role, Sent};
pub use request::{Choice, Request, RequestBody, RequestKind, RequestStatus, Risk};

pub use state::{JournalError, RunState, RunStatus};
pub use time::{Span, Timestamp};
pub use tool::{Effects, ToolSpec};
pub use unanswered::Unanswered;
pub use workflow::Workflow;
