//! One step: who works on it, and what happens when that fails.

use serde_json::{Value, json};
use signoff_core::Decision;
use signoff_core::feedback::Timing;
use signoff_core::journal::ErrorInfo;
use signoff_core::state::Answer;
use signoff_core::steps::Step;
use signoff_core::workflow::END;

use super::control::Place;
use super::question::{could_not_ask, meaningless};
use super::{Over, Work, as_text};
use crate::agent::BRIEF;

/// What came of the attempts at a step.
pub(super) struct Tried {
    /// None, if a person left it out.
    pub(super) result: Option<Value>,
    pub(super) attempts: u32,
}

/// Errors that another attempt would only meet again.
const FINAL: [&str; 4] = ["limit_model_calls", "limit_activations", "unknown_executor", "internal"];

impl Work<'_> {
    /// Tries a step, as often as it may be. `earlier` is a result that a person did not want.
    pub(super) async fn attempts(
        &self,
        place: Place<'_>,
        step: &Step,
        redo: u32,
        earlier: Option<&Value>,
        over: &[Over],
    ) -> Result<Tried, ErrorInfo> {
        let max = self.settings.control.max_attempts;
        let mut failed: Option<ErrorInfo> = None;
        let mut attempt = 1;
        loop {
            let at = format!("{}.{}.{redo}.{attempt}", place.round, place.n);
            let told = Told { place, step, earlier, failed: failed.as_ref(), over };
            let error = match self.work_on(&at, &told).await {
                Ok(result) => return Ok(Tried { result: Some(result), attempts: attempt }),
                Err(error) if FINAL.contains(&error.code.as_str()) => return Err(error),
                Err(error) => error,
            };
            if self.asks.on_error {
                let body = self.error_question(place, step, attempt, &error, over);
                let key = format!("error{at}");
                let mut answer = self.ctx.ask(&key, body.clone()).await?;
                if let Answer::Decided { decision: Decision::Rollback { feedback }, by } = answer {
                    self.remark(place, Timing::Error, by, feedback);
                    let body = self.rolled_back(&key, place, body).await?;
                    answer = self.ctx.ask(&format!("{key}/undone"), body).await?;
                }
                match answer {
                    Answer::Decided { decision: Decision::Retry { feedback }, by } => {
                        self.remark(place, Timing::Error, by, feedback);
                    }
                    Answer::Decided { decision: Decision::Skip { reason }, by } => {
                        self.note(place, Timing::Error, by, reason);
                        return Ok(Tried { result: None, attempts: attempt });
                    }
                    Answer::Decided { decision, .. } => return Err(meaningless(&decision)),
                    Answer::Expired | Answer::Withdrawn => return Err(could_not_ask()),
                }
            } else if attempt >= max {
                let message = format!(
                    "step {} ({}) failed {max} times, as often as it is tried: {}",
                    place.n, step.title, error.message
                );
                return Err(ErrorInfo::new("step_failed", message));
            }
            failed = Some(error);
            attempt += 1;
        }
    }

    /// One attempt: whoever the plan names, or whoever the controller chooses until it says that it is enough.
    async fn work_on(&self, at: &str, told: &Told<'_>) -> Result<Value, ErrorInfo> {
        let settings = &self.settings.control;
        let Some(controller) = &settings.controller else {
            let message = json!({ BRIEF: self.worker_brief(&told.step.agent, told, &[], None) });
            let output = self.ctx.invoke(&format!("work{at}"), &told.step.agent, message).await?;
            return succeeded(&output);
        };
        let mut turns: Vec<(String, Value)> = Vec::new();
        for turn in 1..=settings.max_turns {
            let message = json!({ BRIEF: self.controller_brief(controller, told, &turns) });
            let choice =
                self.ctx.invoke(&format!("choose{at}.{turn}"), controller, message).await?;
            let instruction = choice["instruction"].as_str().unwrap_or_default();
            let next = choice["next"].as_str().unwrap_or(END);
            if next == END {
                let last = turns.pop().map(|(_, output)| output);
                return Ok(last.unwrap_or_else(|| instruction.into()));
            }
            let brief = self.worker_brief(next, told, &turns, Some(instruction));
            let message = json!({ BRIEF: brief });
            let output = self.ctx.invoke(&format!("work{at}.{turn}"), next, message).await?;
            turns.push((next.to_owned(), succeeded(&output)?));
        }
        let message =
            format!("the controller gave {} turns on one step without an end", settings.max_turns);
        Err(ErrorInfo::new("step_turns", message))
    }
}

/// What those who work on a step are told.
pub(super) struct Told<'a> {
    pub(super) place: Place<'a>,
    pub(super) step: &'a Step,
    pub(super) earlier: Option<&'a Value>,
    pub(super) failed: Option<&'a ErrorInfo>,
    pub(super) over: &'a [Over],
}

/// What a worker gave, unless it says itself that it failed: by an `error` in its output.
fn succeeded(output: &Value) -> Result<Value, ErrorInfo> {
    match output.get("error") {
        None | Some(Value::Null) => Ok(output.clone()),
        Some(error) => Err(ErrorInfo::new("step_failed", as_text(error))),
    }
}
