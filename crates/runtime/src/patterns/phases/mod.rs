//! A plan is made, people agree, and it is carried out step by step.
//!
//! | phase | what happens |
//! |---|---|
//! | planning (`planning.rs`) | the task is improved, planned, reviewed by an agent, shown to a person; a plan that is sent back is made again |
//! | control (`control.rs`) | for each step: a person before, attempts at it (`attempt.rs`), a person after or about its failure |
//!
//! From a question about a step a person may go back to planning. When people are asked stands in `question.rs`, what they are shown in `shown.rs`, what
//! agents are told in `brief.rs`. Whether a person is asked follows from the settings and from the gates: either is enough.

mod attempt;
mod brief;
mod control;
mod planning;
mod question;
mod rollback;
mod shown;

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, Payload, StepEnd};
use signoff_core::state::PLANNING;
use signoff_core::steps::{Plan, Step};
use signoff_core::workflow::{Asks, Phases};

use super::as_text;
use crate::context::Context;
use crate::executor::{BoxFuture, Executor};

pub(crate) struct PhasesExecutor(Arc<Phases>);

impl PhasesExecutor {
    pub(crate) fn new(settings: Phases) -> Self {
        Self(Arc::new(settings))
    }
}

impl Executor for PhasesExecutor {
    fn run(
        &self,
        ctx: Context,
        _message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let settings = Arc::clone(&self.0);
        Box::pin(async move {
            let asks = settings.asks();
            Work { ctx: &ctx, settings: &settings, asks }.carry_out().await
        })
    }
}

/// One run in phases.
struct Work<'a> {
    ctx: &'a Context,
    settings: &'a Phases,
    asks: Asks,
}

/// A step that is over.
struct Over {
    /// Which plan it was of, from 1.
    round: u32,
    n: u32,
    step: Step,
    how: StepEnd,
    result: Value,
    attempts: u32,
    redos: u32,
}

/// What follows the steps of a plan.
enum Went {
    Through,
    BackToPlanning,
}

impl Work<'_> {
    async fn carry_out(&self) -> Result<Payload, ErrorInfo> {
        let mut over: Vec<Over> = Vec::new();
        let mut before: Option<Plan> = None;
        let mut round = 1;
        self.ctx.enter(PLANNING, None);
        let improved = self.improve().await?;
        loop {
            let plan = self.plan(round, improved.as_deref(), before, &over).await?;
            match self.control(round, improved.as_deref(), &plan, &mut over).await? {
                Went::Through => return Ok(Payload::value(result(&plan, &over))),
                Went::BackToPlanning => before = Some(plan),
            }
            self.ctx.enter(PLANNING, None);
            round += 1;
        }
    }

    /// Whether people may send the run back to planning once more.
    fn may_replan(&self, round: u32) -> bool {
        round <= self.settings.control.max_replans
    }
}

/// What the run gives.
fn result(plan: &Plan, over: &[Over]) -> Value {
    let done = over.iter().rfind(|it| it.how == StepEnd::Done);
    let steps = over.iter().map(|it| {
        json!({
            "plan": it.round,
            "step": it.n,
            "title": it.step.title,
            "agent": it.step.agent,
            "status": it.how,
            "result": it.result,
            "attempts": it.attempts,
            "redos": it.redos,
        })
    });
    json!({
        "answer": done.map(|it| as_text(it.result.get("summary").unwrap_or(&it.result))),
        "plan": plan,
        "steps": steps.collect::<Vec<_>>(),
    })
}
