//! How far a run that works by a plan has come, and what people said about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decision::Actor;
use crate::feedback::{Feedback, FeedbackScope, Given, Timing};
use crate::id::{ActivationId, Key, Name};
use crate::journal::{Applied, Entered, StepEnd};
use crate::time::Timestamp;

/// The phase in which a plan is made.
pub const PLANNING: &str = "planning";
/// The phase in which it is carried out.
pub const CONTROL: &str = "control";

/// How far a run has come. Empty, if its workflow has no phases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The phase it is in.
    pub phase: Option<Name>,
    /// The step of its plan it is at.
    pub step: Option<u32>,
    /// What became of the steps of its plan that are over.
    pub ended: BTreeMap<u32, StepEnd>,
    /// What people said that still counts.
    pub feedback: Vec<Feedback>,
    /// How many of those there have been.
    pub last_feedback: u32,
    /// What the step it is at has changed so far, in order.
    pub applied: Vec<Applied>,
}

impl Progress {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What somebody says from outside, while nobody is asked.
    pub fn remark(&self, author: Actor, text: String) -> Given {
        let planned = self.phase.as_deref() == Some(CONTROL);
        Given {
            n: self.last_feedback + 1,
            scope: FeedbackScope::Run,
            step: self.step,
            timing: if planned { Timing::Before } else { Timing::Planning },
            author,
            text,
        }
    }

    pub(super) fn entered(&mut self, entered: &Entered) {
        self.phase = Some(entered.phase.clone());
        self.step = entered.step;
        self.applied.clear();
        if entered.phase.as_ref() == PLANNING {
            self.ended.clear();
        }
    }

    /// A call came to nothing: there is nothing to undo of it.
    pub(super) fn failed(&mut self, activation: ActivationId, key: &Key) {
        self.applied.retain(|it| it.activation != activation || it.key != *key);
    }

    pub(super) fn given(&mut self, given: &Given, at: Timestamp) {
        self.last_feedback = self.last_feedback.max(given.n);
        self.feedback.push(Feedback { given: given.clone(), at });
    }

    pub(super) fn removed(&mut self, n: u32) {
        self.feedback.retain(|item| item.given.n != n);
    }
}
