//! Decisions: the answers a request can get, and the check of one against the other.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::deciders::Unasked;
use crate::id::Name;
use crate::policy::{Granted, Remember};
use crate::request::{RequestBody, RequestKind};
use crate::schema;

/// Who does something. Always the authenticated one, never what a client says of itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(pub Name);

impl Actor {
    /// A person or program known by `name`.
    pub fn new(name: impl Into<Name>) -> Self {
        Self(name.into())
    }

    /// Whoever sits at this machine.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// The actor's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a decision, as it stands in a request's `allowed` list.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Answer with a value that fits the response schema.
    Respond,
    /// Yes, as proposed.
    Approve,
    /// Yes, with this value instead of the proposed one.
    Edit,
    /// No.
    Reject,
    /// Not yet: change it as the feedback says and show it again.
    Revise,
    /// Do it again with this feedback.
    Redo,
    /// Try the same once more.
    Retry,
    /// Leave it out and go on.
    Skip,
    /// Undo what was done, and ask again.
    Rollback,
    /// Stop the run.
    Abort,
}

impl DecisionKind {
    /// The word used in files and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Respond => "respond",
            Self::Approve => "approve",
            Self::Edit => "edit",
            Self::Reject => "reject",
            Self::Revise => "revise",
            Self::Redo => "redo",
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::Rollback => "rollback",
            Self::Abort => "abort",
        }
    }
}

impl std::fmt::Display for DecisionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a run does after a rejection.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// Tell whoever asked, and let them find another way.
    #[default]
    Continue,
    /// End the run.
    Stop,
}

/// What becomes of the other calls of a turn when one of them is rejected.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Siblings {
    /// Each is decided for itself.
    #[default]
    Independent,
    /// Those that nobody has decided are withdrawn, and the model thinks again.
    Replan,
}

impl Siblings {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
    pub(crate) fn is_independent(&self) -> bool {
        *self == Self::Independent
    }
}

/// The one accepted answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
pub enum Decision {
    /// Answer with a value that fits the response schema.
    Respond {
        /// The answer.
        content: Value,
    },
    /// Yes, as proposed.
    Approve {
        /// A remark for the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Whether this holds for more than this once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<Remember>,
    },
    /// Yes, with this value instead of the proposed one.
    Edit {
        /// The changed value.
        value: Value,
        /// A remark for the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// No.
    Reject {
        /// Why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether the run goes on.
        #[serde(default)]
        then: Then,
        /// What becomes of the other calls of the same turn; as the gate says, if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        siblings: Option<Siblings>,
        /// Whether this holds for more than this once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<Remember>,
    },
    /// Change it and show it again.
    Revise {
        /// What to change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// Do it again.
    Redo {
        /// What to do differently.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// Try the same once more.
    Retry {
        /// A remark.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// Leave it out and go on.
    Skip {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Undo what was done, as far as that can be, and ask again.
    Rollback {
        /// Why, for whoever works on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// Stop the run.
    Abort {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Decision {
    /// An answer.
    pub fn respond(content: impl Into<Value>) -> Self {
        Self::Respond { content: content.into() }
    }

    /// A plain yes.
    pub fn approve() -> Self {
        Self::Approve { note: None, remember: None }
    }

    /// The decision's name.
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Respond { .. } => DecisionKind::Respond,
            Self::Approve { .. } => DecisionKind::Approve,
            Self::Edit { .. } => DecisionKind::Edit,
            Self::Reject { .. } => DecisionKind::Reject,
            Self::Revise { .. } => DecisionKind::Revise,
            Self::Redo { .. } => DecisionKind::Redo,
            Self::Retry { .. } => DecisionKind::Retry,
            Self::Skip { .. } => DecisionKind::Skip,
            Self::Rollback { .. } => DecisionKind::Rollback,
            Self::Abort { .. } => DecisionKind::Abort,
        }
    }

    /// What is to be remembered of it, if anything.
    pub fn remember(&self) -> Option<(Granted, &Remember)> {
        match self {
            Self::Approve { remember, .. } => Some((Granted::Approve, remember.as_ref()?)),
            Self::Reject { remember, .. } => Some((Granted::Deny, remember.as_ref()?)),
            _ => None,
        }
    }

    /// A plain no.
    pub fn reject(reason: Option<String>, then: Then) -> Self {
        Self::Reject { reason, then, siblings: None, remember: None }
    }

    /// The value it carries, if it carries one that must fit the response schema.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Respond { content } => Some(content),
            Self::Edit { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// Why a decision does not fit its request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request does not offer this decision.
    #[error("`{decision}` is not allowed here; allowed: {}", words(allowed))]
    NotAllowed {
        /// What was tried.
        decision: DecisionKind,
        /// What would be accepted.
        allowed: Vec<DecisionKind>,
    },
    /// Others are asked.
    #[error("`{by}` is not asked here; {asked} may decide")]
    NotAsked {
        /// Who tried.
        by: Actor,
        /// Who may.
        asked: String,
    },
    /// It is about a run that they started themselves.
    #[error("`{by}` started this run, and somebody else must decide")]
    OwnRun {
        /// Who tried.
        by: Actor,
    },
    /// The value does not fit the response schema.
    #[error("the answer does not fit: {}", problems.join("; "))]
    Invalid {
        /// Each problem, with the place in the value.
        problems: Vec<String>,
    },
}

fn words(kinds: &[DecisionKind]) -> String {
    kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
}

/// The largest answer a request takes, in bytes of JSON.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;

impl RequestBody {
    /// Whether this one may decide.
    pub fn admit(&self, by: &Actor, roles: &[Name]) -> Result<(), Refusal> {
        let Some(deciders) = &self.deciders else { return Ok(()) };
        deciders.admit(by, roles).map_err(|why| match why {
            Unasked::OwnRun => Refusal::OwnRun { by: by.clone() },
            Unasked::NotNamed => {
                let asked: Vec<String> = deciders.who.iter().map(ToString::to_string).collect();
                Refusal::NotAsked { by: by.clone(), asked: asked.join(" and ") }
            }
        })
    }

    /// The turn whose other questions `decision` takes back, if it does.
    pub fn withdraws(&self, decision: &Decision) -> Option<&Name> {
        let Decision::Reject { siblings, .. } = decision else { return None };
        let replans = siblings.unwrap_or(self.siblings) == Siblings::Replan;
        self.turn.as_ref().filter(|_| replans)
    }

    /// Whether `decision` is an answer this request accepts.
    pub fn check(&self, decision: &Decision) -> Result<(), Refusal> {
        self.check_with(decision, &schema::Compiled::default())
    }

    /// The same, with schemas that may be compiled already.
    pub fn check_with(
        &self,
        decision: &Decision,
        compiled: &schema::Compiled,
    ) -> Result<(), Refusal> {
        let kind = decision.kind();
        if !self.allowed.contains(&kind) {
            return Err(Refusal::NotAllowed { decision: kind, allowed: self.allowed.clone() });
        }
        let size = serde_json::to_string(decision).map_or(usize::MAX, |text| text.len());
        if size > MAX_ANSWER_BYTES {
            return Err(Refusal::Invalid {
                problems: vec![format!("{size} bytes are too many; at most {MAX_ANSWER_BYTES}")],
            });
        }
        let Some(value) = decision.value() else {
            return Ok(());
        };
        // What is said in place of a tool's result is not what the tool is given.
        if self.kind == RequestKind::ToolCall && kind == DecisionKind::Respond {
            return Ok(());
        }
        compiled
            .check(&self.response_schema, value)
            .map_err(|problems| Refusal::Invalid { problems })
    }
}
