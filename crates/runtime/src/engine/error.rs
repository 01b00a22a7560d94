//! What can go wrong with a call of the engine.

use signoff_core::journal::ErrorInfo;
use signoff_core::{RunId, Seq};
use signoff_store::StoreError;

use super::DecideError;

/// What can go wrong with a call of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no workflow of this id.
    #[error("there is no workflow `{id}`")]
    UnknownWorkflow {
        /// What was asked for.
        id: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The input does not fit the workflow.
    #[error("the input does not fit `{workflow}`: {}", problems.join("; "))]
    InvalidInput {
        /// Which workflow.
        workflow: String,
        /// Each problem, with its place.
        problems: Vec<String>,
    },
    /// A conversation has one run at a time.
    #[error("run {run} of this conversation is not over yet")]
    ConversationBusy {
        /// The run that is still open.
        run: RunId,
    },
    /// A run cannot be forked there.
    #[error("the run cannot be forked at {at}: {problem}")]
    CannotFork {
        /// Where.
        at: Seq,
        /// Why not.
        problem: String,
    },
    /// The decision for a fork was not taken.
    #[error(transparent)]
    Decision(#[from] DecideError),
    /// This process cannot run it.
    #[error("{0}")]
    Unable(ErrorInfo),
    /// There is nothing to try again.
    #[error("run {0} did not fail, and was not stopped")]
    NotFailed(RunId),
    /// The run is over.
    #[error("run {0} is over")]
    Over(RunId),
    /// The store failed or does not know it.
    #[error(transparent)]
    Store(#[from] StoreError),
}
