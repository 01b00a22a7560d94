//! When people are asked in phases: as the settings say, and as the gates do. Either is enough.

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::policy::{Action, ActionKind, Judgement, OnTimeout, Outcome};
use signoff_core::request::RequestBody;
use signoff_core::state::{Answer, CONTROL, PLANNING};
use signoff_core::steps::{Plan, Step};
use signoff_core::{Actor, Decision, DecisionKind, Effects};

use super::Work;
use super::control::Place;
use crate::context::Effect;

/// What came of a question.
pub(super) enum Reply {
    /// Nobody had to be asked, or need not be any more.
    NotAsked,
    Decided(Decision, Actor),
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
        let about = shown_action(&action);
        let judged = self.must_not_be_denied(key, action).await?;
        // Gates that insist on asking do so whatever is remembered; the workflow's own settings do not.
        if judged.outcome != Outcome::Ask && (!wanted || judged.remembered) {
            return Ok(Reply::NotAsked);
        }
        if let Some(about) = about {
            body.context["action"] = about;
        }
        if wanted {
            body.reasons.push("the workflow asks for it".to_owned());
        }
        body.reasons.extend(judged.reasons.iter().map(ToString::to_string));
        body.risk = judged.risk.or(body.risk);
        if !judged.notes.is_empty() {
            body.context["notes"] = json!(judged.notes);
        }
        let may_skip = body.allowed.contains(&DecisionKind::Skip);
        match self.ctx.ask_judged(key, body, &judged).await? {
            (Answer::Decided { decision, by }, _) => Ok(Reply::Decided(decision, by)),
            (Answer::Expired, OnTimeout::Approve) => Ok(Reply::NotAsked),
            (Answer::Expired, OnTimeout::Skip) if may_skip => {
                Ok(Reply::Decided(Decision::Skip { reason: None }, Actor::new("timeout")))
            }
            _ => Err(could_not_ask()),
        }
    }

    /// What the gates say of it, as the journal keeps it. What they deny ends here.
    pub(super) async fn must_not_be_denied(
        &self,
        key: &str,
        action: Action,
    ) -> Result<Judgement, ErrorInfo> {
        let key = format!("{key}#gate");
        let judged = if self.ctx.is_done(&key) {
            Judgement::default()
        } else {
            self.ctx.judge_one(&action).await?
        };
        let kept = self.ctx.effect(&key, Effect::repeatable(), |_| async { Ok(json!(judged)) });
        let judged: Judgement = serde_json::from_value(Value::clone(&*kept.await?))
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
            // A step is not a tool of the same name, and before is not after.
            implementation: kind.as_str().to_owned(),
            ..Action::tool(step.agent.as_str(), arguments, Effects::READ_ONLY)
        }
    }
}

/// What an approval of a step is bound to, where it is to be remembered. A plan is approved as it is, each anew.
fn shown_action(action: &Action) -> Option<Value> {
    (action.kind != ActionKind::Plan).then(|| {
        json!({
            "digest": action.digest(),
            "tool": action.name,
            "implementation": action.implementation,
        })
    })
}

pub(super) fn could_not_ask() -> ErrorInfo {
    ErrorInfo::new("could_not_ask", "a person must agree to this, and nobody answered in time")
}

/// For a decision that the request did not offer, which is refused long before.
pub(super) fn meaningless(decision: &Decision) -> ErrorInfo {
    ErrorInfo::new("internal", format!("`{}` means nothing here", decision.kind()))
}
