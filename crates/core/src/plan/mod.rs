//! The planner: from a state and something that happened to the events to append.
//!
//! | what happened | events |
//! |---|---|
//! | a run starts | `Started`, what is said first, `Delivered` to the first executor |
//! | an activation is done | what it still asks is withdrawn, `Completed` with the activations its edges open, `Delivered` for each fan-in that is full |
//! | an activation failed | `Failed`, and the run with it unless somebody called it |
//! | an answer, a deadline, a timer, a child's end | the entry that says so; an abort ends the run |
//! | a remark, or that one counts no more | the entry that says so |
//! | cancel, out of time | what waits is withdrawn, the run ends |
//! | nothing is open any more | `RunCompleted`, or `RunFailed` if a fan-in still waits |
//!
//! The planner never fails: what cannot be planned becomes a run that failed, with the reason.

mod input;
mod route;
mod start;

pub use input::{because_rejected, input};
pub use route::{completed, failed, settle};
pub use start::start;

use crate::graph::Graph;
use crate::workflow::Limits;

/// What the planner needs to know of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Its executors and edges.
    pub graph: &'a Graph,
    /// Its bounds.
    pub limits: &'a Limits,
}
