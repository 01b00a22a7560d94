//! When people are asked in phases: as the settings say, and as the gates do. Either is enough.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::policy::{Action, ActionKind, Judgement, OnTimeout, Outcome, Reason};
use signoff_core::request::{RequestBody, Risk};
use signoff_core::state::{Answer, CONTROL, PLANNING};
use signoff_core::steps::{Plan, Step};
use signoff_core::{Actor, Decision, DecisionKind, Effects, Span};

use super::Work;
use super::control::Place;
use crate::context::Effect;

/// What came of a question.
pub(super) enum Reply {
    /// Nobody had to be asked, or need not be any more.
    NotAsked,
    Decided(Decision, Actor),
}

/// What the gates said, as the journal keeps it.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Judged {
    outcome: Outcome,
    reasons: Vec<Reason>,
    within: Option<(Span, OnTimeout)>,
    risk: Option<Risk>,
    notes: Vec<String>,
}

impl From<Judgement> for Judged {
    fn from(judgement: Judgement) -> Self {
        let Judgement { outcome, reasons, within, risk, notes, .. } = judgement;
        Self { outcome, reasons, within, risk, notes }
    }
}

impl Work<'_> {
    /// Asks people, if the settings want it or a gate does.
    pub(super) async fn ask(
        &self,
        key: &str,
        action: Action,
        wanted: bool,
        mut body: RequestBody,
    ) -> Result<Reply, ErrorInfo> {
        let judged = self.must_not_be_denied(key, action).await?;
        if !wanted && judged.outcome != Outcome::Ask {
            return Ok(Reply::NotAsked);
        }
        if wanted {
            body.reasons.push("the workflow asks for it".to_owned());
        }
        body.reasons.extend(judged.reasons.iter().map(ToString::to_string));
        body.risk = judged.risk.or(body.risk);
        if !judged.notes.is_empty() {
            body.context["notes"] = json!(judged.notes);
        }
        if let Some((within, _)) = judged.within {
            let asked_at = self.ctx.now(&format!("{key}@")).await?;
            body.expires_at = Some(asked_at.plus(within));
        }
        let may_skip = body.allowed.contains(&DecisionKind::Skip);
        let on_timeout = judged.within.map(|(_, then)| then);
        match (self.ctx.ask(key, body).await?, on_timeout) {
            (Answer::Decided { decision, by }, _) => Ok(Reply::Decided(decision, by)),
            (Answer::Expired, Some(OnTimeout::Approve)) => Ok(Reply::NotAsked),
            (Answer::Expired, Some(OnTimeout::Skip)) if may_skip => {
                Ok(Reply::Decided(Decision::Skip { reason: None }, Actor::new("timeout")))
            }
            _ => Err(could_not_ask()),
        }
    }

    /// What the gates say of an action. It is judged once: what was said then holds, also after a pause.
    pub(super) async fn must_not_be_denied(
        &self,
        key: &str,
        action: Action,
    ) -> Result<Judged, ErrorInfo> {
        let key = format!("{key}#gate");
        let judgement = if self.ctx.is_done(&key) { None } else { self.ctx.judge_one(&action) };
        if judgement.is_none() && !self.ctx.is_done(&key) {
            return Ok(Judged::default());
        }
        let judged = Judged::from(judgement.unwrap_or_default());
        let kept = self.ctx.effect(&key, Effect::repeatable(), |_| async { Ok(json!(judged)) });
        let judged: Judged = serde_json::from_value(Value::clone(&*kept.await?))
            .map_err(|error| ErrorInfo::new("internal", error.to_string()))?;
        if judged.outcome == Outcome::Deny {
            let reasons: Vec<String> = judged.reasons.iter().map(ToString::to_string).collect();
            let message = format!("this is not allowed: {}", reasons.join("; "));
            return Err(ErrorInfo::new("denied", message));
        }
        Ok(judged)
    }

    /// A plan about to be carried out, as gates see it.
    pub(super) fn plan_action(&self, plan: &Plan) -> Action {
        let about = plan.steps.iter().flat_map(|step| [step.title.clone(), step.detail.clone()]);
        Action {
            kind: ActionKind::Plan,
            agent_path: self.ctx.path(),
            phase: Some(PLANNING.into()),
            targets: about.collect(),
            ..Action::tool("plan", json!(plan), Effects::READ_ONLY)
        }
    }

    /// A step about to be done.
    pub(super) fn before_action(&self, place: Place<'_>, step: &Step) -> Action {
        self.step_action(ActionKind::StepBefore, place, step, json!(step))
    }

    /// A step that was done.
    pub(super) fn after_action(&self, place: Place<'_>, step: &Step, result: &Value) -> Action {
        let arguments = json!({ "step": step, "result": result });
        self.step_action(ActionKind::StepAfter, place, step, arguments)
    }

    fn step_action(
        &self,
        kind: ActionKind,
        place: Place<'_>,
        step: &Step,
        arguments: Value,
    ) -> Action {
        Action {
            kind,
            agent_path: self.ctx.path(),
            phase: Some(CONTROL.into()),
            step: Some(place.n),
            targets: vec![step.title.clone(), step.detail.clone()],
            ..Action::tool(step.agent.as_str(), arguments, Effects::READ_ONLY)
        }
    }
}

pub(super) fn could_not_ask() -> ErrorInfo {
    ErrorInfo::new("could_not_ask", "a person must agree to this, and nobody answered in time")
}

/// For a decision that the request did not offer, which is refused long before.
pub(super) fn meaningless(decision: &Decision) -> ErrorInfo {
    ErrorInfo::new("internal", format!("`{}` means nothing here", decision.kind()))
}
