//! What goes with a decision besides its reason: whether it is remembered, and whether a denial stops the run.

use signoff_core::DecisionKind;
use signoff_core::decision::Then;
use signoff_core::policy::{Reach, Remember};
use signoff_core::request::{RequestBody, RequestKind};

use super::{Form, Part};

/// One of a few things, of which the first is meant if nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extra {
    what: What,
    at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Remember,
    Then,
}

const REACHES: [(&str, Option<Reach>); 5] = [
    ("only this once", None),
    ("for this run", Some(Reach::Run)),
    ("for this conversation", Some(Reach::Conversation)),
    ("for this workflow", Some(Reach::Workflow)),
    ("everywhere", Some(Reach::Tenant)),
];
const THEN: [(&str, Then); 2] =
    [("the run goes on", Then::Continue), ("the run stops", Then::Stop)];

impl Extra {
    /// What a request takes.
    pub(super) fn of(body: &RequestBody) -> Vec<Self> {
        let allows = |kind: DecisionKind| body.allowed.contains(&kind);
        let action = match body.kind {
            RequestKind::ToolCall => &body.context,
            RequestKind::StepBefore | RequestKind::StepAfter => &body.context["action"],
            _ => &serde_json::Value::Null,
        };
        let known = action["digest"].as_str().is_some_and(|it| !it.is_empty());
        let decides = allows(DecisionKind::Approve) || allows(DecisionKind::Reject);
        let mut extras = Vec::new();
        if known && decides {
            extras.push(Self { what: What::Remember, at: 0 });
        }
        if allows(DecisionKind::Reject) {
            extras.push(Self { what: What::Then, at: 0 });
        }
        extras
    }

    /// The next of what can be meant, or the one before.
    pub(super) fn turn(&mut self, by: isize) {
        let count = match self.what {
            What::Remember => REACHES.len(),
            What::Then => THEN.len(),
        };
        let now = isize::try_from(self.at).unwrap_or(0) + by;
        let count = isize::try_from(count).unwrap_or(1);
        self.at = usize::try_from(now.rem_euclid(count)).unwrap_or(0);
    }

    pub(super) fn is_set(&self) -> bool {
        self.at > 0
    }

    /// What it is about, and what is meant.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        match self.what {
            What::Remember => ("Remember it", REACHES[self.at].0),
            What::Then => ("If denied", THEN[self.at].0),
        }
    }
}

impl Form {
    fn extra(&self, what: What) -> usize {
        let here = self.parts.iter().find_map(|part| match part {
            Part::Extra(extra) if extra.what == what => Some(extra.at),
            _ => None,
        });
        here.unwrap_or(0)
    }

    pub(super) fn remember(&self) -> Option<Remember> {
        REACHES[self.extra(What::Remember)].1.map(Remember::Reach)
    }

    pub(super) fn then(&self) -> Then {
        THEN[self.extra(What::Then)].1
    }

    /// What does not go with a decision is said, and not left out in silence.
    pub(super) fn check_extras(&self, kind: DecisionKind) -> Result<(), String> {
        let remembers = matches!(kind, DecisionKind::Approve | DecisionKind::Reject);
        if self.remember().is_some() && !remembers {
            return Err("only what is approved as it is, or denied, can be remembered".to_owned());
        }
        if self.then() == Then::Stop && kind != DecisionKind::Reject {
            return Err("the run stops only if it is denied: put `If denied` back first".to_owned());
        }
        Ok(())
    }
}
