//! Planning: improver, planner, reviewer, person.

use serde_json::{Value, json};
use signoff_core::feedback::{FeedbackScope, Timing};
use signoff_core::journal::ErrorInfo;
use signoff_core::steps::Plan;
use signoff_core::workflow::OnExhausted;
use signoff_core::{Actor, Decision};

use super::question::{Reply, meaningless};
use super::{Over, Work, as_text};
use crate::agent::BRIEF;

/// What a person wants of a plan.
enum Verdict {
    Take(Plan),
    Revise,
}

/// A plan as it is shown.
pub(super) struct Draft<'a> {
    pub(super) round: u32,
    pub(super) revision: u32,
    pub(super) plan: &'a Plan,
    /// The one before it.
    pub(super) before: Option<&'a Plan>,
    /// What the reviewer said about it.
    pub(super) review: Option<String>,
    pub(super) improved: Option<&'a str>,
    /// Whether it is asked once more after the last revision.
    pub(super) last: bool,
}

impl Work<'_> {
    /// The task in clearer words, if somebody is there to find them.
    pub(super) async fn improve(&self) -> Result<Option<String>, ErrorInfo> {
        let Some(improver) = &self.settings.planning.improver else { return Ok(None) };
        let message = json!({ BRIEF: super::brief::improve() });
        let output = self.ctx.invoke("improve", improver, message).await?;
        Ok(Some(as_text(&output)))
    }

    /// A plan that may be carried out. `before` is the one that people sent back from a later phase.
    pub(super) async fn plan(
        &self,
        round: u32,
        improved: Option<&str>,
        mut before: Option<Plan>,
        over: &[Over],
    ) -> Result<Plan, ErrorInfo> {
        let settings = &self.settings.planning;
        let mut revision = 1;
        loop {
            let (plan, review) =
                self.draft(round, revision, improved, before.as_ref(), over).await?;
            let mut draft = Draft {
                round,
                revision,
                plan: &plan,
                before: before.as_ref(),
                review,
                improved,
                last: false,
            };
            let mut verdict = self.review(&draft).await?;
            let used_up = revision > settings.max_revisions;
            if let (Verdict::Revise, true) = (&verdict, used_up) {
                match settings.on_exhausted {
                    OnExhausted::Fail => return Err(exhausted(settings.max_revisions)),
                    OnExhausted::TakeLast => return Ok(plan),
                    OnExhausted::Escalate => {
                        draft.last = true;
                        verdict = self.review(&draft).await?;
                    }
                }
            }
            match verdict {
                Verdict::Take(plan) => return Ok(plan),
                Verdict::Revise => before = Some(plan),
            }
            revision += 1;
        }
    }

    /// A plan that the reviewer agrees to, or has sent back as often as it may; and what it said last.
    async fn draft(
        &self,
        round: u32,
        revision: u32,
        improved: Option<&str>,
        before: Option<&Plan>,
        over: &[Over],
    ) -> Result<(Plan, Option<String>), ErrorInfo> {
        let settings = &self.settings.planning;
        let mut latest: Option<Plan> = None;
        let mut comments: Option<String> = None;
        for n in 1..=settings.review_rounds.saturating_add(1) {
            let known = latest.as_ref().or(before);
            let brief = self.planner_brief(improved, known, comments.as_deref(), over);
            let key = format!("plan{round}.{revision}.{n}");
            let output = self.ctx.invoke(&key, &settings.planner, json!({ BRIEF: brief })).await?;
            let plan = latest.insert(as_plan(&output)?);
            let Some(reviewer) = settings.reviewer.as_ref().filter(|_| n <= settings.review_rounds)
            else {
                break;
            };
            let brief = self.reviewer_brief(reviewer, improved, plan);
            let key = format!("check{round}.{revision}.{n}");
            let output = self.ctx.invoke(&key, reviewer, json!({ BRIEF: brief })).await?;
            comments = output["comments"].as_str().map(str::to_owned);
            if output["approved"] == true {
                break;
            }
        }
        let plan = latest.ok_or_else(|| ErrorInfo::new("internal", "nothing was planned"))?;
        Ok((plan, comments))
    }

    /// Shows a plan to a person, if one must agree to it.
    async fn review(&self, draft: &Draft<'_>) -> Result<Verdict, ErrorInfo> {
        let Draft { round, revision, plan, last, .. } = draft;
        let key = format!("review{round}.{revision}{}", if *last { "!" } else { "" });
        let action = self.plan_action(plan);
        let asked = self.ask(&key, action, self.asks.plan, self.plan_question(draft)).await?;
        let (decision, by) = match asked {
            Reply::NotAsked => return Ok(Verdict::Take((*plan).clone())),
            Reply::Decided(decision, by) => (decision, by),
        };
        match decision {
            Decision::Approve { note, .. } => {
                self.keep_note(note, by);
                Ok(Verdict::Take((*plan).clone()))
            }
            Decision::Edit { value, note } => {
                self.keep_note(note, by);
                let edited = as_plan(&value)?;
                self.must_not_be_denied(&format!("{key}/edited"), self.plan_action(&edited))
                    .await?;
                Ok(Verdict::Take(edited))
            }
            Decision::Revise { feedback } => {
                let text = feedback.unwrap_or_else(|| "Please revise the plan.".to_owned());
                self.ctx.keep(FeedbackScope::Phase, None, Timing::Planning, by, text);
                Ok(Verdict::Revise)
            }
            Decision::Reject { reason, .. } => {
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                Err(ErrorInfo::new("plan_rejected", format!("{by} rejected the plan{why}")))
            }
            other => Err(meaningless(&other)),
        }
    }

    /// A comment given with a yes counts for all that follows.
    fn keep_note(&self, note: Option<String>, by: Actor) {
        if let Some(text) = note {
            self.ctx.keep(FeedbackScope::Run, None, Timing::Planning, by, text);
        }
    }
}

fn as_plan(output: &Value) -> Result<Plan, ErrorInfo> {
    serde_json::from_value(output.clone())
        .map_err(|error| ErrorInfo::new("output_invalid", format!("this is not a plan: {error}")))
}

fn exhausted(max: u32) -> ErrorInfo {
    let message =
        format!("the plan was revised {max} times, as often as it may be, and not agreed to");
    ErrorInfo::new("plan_revisions", message)
        .hint("raise planning.max_revisions, or say planning.on_exhausted: escalate")
}
