//! Workflows that every engine has: questions from outside, each a run like any other.
//!
//! They can be started by their ids and are not listed among the workflows. Their definitions are stored like all
//! others, so a process that knows nothing of them goes on with their runs.

use signoff_core::workflow::AskGivenFile;
use signoff_core::{Workflow, question};

use crate::builder::WorkflowBuilder;

/// The workflow that asks a person a question.
pub const ASK_HUMAN: &str = "ask_human";
/// The workflow that asks a person to agree to something.
pub const REQUEST_APPROVAL: &str = "request_approval";

/// All of them.
pub(crate) fn workflows() -> [Workflow; 2] {
    let asks = |id: &str, description: &str| {
        WorkflowBuilder::new(id)
            .description(description)
            .input(question::json_schema())
            .ask_given("ask", AskGivenFile::default())
            .into_definition()
    };
    [
        asks(ASK_HUMAN, "Asks a person what somebody outside wants to know."),
        asks(REQUEST_APPROVAL, "Asks a person to agree to what somebody outside wants to do."),
    ]
}
