//! Workflows that every engine has: questions from outside, each a run like any other.
//!
//! They can be started by their ids and are not listed among the workflows. Their definitions are stored like all
//! others, so a process that knows nothing of them goes on with their runs.

use std::sync::{Arc, OnceLock};

use signoff_core::journal::ErrorInfo;
use signoff_core::workflow::AskGivenFile;
use signoff_core::{Workflow, question};

use crate::builder::WorkflowBuilder;
use crate::definition::Definition;
use crate::engine::Parts;

/// The workflow that asks a person a question.
pub const ASK_HUMAN: &str = "ask_human";
/// The workflow that asks a person to agree to something.
pub const REQUEST_APPROVAL: &str = "request_approval";

/// All of them, ready to run. They need no parts, so one for each process is enough: checking what they accept is half
/// of what it takes to make an engine.
pub(crate) fn definitions() -> Result<Vec<Arc<Definition>>, ErrorInfo> {
    static COMPILED: OnceLock<Result<Vec<Arc<Definition>>, ErrorInfo>> = OnceLock::new();
    let compile = |workflow| Definition::compile(workflow, &Parts::default()).map(Arc::new);
    COMPILED.get_or_init(|| workflows().into_iter().map(compile).collect()).clone()
}

fn workflows() -> [Workflow; 2] {
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
