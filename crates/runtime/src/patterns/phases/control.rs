//! Control: the steps of a plan, one after another, with people before and after.

use serde_json::Value;
use signoff_core::feedback::{FeedbackScope, Timing};
use signoff_core::journal::{ErrorInfo, StepEnd};
use signoff_core::state::CONTROL;
use signoff_core::steps::{Plan, Step};
use signoff_core::{Actor, Decision};

use super::question::{Reply, meaningless};
use super::{Over, Went, Work};

/// Where in which plan.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) round: u32,
    pub(super) n: u32,
    pub(super) plan: &'a Plan,
    pub(super) improved: Option<&'a str>,
}

/// What a person wants before a step.
enum Before {
    Do(Step),
    Skip,
    Replan,
}

/// What a person wants after a step.
enum After {
    GoOn,
    Redo,
    Skip,
    Replan,
}

impl Work<'_> {
    /// Carries a plan out, until it is done or a person wants another.
    pub(super) async fn control(
        &self,
        round: u32,
        improved: Option<&str>,
        plan: &Plan,
        over: &mut Vec<Over>,
    ) -> Result<Went, ErrorInfo> {
        for (n, step) in (1..).zip(&plan.steps) {
            let place = Place { round, n, plan, improved };
            self.ctx.enter(CONTROL, Some((n, &step.title)));
            let replan = match self.before(place, step, over).await? {
                Before::Replan => true,
                Before::Skip => {
                    self.end(place, step.clone(), StepEnd::Skipped, Value::Null, (0, 0), over);
                    false
                }
                Before::Do(step) => self.step(place, step, over).await?,
            };
            if replan {
                return Ok(Went::BackToPlanning);
            }
        }
        Ok(Went::Through)
    }

    /// Does a step, and again as often as a person wants. True, if they want another plan.
    async fn step(
        &self,
        place: Place<'_>,
        step: Step,
        over: &mut Vec<Over>,
    ) -> Result<bool, ErrorInfo> {
        let (mut redo, mut attempts) = (0, 0);
        let mut earlier: Option<Value> = None;
        loop {
            let tried = self.attempts(place, &step, redo, earlier.as_ref(), over).await?;
            attempts += tried.attempts;
            let after = match &tried.result {
                Some(result) => self.after(place, &step, redo, result, over).await?,
                None => After::GoOn,
            };
            if let After::Redo = after {
                earlier = tried.result;
                redo += 1;
                continue;
            }
            let result = tried.result.filter(|_| !matches!(after, After::Skip));
            let how = if result.is_some() { StepEnd::Done } else { StepEnd::Skipped };
            let result = result.unwrap_or_default();
            self.end(place, step, how, result, (attempts, redo), over);
            return Ok(matches!(after, After::Replan));
        }
    }

    fn end(
        &self,
        place: Place<'_>,
        step: Step,
        how: StepEnd,
        result: Value,
        (attempts, redos): (u32, u32),
        over: &mut Vec<Over>,
    ) {
        self.ctx.step_ended(place.n, how);
        over.push(Over { round: place.round, n: place.n, step, how, result, attempts, redos });
    }

    async fn before(
        &self,
        place: Place<'_>,
        step: &Step,
        over: &[Over],
    ) -> Result<Before, ErrorInfo> {
        let key = format!("before{}.{}", place.round, place.n);
        let wanted = self.asks.approval.before();
        let body = self.before_question(place, step, over);
        let asked = self.ask(&key, self.before_action(place, step), wanted, body).await?;
        let (decision, by) = match asked {
            Reply::NotAsked => return Ok(Before::Do(step.clone())),
            Reply::Decided(decision, by) => (decision, by),
        };
        match decision {
            Decision::Approve { note, .. } => {
                self.note(place, Timing::Before, by, note);
                Ok(Before::Do(step.clone()))
            }
            Decision::Edit { value, note } => {
                let edited: Step = serde_json::from_value(value).map_err(|error| {
                    ErrorInfo::new("output_invalid", format!("this is not a step: {error}"))
                })?;
                self.note(place, Timing::Before, by, note);
                let action = self.before_action(place, &edited);
                self.must_not_be_denied(&format!("{key}/edited"), action).await?;
                Ok(Before::Do(edited))
            }
            Decision::Skip { reason } => {
                self.note(place, Timing::Before, by, reason);
                Ok(Before::Skip)
            }
            Decision::Revise { feedback } => {
                self.send_back(place, Timing::Before, by, feedback);
                Ok(Before::Replan)
            }
            Decision::Reject { reason, .. } => {
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                let message = format!("{by} rejected step {}{why}", place.n);
                Err(ErrorInfo::new("step_rejected", message))
            }
            other => Err(meaningless(&other)),
        }
    }

    async fn after(
        &self,
        place: Place<'_>,
        step: &Step,
        redo: u32,
        result: &Value,
        over: &[Over],
    ) -> Result<After, ErrorInfo> {
        let key = format!("after{}.{}.{redo}", place.round, place.n);
        let wanted = self.asks.approval.after();
        let body = self.after_question(place, step, redo, result, over);
        let action = self.after_action(place, step, result);
        let (mut decision, mut by) = match self.ask(&key, action, wanted, body.clone()).await? {
            Reply::NotAsked => return Ok(After::GoOn),
            Reply::Decided(decision, by) => (decision, by),
        };
        if let Decision::Rollback { feedback } = decision {
            self.remark(place, Timing::After, by, feedback);
            let body = self.rolled_back(&key, place, body).await?;
            let action = self.after_action(place, step, result);
            match self.ask(&format!("{key}/undone"), action, true, body).await? {
                Reply::NotAsked => return Ok(After::Skip),
                Reply::Decided(then, who) => (decision, by) = (then, who),
            }
        }
        match decision {
            Decision::Skip { reason } => {
                self.note(place, Timing::After, by, reason);
                Ok(After::Skip)
            }
            Decision::Approve { note, .. } => {
                self.note(place, Timing::After, by, note);
                Ok(After::GoOn)
            }
            Decision::Redo { feedback } => {
                let text = feedback.unwrap_or_else(|| "Please do it again.".to_owned());
                self.remark(place, Timing::Redo, by, Some(text));
                Ok(After::Redo)
            }
            Decision::Revise { feedback } => {
                self.send_back(place, Timing::After, by, feedback);
                Ok(After::Replan)
            }
            other => Err(meaningless(&other)),
        }
    }

    /// Keeps what was said with a yes, or about leaving a step out: it counts from then on.
    pub(super) fn note(&self, place: Place<'_>, timing: Timing, by: Actor, text: Option<String>) {
        if let Some(text) = text {
            self.ctx.keep(FeedbackScope::Run, Some(place.n), timing, by, text);
        }
    }

    /// Keeps what is to be done otherwise in a step, if that was said: it counts until the step is over.
    pub(super) fn remark(&self, place: Place<'_>, timing: Timing, by: Actor, text: Option<String>) {
        if let Some(text) = text {
            self.ctx.keep(FeedbackScope::Step, Some(place.n), timing, by, text);
        }
    }

    fn send_back(&self, place: Place<'_>, timing: Timing, by: Actor, text: Option<String>) {
        let text = text.unwrap_or_else(|| "Please plan the rest anew.".to_owned());
        self.ctx.keep(FeedbackScope::Phase, Some(place.n), timing, by, text);
    }
}
