//! What people said that counts for the rest of a run.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::decision::Actor;
use crate::time::Timestamp;

/// The longest text that one of them keeps, in bytes.
pub const MAX_FEEDBACK_BYTES: usize = 16 * 1024;

/// What it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackScope {
    /// All that is done from then on.
    Run,
    /// The phase in which it was said.
    Phase,
    /// A step of the plan.
    Step,
}

/// When it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// While it was planned.
    Planning,
    /// Before a step was done, or while one was.
    Before,
    /// After a step was done.
    After,
    /// With the wish to do a step again.
    Redo,
    /// When a step had failed.
    Error,
}

impl Timing {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Before => "before",
            Self::After => "after",
            Self::Redo => "redo",
            Self::Error => "error",
        }
    }
}

/// Something a person said, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// Its number in the run, from 1.
    pub n: u32,
    /// What it is about.
    pub scope: FeedbackScope,
    /// The step it was said at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// When it was said.
    pub timing: Timing,
    /// Who said it.
    pub author: Actor,
    /// What.
    pub text: String,
}

/// The same with the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// What was said.
    #[serde(flatten)]
    pub given: Given,
    /// When.
    pub at: Timestamp,
}

/// What an agent is told of `items`: the newest first, as far as `budget` characters go, and how much was left out.
/// None, if nothing was said.
pub fn told(items: &[Feedback], budget: usize) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let (mut text, mut left, mut shown) = (String::new(), budget, 0);
    for item in items.iter().rev() {
        let Given { step, timing, author, text: said, .. } = &item.given;
        let place = step.map(|n| format!("step {n}, ")).unwrap_or_default();
        let line = format!("- {place}{} ({author}): {said}\n", timing.as_str());
        let length = line.chars().count();
        if length > left {
            // The newest is shown in any case, as far as it goes.
            if shown == 0 {
                text.extend(line.chars().take(left));
                text.push_str("… (cut)\n");
                shown = 1;
            }
            break;
        }
        left -= length;
        shown += 1;
        text.push_str(&line);
    }
    let cut = items.len() - shown;
    if cut > 0 {
        let _ = writeln!(text, "({cut} older left out)");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(n: u32, text: &str) -> Feedback {
        let given = Given {
            n,
            scope: FeedbackScope::Step,
            step: Some(n),
            timing: Timing::Redo,
            author: Actor::new("ada"),
            text: text.to_owned(),
        };
        Feedback { given, at: Timestamp(0) }
    }

    #[test]
    fn the_newest_comes_first_and_what_is_cut_is_told() {
        assert_eq!(told(&[], 100), None);
        let items = [said(1, "first"), said(2, "second"), said(3, "third")];
        let all = "- step 3, redo (ada): third\n- step 2, redo (ada): second\n- step 1, redo (ada): first\n";
        assert_eq!(told(&items, 1000).as_deref(), Some(all));
        let two = "- step 3, redo (ada): third\n- step 2, redo (ada): second\n(1 older left out)\n";
        assert_eq!(told(&items, 60).as_deref(), Some(two));
        let cut = "- step 3,… (cut)\n(2 older left out)\n";
        assert_eq!(told(&items, 9).as_deref(), Some(cut));
    }
}
