//! How far a run that works by a plan has come, and what people said about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decision::Actor;
use crate::feedback::{Feedback, FeedbackScope, Given, Remark, Timing};
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

    /// What somebody says from outside, while nobody is asked. Where there is no step it is about the phase.
    pub fn remark(&self, author: Actor, said: &Remark) -> Given {
        let planned = self.phase.as_deref() == Some(CONTROL);
        let scope = match said.scope {
            FeedbackScope::Step if self.step.is_none() => FeedbackScope::Phase,
            scope => scope,
        };
        Given {
            n: self.last_feedback + 1,
            scope,
            phase: self.phase.clone().filter(|_| scope != FeedbackScope::Run),
            step: self.step,
            timing: if planned { Timing::Before } else { Timing::Planning },
            author,
            agents: said.agents.clone(),
            expires: said.expires,
            text: said.text.clone(),
        }
    }

    /// What people said that counts at this time, oldest first; for all agents.
    pub fn counting(&self, now: Timestamp) -> impl Iterator<Item = &Feedback> {
        self.feedback.iter().filter(move |item| item.counts(self.phase.as_deref(), now))
    }

    pub(super) fn entered(&mut self, entered: &Entered) {
        self.phase = Some(entered.phase.clone());
        self.step = entered.step;
        self.applied.clear();
        self.close(|_| true);
        if entered.phase.as_ref() == PLANNING {
            self.ended.clear();
        }
    }

    pub(super) fn step_ended(&mut self, step: u32, how: StepEnd) {
        self.ended.insert(step, how);
        self.close(|of| of == Some(step));
    }

    /// What was said about steps counts no more once they are over.
    fn close(&mut self, is_over: impl Fn(Option<u32>) -> bool) {
        for item in &mut self.feedback {
            let Given { scope, phase, step, .. } = &item.given;
            item.over |= *scope == FeedbackScope::Step && phase.is_some() && is_over(*step);
        }
    }

    /// A call came to nothing: there is nothing to undo of it.
    pub(super) fn failed(&mut self, activation: ActivationId, key: &Key) {
        self.applied.retain(|it| it.activation != activation || it.key != *key);
    }

    pub(super) fn given(&mut self, given: &Given, at: Timestamp) {
        self.last_feedback = self.last_feedback.max(given.n);
        self.feedback.push(Feedback { given: given.clone(), at, over: false });
    }

    pub(super) fn removed(&mut self, n: u32) {
        self.feedback.retain(|item| item.given.n != n);
    }
}
