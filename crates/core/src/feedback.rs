//! What people said that counts for the rest of a run.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::decision::Actor;
use crate::id::Name;
use crate::time::Timestamp;

/// The longest text that one of them keeps, in bytes.
pub const MAX_FEEDBACK_BYTES: usize = 16 * 1024;

/// How many of them a run keeps that people say without being asked.
pub const MAX_FEEDBACK: usize = 500;

/// How many bytes are taken for a token.
const BYTES_OF_TOKEN: usize = 4;

/// What it is about, and so for how long it counts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackScope {
    /// All that is done from then on.
    #[default]
    Run,
    /// A phase: it counts whenever the run is in it.
    Phase,
    /// A step of the plan: it counts until that is over.
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
    /// The phase outside of which it does not count. None: it counts in all of them, whatever its scope; so do those
    /// of journals that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Name>,
    /// The step it was said at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// When it was said.
    pub timing: Timing,
    /// Who said it.
    pub author: Actor,
    /// The agents that are told. None are named: all.
    #[serde(default, rename = "for", skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Name>,
    /// From when on it counts no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// What.
    pub text: String,
}

/// What somebody says to a run without being asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// What.
    pub text: String,
    /// What it is about: the phase and the step are those that the run is at.
    #[serde(default)]
    pub scope: FeedbackScope,
    /// The agents that are told. None are named: all.
    #[serde(default, rename = "for", skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Name>,
    /// From when on it counts no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl From<String> for Remark {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// What was said, as a run has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// What was said.
    #[serde(flatten)]
    pub given: Given,
    /// When.
    pub at: Timestamp,
    /// Whether the step it is about is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

impl Feedback {
    /// Whether it counts at this time in a run that is in this phase.
    pub fn counts(&self, phase: Option<&str>, now: Timestamp) -> bool {
        let given = &self.given;
        let expired = given.expires.is_some_and(|at| at <= now);
        let elsewhere = given.phase.is_some() && given.phase.as_deref() != phase;
        !(self.over || expired || elsewhere)
    }

    /// Whether this agent is told.
    pub fn is_for(&self, agent: &str) -> bool {
        let named = &self.given.agents;
        named.is_empty() || named.iter().any(|name| &**name == agent)
    }
}

/// What an agent is told of `items`: the newest first, as far as `tokens` go (four bytes for each), and how much was
/// left out. None, if nothing was said.
pub fn told(items: &[Feedback], tokens: u32) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let budget = (tokens as usize).saturating_mul(BYTES_OF_TOKEN);
    let (mut text, mut left, mut shown) = (String::new(), budget, 0);
    for item in items.iter().rev() {
        let Given { step, timing, author, text: said, .. } = &item.given;
        let place = step.map(|n| format!("step {n}, ")).unwrap_or_default();
        let line = format!("- {place}{} ({author}): {said}\n", timing.as_str());
        let length = line.len();
        if length > left {
            // The newest is shown in any case, as far as it goes.
            if shown == 0 {
                text.push_str(&line[..line.floor_char_boundary(left)]);
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
            phase: None,
            step: Some(n),
            timing: Timing::Redo,
            author: Actor::new("ada"),
            agents: Vec::new(),
            expires: None,
            text: text.to_owned(),
        };
        Feedback { given, at: Timestamp(0), over: false }
    }

    #[test]
    fn the_newest_comes_first_and_what_is_cut_is_told() {
        assert_eq!(told(&[], 100), None);
        let items = [said(1, "first"), said(2, "second"), said(3, "third")];
        let all = "- step 3, redo (ada): third\n- step 2, redo (ada): second\n- step 1, redo (ada): first\n";
        assert_eq!(told(&items, 1000).as_deref(), Some(all));
        let two = "- step 3, redo (ada): third\n- step 2, redo (ada): second\n(1 older left out)\n";
        assert_eq!(told(&items, 15).as_deref(), Some(two));
        let cut = "- step 3… (cut)\n(2 older left out)\n";
        assert_eq!(told(&items, 2).as_deref(), Some(cut));
    }

    #[test]
    fn what_is_cut_is_cut_between_characters() {
        let one = [said(1, &"ü".repeat(50))];
        for tokens in 0..30 {
            assert!(told(&one, tokens).is_some_and(|text| text.ends_with('\n')));
        }
    }

    #[test]
    fn it_counts_until_it_expires_and_only_in_its_phase() {
        let mut item = said(1, "x");
        assert!(item.counts(None, Timestamp(9)) && item.counts(Some("control"), Timestamp(9)));
        item.given.expires = Some(Timestamp(10));
        assert!(item.counts(None, Timestamp(9)) && !item.counts(None, Timestamp(10)));
        item.given.phase = Some("planning".into());
        assert!(item.counts(Some("planning"), Timestamp(9)));
        assert!(!item.counts(Some("control"), Timestamp(9)) && !item.counts(None, Timestamp(9)));
        item.over = true;
        assert!(!item.counts(Some("planning"), Timestamp(9)));
    }

    #[test]
    fn what_older_journals_have_counts_for_the_rest_of_the_run() {
        let old = serde_json::json!({
            "n": 1, "scope": "step", "step": 2, "timing": "redo", "author": "ada", "text": "x", "at": 5,
        });
        let item: Feedback = serde_json::from_value(old).unwrap();
        assert!(item.counts(Some("planning"), Timestamp(i64::MAX)) && item.is_for("anybody"));
        let old = serde_json::json!({ "text": "x" });
        let remark: Remark = serde_json::from_value(old).unwrap();
        assert_eq!(remark, Remark::from("x".to_owned()));
    }
}
