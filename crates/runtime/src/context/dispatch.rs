//! The one way to a tool: every call an agent makes passes here.
//!
//! A call is bounded in time and in what it gives back; a tool that panics or never returns is an
//! error like any other, told to the model and kept in the journal. A tool that asks people ends its
//! call with the question; it is called again with the answer, under a key of its own, so that each
//! round is in the journal.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde::Deserialize as _;
use serde_json::{Value, json};
use signoff_core::journal::{Audited, EffectKind, ErrorInfo, Outcome};
use signoff_core::state::Answer;
use signoff_core::{Actor, Key};
use signoff_tools::{Invocation, Round, Tool, ToolError, ToolQuestion, ToolReply};

use super::gate::{Cleared, Go};
use super::{Context, Effect};

/// The largest result that is kept whole, in bytes of JSON.
const MAX_RESULT_BYTES: usize = 256 * 1024;
/// How often one call may ask people.
const MAX_ROUNDS: usize = 16;
/// The field that marks a result which is a question.
const QUESTION: &str = "signoff_question";
/// The field beside it that says what the audit calls the call.
const AUDITED: &str = "audited";

impl Context {
    /// Calls a tool, and lets it ask people.
    pub async fn call(
        &self,
        key: &str,
        tool: &Arc<dyn Tool>,
        arguments: &Value,
    ) -> Result<Arc<Value>, ErrorInfo> {
        self.call_keyed(key, tool, arguments).await?.1
    }

    /// The same, with the key under which the result is in the journal, where a message can refer to it.
    pub(crate) async fn call_keyed(
        &self,
        key: &str,
        tool: &Arc<dyn Tool>,
        arguments: &Value,
    ) -> Result<(Key, Result<Arc<Value>, ErrorInfo>), ErrorInfo> {
        let (arguments, changed, mut audited) = match self.clear(key, tool, arguments).await? {
            Cleared::Go(Go { changed: None, audited }) => (arguments.clone(), None, audited),
            Cleared::Go(Go { changed: Some(changed), audited }) => {
                (changed.arguments, changed.by, audited)
            }
            Cleared::Instead(result) => {
                let told = self.effect(key, Effect::repeatable(), |_| async { result });
                return Ok((key.into(), told.await));
            }
        };
        let mut rounds: Vec<Round> = Vec::new();
        // The same in every round: the tool is called again, but it is one call.
        let once: Arc<str> = self.idempotency_key(key).into();
        for round in 1..=MAX_ROUNDS {
            let key = if round == 1 { key.to_owned() } else { format!("{key}~{round}") };
            let invocation = Invocation {
                arguments: arguments.clone(),
                idempotency_key: Arc::clone(&once),
                now: self.cell.engine.clock.now(),
                rounds: rounds.clone(),
            };
            let call = self.call_once(&key, tool, invocation, changed.as_ref(), audited.clone());
            let result = match call.await? {
                Outcome::Ok(value) => value,
                Outcome::Err(error) => return Ok((key.into(), Err(error))),
                Outcome::Reply(_) => {
                    return Err(ErrorInfo::new("internal", "a reply is not a result"));
                }
            };
            let Some(question) = result.get(QUESTION) else {
                return Ok((key.into(), Ok(result)));
            };
            let question: ToolQuestion = serde_json::from_value(question.clone())
                .map_err(|error| ErrorInfo::new("internal", error.to_string()))?;
            // What is known to have been asked is not judged again, so it says itself what it is called.
            audited =
                result.get(AUDITED).and_then(|it| Audited::deserialize(it).ok()).map(Box::new);
            let answer = self.ask(&format!("{key}#ask"), question.request).await?;
            let decision = match answer {
                Answer::Decided { decision, .. } => Some(decision),
                Answer::Expired | Answer::Withdrawn => None,
            };
            rounds.push(Round { state: question.state, decision });
        }
        let message = format!("the tool asked people {MAX_ROUNDS} times without an end");
        Err(ErrorInfo::new("tool_rounds", message))
    }

    /// Whether a call under this key ended with a question to people.
    pub(crate) fn has_asked(&self, key: &str) -> bool {
        self.outcome(key).is_some_and(|outcome| is_question(&outcome))
    }

    /// Whether what was done under this key came to nothing.
    pub(crate) fn has_failed(&self, key: &str) -> bool {
        matches!(self.outcome(key), Some(Outcome::Err(_)))
    }

    async fn call_once(
        &self,
        key: &str,
        tool: &Arc<dyn Tool>,
        invocation: Invocation,
        changed: Option<&Actor>,
        audited: Option<Box<Audited>>,
    ) -> Result<Outcome, ErrorInfo> {
        let spec = tool.spec();
        let effect = Effect {
            kind: EffectKind::Tool,
            repeatable: spec.effects.repeatable(),
            action: json!({ "tool": spec.name, "arguments": invocation.arguments }),
            audited: audited.clone(),
        };
        // The key is made of the activation's number, which must be the same after a crash.
        if effect.repeatable && !spec.effects.read_only && !self.is_done(key) {
            self.durable().await?;
        }
        if !spec.effects.read_only && !self.is_done(key) {
            self.applies(key, tool, &invocation.arguments).await?;
        }
        let given = changed.map(|_| invocation.arguments.clone());
        let performed = |_| async move {
            let schemas = &self.cell.engine.schemas;
            if let Err(problems) = schemas.check(&spec.parameters, &invocation.arguments) {
                return Outcome::Err(unfit(&problems));
            }
            match bounded(tool, invocation).await {
                Ok(ToolReply::Done(value)) => {
                    let value = within_bounds(value);
                    Outcome::Ok(Arc::new(match changed {
                        Some(by) => told_of_change(by, given.as_ref(), &value),
                        None => value,
                    }))
                }
                Ok(ToolReply::Ask(question)) => {
                    let mut asks = json!({ QUESTION: question });
                    if let Some(audited) = audited {
                        asks[AUDITED] = json!(audited);
                    }
                    Outcome::Ok(Arc::new(asks))
                }
                Err(error) => Outcome::Err(error.0),
            }
        };
        self.perform(key, effect, performed).await
    }
}

/// Whether what came of a call is only a question to people.
pub(super) fn is_question(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Ok(value) if value.get(QUESTION).is_some())
}

/// What the model is told of arguments that cannot be used.
pub(super) fn unfit(problems: &[String]) -> ErrorInfo {
    let message = format!("the arguments do not fit: {}", problems.join("; "));
    ErrorInfo::new("tool_arguments", message)
}

/// A result with what the model must know: that a person changed what it wanted to do.
fn told_of_change(by: &Actor, arguments: Option<&Value>, result: &Value) -> Value {
    let note = format!("{by} changed the arguments before the call was made");
    json!({ "note": note, "arguments": arguments, "result": result })
}

/// Calls the tool, for as long as it may take; a panic in it is its own affair.
async fn bounded(tool: &Arc<dyn Tool>, invocation: Invocation) -> Result<ToolReply, ToolError> {
    let limit = tool.timeout();
    let call = AssertUnwindSafe(async { tool.converse(invocation).await }).catch_unwind();
    match tokio::time::timeout(limit.to_std(), call).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(_)) => Err(ToolError::new("tool_panicked", "the tool panicked")),
        Err(_) => {
            Err(ToolError::new("tool_timeout", format!("the tool did not return within {limit}")))
        }
    }
}

/// A result as it is kept: whole, or its beginning as text with a word about the rest.
fn within_bounds(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= MAX_RESULT_BYTES {
        return value;
    }
    let mut end = MAX_RESULT_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    json!({ "truncated": text.get(..end), "bytes": text.len(), "kept": end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_result_is_cut_at_a_character() {
        let cut = within_bounds(json!("ä".repeat(MAX_RESULT_BYTES)));
        assert_eq!(cut["bytes"], 2 * MAX_RESULT_BYTES);
        assert_eq!(cut["kept"], MAX_RESULT_BYTES);
        assert_eq!(within_bounds(json!({ "a": 1 })), json!({ "a": 1 }));
    }
}
