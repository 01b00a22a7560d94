//! Which conversation a text belongs to.

use signoff_core::ConversationId;
use signoff_core::text::digest;
use signoff_runtime::Engine;

use crate::access::Caller;
use crate::error::{ApiError, Problem, unknown_workflow};

/// The longest name of a session, a model or a conversation, in bytes.
const MAX_NAME: usize = 256;

/// A conversation as such a client names it.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub(super) id: ConversationId,
    /// The model, as it was sent.
    pub(super) model: String,
    /// The workflow that it means.
    pub(super) workflow: String,
}

impl Talk {
    /// The conversation of this caller, by this path, on this model.
    pub(super) fn find(
        engine: &Engine,
        caller: &Caller,
        session: &str,
        model: &str,
        conversation: &str,
    ) -> Result<Self, ApiError> {
        for (name, text) in [("model", model), ("session", session), ("conversation", conversation)]
        {
            if text.len() > MAX_NAME {
                let message = format!("`{name}` has more than {MAX_NAME} bytes");
                return Err(ApiError::new(Problem::InvalidBody, message));
            }
        }
        let named = match model.split_once(':') {
            Some((before, _)) if engine.workflow(model).is_none() => before,
            _ => model,
        };
        if engine.workflow(named).is_none() {
            let known: Vec<String> = engine.workflows().map(|it| it.workflow.id.clone()).collect();
            return Err(unknown_workflow(named, &known));
        }
        let parts = [caller.tenant.as_str(), caller.actor.as_str(), session, model, conversation];
        // Lengths keep the parts apart, whatever they contain.
        let key = parts.map(|part| format!("{}:{part}", part.len())).join(";");
        // Marked with a letter that is no hexadecimal digit: it never is an id made otherwise.
        let id = ConversationId::from_unique(&format!("q{}", digest(&key, 32)));
        Ok(Self { id, model: model.to_owned(), workflow: named.to_owned() })
    }
}
