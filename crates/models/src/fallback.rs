//! Several models under one name: the next is asked where one fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signoff_core::Name;

use crate::assembly::Sink;
use crate::provider::{
    BoxFuture, Delta, ModelError, ModelIdentity, ModelReply, ModelRequest, Provider,
};

/// Models in the order in which they are asked. Once one of them has been heard to speak, there is no
/// going on to the next: half an answer of one and half of another is no answer.
#[derive(Debug)]
pub struct Fallbacks {
    candidates: Vec<(Name, Arc<dyn Provider>)>,
}

impl Fallbacks {
    /// The models, best first. There is nothing to ask if there is none.
    pub fn new(candidates: Vec<(Name, Arc<dyn Provider>)>) -> Option<Self> {
        (!candidates.is_empty()).then_some(Self { candidates })
    }
}

impl Provider for Fallbacks {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: Sink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let spoken = AtomicBool::new(false);
            let watched = |delta: Delta| {
                if matches!(delta, Delta::Text(_)) {
                    spoken.store(true, Ordering::Relaxed);
                }
                sink(delta);
            };
            let mut failures: Vec<(Name, ModelError)> = Vec::new();
            for (name, candidate) in &self.candidates {
                match candidate.complete(request, &watched).await {
                    Ok(mut reply) => {
                        reply.by = (!failures.is_empty()).then(|| name.clone());
                        return Ok(reply);
                    }
                    Err(error) => failures.push((name.clone(), error)),
                }
                if spoken.load(Ordering::Relaxed) {
                    break;
                }
            }
            Err(all_failed(failures))
        })
    }

    fn identity(&self) -> Option<ModelIdentity> {
        self.candidates.first()?.1.identity()
    }
}

/// The last failure, with what the ones before it said.
fn all_failed(failures: Vec<(Name, ModelError)>) -> ModelError {
    let said: Vec<String> =
        failures.iter().map(|(name, error)| format!("{name}: {}", error.info.message)).collect();
    let several = failures.len() > 1;
    let last = failures.into_iter().next_back().map(|(_, error)| error);
    let mut error = last.unwrap_or_else(|| crate::failure::malformed(&"there is no model to ask"));
    if several {
        error.info.message = said.join("; ");
    }
    error
}
