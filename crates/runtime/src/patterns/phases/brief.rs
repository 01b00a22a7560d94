//! What agents are told in phases. Each sees the task as it was given, and then this.

use std::fmt::Write as _;

use serde_json::Value;
use signoff_core::feedback::told;
use signoff_core::journal::StepEnd;
use signoff_core::steps::Plan;
use signoff_core::workflow::END;

use super::attempt::Told;
use super::{Over, Work, as_text};

/// How much of one result others are told, in characters.
const MAX_RESULT: usize = 2_000;
/// How much of all results together.
const MAX_RESULTS: usize = 8_000;

/// What an improver is told.
pub(super) fn improve() -> String {
    "Say this task so that nobody can misunderstand it: what is wanted, from what, in which form. Add nothing to it."
        .to_owned()
}

impl Work<'_> {
    pub(super) fn planner_brief(
        &self,
        improved: Option<&str>,
        before: Option<&Plan>,
        comments: Option<&str>,
        over: &[Over],
    ) -> String {
        let mut brief = beginning(improved);
        let workers = self.settings.control.workers.join(", ");
        let max = self.settings.planning.max_steps;
        let _ = writeln!(
            brief,
            "Make a plan of at most {max} steps. Each is done by one of: {workers}."
        );
        results(&mut brief, over);
        if !over.is_empty() {
            brief.push_str("\nPlan only what is left to do.\n");
        }
        if let Some(plan) = before {
            let _ = write!(brief, "\nThe plan so far:\n{}", plan.listed(|_| ""));
        }
        if let Some(comments) = comments {
            let _ = writeln!(brief, "\nThe reviewer says: {comments}");
        }
        self.feedback(&mut brief, &self.settings.planning.planner);
        brief
    }

    pub(super) fn reviewer_brief(
        &self,
        reviewer: &str,
        improved: Option<&str>,
        plan: &Plan,
    ) -> String {
        let mut brief = beginning(improved);
        let _ = write!(
            brief,
            "Is this plan good enough to be shown to a person?\n{}",
            plan.listed(|_| "")
        );
        self.feedback(&mut brief, reviewer);
        brief
    }

    pub(super) fn controller_brief(
        &self,
        controller: &str,
        told: &Told<'_>,
        turns: &[(String, Value)],
    ) -> String {
        let mut brief = step_brief(told, turns);
        let workers = self.settings.control.workers.join(", ");
        let _ = writeln!(brief, "\nWho works on this step next: {workers}? Or is it done: {END}?");
        self.feedback(&mut brief, controller);
        brief
    }

    /// `turns` is what others gave on the same step.
    pub(super) fn worker_brief(
        &self,
        worker: &str,
        told: &Told<'_>,
        turns: &[(String, Value)],
        instruction: Option<&str>,
    ) -> String {
        let mut brief = step_brief(told, turns);
        if let Some(instruction) = instruction.filter(|text| !text.is_empty()) {
            let _ = writeln!(brief, "\nThe controller says: {instruction}");
        }
        self.feedback(&mut brief, worker);
        brief
    }

    fn feedback(&self, brief: &mut String, agent: &str) {
        let mut said = self.ctx.feedback();
        said.retain(|item| item.is_for(agent));
        if let Some(said) = told(&said, self.settings.told_tokens()) {
            let _ = write!(
                brief,
                "\nWhat people said, newest first. It counts more than the plan:\n{said}"
            );
        }
    }
}

/// The plan, where it stands, what was found so far.
fn step_brief(told: &Told<'_>, turns: &[(String, Value)]) -> String {
    let (place, step) = (told.place, told.step);
    let mut brief = beginning(place.improved);
    let now = |n: u32| if n == place.n { "> " } else { "  " };
    let _ = write!(brief, "The plan:\n{}", place.plan.listed(now));
    results(&mut brief, told.over);
    let _ = writeln!(
        brief,
        "\nDo step {} now ({}): {}\n{}",
        place.n, step.agent, step.title, step.detail
    );
    if let Some(earlier) = told.earlier {
        let _ = writeln!(
            brief,
            "\nThis step was done before, and a person wants it done again. It gave: {}",
            clipped(earlier)
        );
    }
    if let Some(error) = told.failed {
        let _ = writeln!(brief, "\nThe last attempt failed: {}", error.message);
    }
    for (who, output) in turns {
        let _ = writeln!(brief, "\n{who} says: {}", clipped(output));
    }
    brief
}

fn beginning(improved: Option<&str>) -> String {
    improved.map(|text| format!("The task in other words: {text}\n\n")).unwrap_or_default()
}

/// What the steps that are over gave, as far as there is room; the latest first.
fn results(brief: &mut String, over: &[Over]) {
    if over.is_empty() {
        return;
    }
    brief.push_str("\nWhat was done so far, the latest first:\n");
    let mut left = MAX_RESULTS;
    for (shown, it) in over.iter().rev().enumerate() {
        let said = match it.how {
            StepEnd::Done => clipped(&it.result),
            StepEnd::Skipped => "left out".to_owned(),
        };
        let line = format!("- {} ({}): {said}\n", it.step.title, it.step.agent);
        let length = line.chars().count();
        if length > left {
            let _ = writeln!(brief, "({} earlier left out)", over.len() - shown);
            return;
        }
        left -= length;
        brief.push_str(&line);
    }
}

fn clipped(result: &Value) -> String {
    let text = as_text(result);
    match text.char_indices().nth(MAX_RESULT) {
        Some((end, _)) => format!("{}… (cut)", &text[..end]),
        None => text,
    }
}
