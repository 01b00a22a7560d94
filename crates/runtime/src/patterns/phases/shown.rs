//! What people are shown when they are asked about a plan or a step.

use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, StepEnd};
use signoff_core::request::RequestBody;
use signoff_core::state::{CONTROL, PLANNING};
use signoff_core::steps::{Step, changes_as_text, plan_schema, step_schema};
use signoff_core::workflow::OnExhausted;
use signoff_core::{DecisionKind, RequestKind, Risk};

use super::control::Place;
use super::planning::Draft;
use super::{Over, Work};

/// How many of the latest remarks a person is shown.
const SHOWN: usize = 20;

impl Work<'_> {
    pub(super) fn plan_question(&self, draft: &Draft<'_>) -> RequestBody {
        let planning = &self.settings.planning;
        let left = planning.max_revisions.saturating_sub(draft.revision - 1);
        let (mut allowed, mut prompt) =
            (vec![DecisionKind::Approve, DecisionKind::Edit], String::new());
        if draft.last {
            prompt.push_str(
                "The plan was revised as often as it may be. Approve it, edit it, or reject it?",
            );
        } else {
            allowed.push(DecisionKind::Revise);
            prompt
                .push_str("Here is the plan. Approve it, edit it, have it revised, or reject it?");
            if left == 0 {
                prompt.push_str(match planning.on_exhausted {
                    OnExhausted::Fail => " One more revision would end the run.",
                    OnExhausted::TakeLast => {
                        " Instead of one more revision it would be carried out as it is."
                    }
                    OnExhausted::Escalate => " There is no further revision.",
                });
            }
        }
        allowed.push(DecisionKind::Reject);
        let mut context = json!({
            "phase": PLANNING,
            "task": *self.ctx.input(),
            "proposal": draft.plan,
            "round": draft.round,
            "revision": draft.revision,
            "revisions_left": left,
            "feedback": self.said(),
        });
        if let Some(improved) = draft.improved {
            context["improved"] = improved.into();
        }
        if let Some(review) = &draft.review {
            context["review"] = review.as_str().into();
        }
        let mut preview = json!({
            "summary": format!("{} steps", draft.plan.steps.len()),
            "detail": draft.plan.listed(|_| ""),
        });
        if let Some(before) = draft.before {
            let changes = draft.plan.changes_since(before);
            preview["diff"] = changes_as_text(&changes).into();
            context["changes"] = json!(changes);
        }
        RequestBody {
            kind: RequestKind::PlanReview,
            context,
            response_schema: plan_schema(&self.settings.control.workers, planning.max_steps),
            allowed,
            preview,
            risk: draft.last.then_some(Risk::High),
            ..RequestBody::input(prompt)
        }
    }

    pub(super) fn before_question(
        &self,
        place: Place<'_>,
        step: &Step,
        over: &[Over],
    ) -> RequestBody {
        let mut allowed = vec![DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Skip];
        if self.may_replan(place.round) {
            allowed.push(DecisionKind::Revise);
        }
        allowed.extend([DecisionKind::Reject, DecisionKind::Abort]);
        let mut context = self.step_context(place, over);
        context["proposal"] = json!(step);
        RequestBody {
            kind: RequestKind::StepBefore,
            context,
            response_schema: step_schema(&self.settings.control.workers),
            allowed,
            ..RequestBody::input(format!(
                "{} is about to do step {} of {}: {}",
                step.agent,
                place.n,
                place.plan.steps.len(),
                step.title
            ))
        }
    }

    pub(super) fn after_question(
        &self,
        place: Place<'_>,
        step: &Step,
        redo: u32,
        result: &Value,
        over: &[Over],
    ) -> RequestBody {
        let left = self.settings.control.max_redos.saturating_sub(redo);
        let mut allowed = vec![DecisionKind::Approve];
        if left > 0 {
            allowed.push(DecisionKind::Redo);
        }
        if self.may_replan(place.round) {
            allowed.push(DecisionKind::Revise);
        }
        if self.ctx.has_applied() {
            allowed.push(DecisionKind::Rollback);
        }
        allowed.push(DecisionKind::Abort);
        let mut context = self.step_context(place, over);
        context["work"] = json!(step);
        context["result"] = result.clone();
        context["redos_left"] = left.into();
        let (n, of) = (place.n, place.plan.steps.len());
        let mut prompt = format!("Step {n} of {of} is done: {}. Go on?", step.title);
        if left == 0 {
            prompt.push_str(" It cannot be done again.");
        }
        RequestBody {
            kind: RequestKind::StepAfter,
            context,
            response_schema: json!({}),
            allowed,
            ..RequestBody::input(prompt)
        }
    }

    pub(super) fn error_question(
        &self,
        place: Place<'_>,
        step: &Step,
        attempt: u32,
        error: &ErrorInfo,
        over: &[Over],
    ) -> RequestBody {
        let left = self.settings.control.max_attempts.saturating_sub(attempt);
        let mut allowed = vec![DecisionKind::Skip, DecisionKind::Abort];
        if left > 0 {
            allowed.insert(0, DecisionKind::Retry);
        }
        if self.ctx.has_applied() {
            allowed.insert(allowed.len() - 1, DecisionKind::Rollback);
        }
        let mut context = self.step_context(place, over);
        context["work"] = json!(step);
        context["error"] = json!(error);
        context["attempts"] = attempt.into();
        context["attempts_left"] = left.into();
        let (n, of) = (place.n, place.plan.steps.len());
        let choice = if left > 0 { "Retry, skip or abort?" } else { "Skip or abort?" };
        RequestBody {
            kind: RequestKind::StepError,
            context,
            response_schema: json!({}),
            allowed,
            reasons: vec![error.message.clone()],
            ..RequestBody::input(format!("Step {n} of {of} failed: {}. {choice}", step.title))
        }
    }

    fn step_context(&self, place: Place<'_>, over: &[Over]) -> Value {
        let ended = |n: u32| {
            let found = over.iter().find(|it| it.round == place.round && it.n == n);
            match (found.map(|it| it.how), n == place.n) {
                (Some(StepEnd::Done), _) => "done",
                (Some(StepEnd::Skipped), _) => "skipped",
                (None, true) => "now",
                (None, false) => "to do",
            }
        };
        let steps = (1..).zip(&place.plan.steps).map(|(n, step)| {
            json!({ "step": n, "title": step.title, "agent": step.agent, "status": ended(n) })
        });
        json!({
            "phase": CONTROL,
            "task": *self.ctx.input(),
            "plan": steps.collect::<Vec<_>>(),
            "step": place.n,
            "feedback": self.said(),
        })
    }

    /// The latest of what people said.
    fn said(&self) -> Value {
        let all = self.ctx.feedback();
        let latest = all.iter().rev().take(SHOWN).map(|item| {
            let mut shown = json!(item.given);
            shown["at"] = item.at.rfc3339().into();
            if let Some(expires) = item.given.expires {
                shown["expires"] = expires.rfc3339().into();
            }
            shown
        });
        latest.collect()
    }
}
