//! What a policy says about an action.

use serde::{Deserialize, Serialize};

use super::gate::About;
use super::{Action, Gate, How, OnTimeout, Smart, Who};
use crate::expr::Scope;
use crate::id::Name;
use crate::request::Risk;
use crate::time::Span;

/// The gates that hold, all at once.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The gates, in any order.
    pub gates: Vec<Gate>,
    /// When those that are `smart` ask.
    pub smart: Smart,
}

/// Why something was asked, denied or noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The gate.
    pub gate: Name,
    /// What about it: `always`, `deny`, `audit`, `keyword`, `destructive` …
    pub criterion: String,
    /// What was found.
    pub evidence: String,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.criterion.as_str(), self.evidence.as_str()) {
            ("always", "") => write!(f, "{}", self.gate),
            (criterion, "") => write!(f, "{}: {criterion}", self.gate),
            (criterion, evidence) => write!(f, "{}: {criterion} ({evidence})", self.gate),
        }
    }
}

/// What people decided before and want to hold for this action too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// It was approved.
    pub approved: bool,
    /// It was denied.
    pub denied: bool,
}

/// Whether an action may be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It may.
    #[default]
    Allow,
    /// Somebody must be asked.
    Ask,
    /// It may not.
    Deny,
}

/// What a policy says about an action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Whether it may be done.
    pub outcome: Outcome,
    /// Every reason, also those that changed nothing.
    pub reasons: Vec<Reason>,
    /// All of these must agree, where somebody must be asked.
    pub who: Vec<Who>,
    /// The shortest time that a gate gives, and what happens then. The stricter, if they differ.
    pub within: Option<(Span, OnTimeout)>,
    /// The largest risk that a gate names.
    pub risk: Option<Risk>,
    /// What people should know.
    pub notes: Vec<String>,
}

impl Policy {
    /// What the policy says about `action`.
    pub fn judge(&self, action: &Action, remembered: Remembered) -> Judgement {
        let mut judgement = Judgement::default();
        let (mut mandatory, mut optional) = (false, false);
        let scope = Scope::new(&[("action", &action.to_json())]);
        for gate in &self.gates {
            let (holds, doubt) = gate.holds(action, &scope);
            if !holds {
                continue;
            }
            let name = gate.file.name.as_str();
            let reason = |criterion: &str, evidence: String| Reason {
                gate: name.into(),
                criterion: criterion.to_owned(),
                evidence,
            };
            let doubt = doubt.unwrap_or_default();
            match gate.file.ask {
                How::Deny => {
                    judgement.outcome = Outcome::Deny;
                    judgement.reasons.push(reason("deny", doubt));
                }
                How::Audit => judgement.reasons.push(reason("audit", doubt)),
                How::Always => {
                    mandatory = true;
                    judgement.reasons.push(reason("always", doubt));
                    judgement.asks(gate);
                }
                How::Smart => {
                    let mut found = self.smart.criteria(name, action);
                    if !doubt.is_empty() {
                        found.push(reason("unclear", doubt));
                    }
                    if !found.is_empty() {
                        optional = true;
                        judgement.reasons.append(&mut found);
                        judgement.asks(gate);
                    }
                }
            }
        }
        if remembered.denied {
            judgement.outcome = Outcome::Deny;
        } else if mandatory || (optional && !remembered.approved) {
            judgement.outcome = judgement.outcome.max(Outcome::Ask);
        }
        judgement
    }
}

impl Judgement {
    /// What holds for both of two actions that are done together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.outcome = self.outcome.max(other.outcome);
        for reason in other.reasons {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
        for who in other.who {
            if !self.who.contains(&who) {
                self.who.push(who);
            }
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.risk = self.risk.max(other.risk);
        if let Some((within, on_timeout)) = other.within {
            self.limit(within, on_timeout);
        }
        self
    }

    fn limit(&mut self, within: Span, on_timeout: OnTimeout) {
        self.within = Some(match self.within {
            Some(before) => (before.0.min(within), stricter(before.1, on_timeout)),
            None => (within, on_timeout),
        });
    }

    fn asks(&mut self, gate: &Gate) {
        let file = &gate.file;
        self.who.extend(file.who.clone());
        self.risk = self.risk.max(file.risk);
        self.notes.extend(file.note.clone());
        if let Some(within) = file.within {
            self.limit(within, file.on_timeout);
        }
    }
}

/// Of two ways to go on without an answer, the one that does less.
fn stricter(one: OnTimeout, other: OnTimeout) -> OnTimeout {
    let rank = |it: OnTimeout| match it {
        OnTimeout::Approve => 0,
        OnTimeout::Escalate => 1,
        OnTimeout::Skip => 2,
        OnTimeout::Pause => 3,
        OnTimeout::Deny => 4,
        OnTimeout::Abort => 5,
    };
    if rank(one) >= rank(other) { one } else { other }
}

impl Gate {
    /// Whether it is about this action; and why that is not certain, if so. Doubt holds.
    fn holds(&self, action: &Action, scope: &Scope) -> (bool, Option<String>) {
        let condition = |expr: &crate::expr::Expr| match expr.holds_in(scope) {
            Ok(holds) => (holds, None),
            Err(problem) => (true, Some(problem)),
        };
        match &self.about {
            About::Checkpoint(checkpoint) => (checkpoint.covers(action), None),
            About::Condition(expr) => condition(expr),
            About::Both(checkpoint, expr) => {
                if checkpoint.covers(action) {
                    condition(expr)
                } else {
                    (false, None)
                }
            }
        }
    }
}
