//! What a policy says about an action.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use super::gate::About;
use super::{Action, Clock, Gate, How, Needs, OnTimeout, Remind, Smart, Stage};
use crate::deciders::Who;
use crate::decision::Siblings;
use crate::expr::Scope;
use crate::id::Name;
use crate::request::Risk;
use crate::time::Span;
use crate::visible::{self, Secrets};

/// The gates that hold, all at once.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The gates, in any order.
    pub gates: Vec<Gate>,
    /// When those that are `smart` ask.
    pub smart: Smart,
    /// Whether it is only tried out: it is noted what it would say, and nobody is asked.
    pub shadow: bool,
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

impl Reason {
    /// The same with nothing hidden in what was found, and no secret.
    #[must_use]
    pub fn made_visible(&self, secrets: &Secrets) -> Self {
        Self { evidence: visible::text(&self.evidence, secrets), ..self.clone() }
    }
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
    /// Nobody is asked for now.
    pub bypass: bool,
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

impl Outcome {
    /// The word used in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What a policy says about an action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Judgement {
    /// Whether it may be done.
    pub outcome: Outcome,
    /// Every reason, also those that changed nothing.
    pub reasons: Vec<Reason>,
    /// All of these must agree, where somebody must be asked.
    pub who: Vec<Who>,
    /// The shortest time that a gate gives, and what happens then. The stricter, if they differ.
    pub within: Option<(Span, OnTimeout)>,
    /// Who is asked next, one after the other.
    pub escalation: Vec<Stage>,
    /// From when on their time is counted.
    pub clock: Clock,
    /// What happens when the last of them has not answered. The stricter, if gates differ.
    pub finally: OnTimeout,
    /// How often people are reminded.
    pub remind: Option<Span>,
    /// The same as a share of the time there is, in hundredths. The smallest that a gate names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remind_share: Option<u8>,
    /// What a rejection means for the other calls of the turn: they are withdrawn if one gate says so.
    pub siblings: Siblings,
    /// The largest risk that a gate names.
    pub risk: Option<Risk>,
    /// What people should know.
    pub notes: Vec<String>,
    /// A gate insists on asking.
    pub mandatory: bool,
    /// Somebody approved it before, and wants that remembered.
    pub remembered: bool,
    /// A gate that is `smart` is about it, and found nothing that speaks for asking.
    pub unsure: bool,
}

impl Policy {
    /// What the policy says about `action`.
    pub fn judge(&self, action: &Action, remembered: Remembered) -> Judgement {
        let mut judgement = Judgement::default();
        let (mut mandatory, mut optional) = (false, false);
        // Made when the first condition is evaluated: most are told apart without.
        let scope = OnceCell::new();
        let make = || {
            let needs: Vec<&Needs> = self.gates.iter().map(|gate| &gate.needs).collect();
            action.scope(&needs)
        };
        if let Some(evidence) = self.smart.breaks(action.counts).filter(|_| !self.gates.is_empty())
        {
            mandatory = true;
            let criterion = "denials".to_owned();
            judgement.reasons.push(Reason { gate: "breaker".into(), criterion, evidence });
        }
        for gate in &self.gates {
            let (holds, doubt) = gate.holds(action, || scope.get_or_init(make));
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
                    if found.is_empty() {
                        judgement.unsure = true;
                    } else {
                        optional = true;
                        judgement.reasons.append(&mut found);
                        judgement.asks(gate);
                    }
                }
            }
        }
        if remembered.denied {
            judgement.outcome = Outcome::Deny;
        } else if !remembered.bypass && (mandatory || (optional && !remembered.approved)) {
            judgement.outcome = judgement.outcome.max(Outcome::Ask);
        }
        judgement.mandatory = mandatory;
        if self.shadow {
            judgement.only_noted();
        }
        judgement
    }
}

impl Judgement {
    /// What holds for both of two actions that are done together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.outcome = self.outcome.max(other.outcome);
        self.unsure |= other.unsure;
        self.mandatory |= other.mandatory;
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
        self.siblings = self.siblings.max(other.siblings);
        if let Some((within, on_timeout)) = other.within {
            self.limit(within, on_timeout);
        }
        self.escalate(&other.escalation, other.clock, Some(other.finally));
        self.remind = self.remind.into_iter().chain(other.remind).min();
        self.remind_share = self.remind_share.into_iter().chain(other.remind_share).min();
        self
    }

    /// Keeps what would have been said, and says nothing.
    fn only_noted(&mut self) {
        let would = self.outcome.as_str();
        let reasons = std::mem::take(&mut self.reasons);
        let noted = |reason: Reason| Reason { criterion: format!("shadow {would}"), ..reason };
        *self = Self { reasons: reasons.into_iter().map(noted).collect(), ..Self::default() };
    }

    fn limit(&mut self, within: Span, on_timeout: OnTimeout) {
        self.within = Some(match self.within {
            Some(before) => (before.0.min(within), stricter(before.1, on_timeout)),
            None => (within, on_timeout),
        });
    }

    fn escalate(&mut self, stages: &[Stage], clock: Clock, finally: Option<OnTimeout>) {
        if stages.is_empty() {
            return;
        }
        let finally = finally.unwrap_or_default();
        if self.escalation.is_empty() {
            self.escalation = stages.to_vec();
            self.clock = clock;
            self.finally = finally;
        } else {
            self.finally = stricter(self.finally, finally);
        }
    }

    fn asks(&mut self, gate: &Gate) {
        let file = &gate.file;
        self.who.extend(file.who.clone());
        self.risk = self.risk.max(file.risk);
        self.siblings = self.siblings.max(file.siblings);
        self.notes.extend(file.note.clone());
        if let Some(within) = file.within {
            self.limit(within, file.on_timeout);
        }
        self.escalate(&file.escalation, file.clock, file.finally);
        let (every, share) = match file.remind {
            Some(Remind::Every(span)) => (Some(span), None),
            Some(Remind::Share(share)) => (None, Some(share)),
            None => (None, None),
        };
        self.remind = self.remind.into_iter().chain(every).min();
        self.remind_share = self.remind_share.into_iter().chain(share).min();
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
    fn holds<'s, 'v: 's>(
        &self,
        action: &Action,
        scope: impl Fn() -> &'s Scope<'v>,
    ) -> (bool, Option<String>) {
        if !self.demands.iter().all(|demand| action.may_meet(demand)) {
            return (false, None);
        }
        let condition = |expr: &crate::expr::Expr| {
            if let Some(holds) = self.quick.holds(action) {
                return (holds, None);
            }
            match expr.holds_in(scope()) {
                Ok(holds) => (holds, None),
                Err(problem) => (true, Some(problem)),
            }
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
