//! Requests: questions to people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::deciders::{Deciders, Who};
use crate::decision::{Actor, Decision, DecisionKind, Siblings};
use crate::id::{ConversationId, Name, RequestId, RunId, Tenant};
use crate::message::Sent;
use crate::time::{Span, Timestamp};
use crate::unanswered::Unanswered;

/// What kind of question it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A free answer: text, or whatever the response schema says.
    Input,
    /// One of the options.
    Selection,
    /// Yes, yes with changes, or no.
    Approval,
    /// A plan, before it is carried out.
    PlanReview,
    /// A step of a plan, before it is done.
    StepBefore,
    /// A step of a plan, after it was done.
    StepAfter,
    /// A step of a plan that failed.
    StepError,
    /// A tool call that a gate stopped.
    ToolCall,
    /// An effect that may or may not have happened before a crash.
    InDoubt,
}

impl RequestKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Input,
        Self::Selection,
        Self::Approval,
        Self::PlanReview,
        Self::StepBefore,
        Self::StepAfter,
        Self::StepError,
        Self::ToolCall,
        Self::InDoubt,
    ];

    /// The kind written as `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The word used in files and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Selection => "selection",
            Self::Approval => "approval",
            Self::PlanReview => "plan_review",
            Self::StepBefore => "step_before",
            Self::StepAfter => "step_after",
            Self::StepError => "step_error",
            Self::ToolCall => "tool_call",
            Self::InDoubt => "in_doubt",
        }
    }
}

impl std::fmt::Display for RequestKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much can go wrong.
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
pub enum Risk {
    /// Little, and it can be undone.
    Low,
    /// Something.
    Medium,
    /// A lot, or it cannot be undone.
    High,
    /// Everything.
    Critical,
}

impl Risk {
    /// The word used in files and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl std::fmt::Display for Risk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One of the answers to a selection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Choice {
    /// What the answer is.
    pub value: Value,
    /// What a person reads.
    pub label: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What is asked, why, what answers it accepts, by when. Fixed once asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestBody {
    /// What kind of question it is.
    pub kind: RequestKind,
    /// Who asks: the agents from the root of the run down to the one that asks.
    pub agent_path: Vec<Name>,
    /// The question.
    pub prompt: String,
    /// What a person should know to answer it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub context: Value,
    /// The answers of a selection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// What a `respond` content or an `edit` value must fit.
    pub response_schema: Value,
    /// Which decisions it accepts.
    pub allowed: Vec<DecisionKind>,
    /// Why it is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// How much can go wrong, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// What it would do, as the system and not the model says it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub preview: Value,
    /// Who should answer it, where that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Who may decide; anybody, if none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciders: Option<Box<Deciders>>,
    /// When it stops being answerable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// What follows then, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<Unanswered>,
    /// How often people are reminded of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind: Option<Span>,
    /// The turn of an agent it belongs to: what one reply of its model wants to do, all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Name>,
    /// What becomes of the other questions of that turn if it is rejected.
    #[serde(default, skip_serializing_if = "Siblings::is_independent")]
    pub siblings: Siblings,
}

impl RequestBody {
    /// A question answered by free text.
    pub fn input(prompt: impl Into<String>) -> Self {
        Self {
            kind: RequestKind::Input,
            agent_path: Vec::new(),
            prompt: prompt.into(),
            context: Value::Null,
            options: Vec::new(),
            response_schema: serde_json::json!({ "type": "string", "minLength": 1 }),
            allowed: vec![DecisionKind::Respond],
            reasons: Vec::new(),
            risk: None,
            preview: Value::Null,
            who: None,
            deciders: None,
            expires_at: None,
            on_timeout: None,
            remind: None,
            turn: None,
            siblings: Siblings::default(),
        }
    }

    /// A question answered by one of `options`.
    pub fn selection(prompt: impl Into<String>, options: Vec<Choice>) -> Self {
        let values: Vec<&Value> = options.iter().map(|option| &option.value).collect();
        Self {
            kind: RequestKind::Selection,
            response_schema: serde_json::json!({ "enum": values }),
            options,
            ..Self::input(prompt)
        }
    }

    /// A question answered by approving, changing or rejecting `proposal`.
    pub fn approval(prompt: impl Into<String>, proposal: impl Into<Value>) -> Self {
        let proposal = proposal.into();
        let editable = !proposal.is_null();
        let mut allowed = vec![DecisionKind::Approve, DecisionKind::Reject];
        if editable {
            allowed.insert(1, DecisionKind::Edit);
        }
        Self {
            kind: RequestKind::Approval,
            response_schema: crate::schema::shape_of(&proposal),
            context: if editable {
                serde_json::json!({ "proposal": proposal })
            } else {
                Value::Null
            },
            allowed,
            ..Self::input(prompt)
        }
    }

    /// Puts it to those who may decide, about a run that `initiator` started.
    pub fn put_to(&mut self, who: Vec<Who>, initiator: &Actor) {
        let deciders = Deciders::new(who, initiator);
        if !deciders.is_anybody() {
            let names: Vec<String> = deciders.who.iter().map(ToString::to_string).collect();
            self.who = Some(names.join(" and "));
            self.deciders = Some(Box::new(deciders));
        }
    }

    /// Ends it at `at`, and says what follows if nobody has answered by then.
    pub fn due(&mut self, at: Timestamp, then: Unanswered) {
        self.expires_at = Some(at);
        self.on_timeout = Some(then);
    }

    /// What is proposed for approval, if anything.
    pub fn proposal(&self) -> Option<&Value> {
        self.context.get("proposal")
    }
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Waiting for somebody.
    Pending,
    /// Answered.
    Decided,
    /// Its time ran out.
    Expired,
    /// The run ended or went on without it.
    Cancelled,
}

impl RequestStatus {
    /// The word used on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Decided => "decided",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status written as `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Pending, Self::Decided, Self::Expired, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

/// A decision with who took it and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TakenDecision {
    /// What was decided.
    #[serde(flatten)]
    pub decision: Decision,
    /// By whom.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// The message that said so. Nobody's business but the dialect's.
    #[serde(skip)]
    pub sent: Option<Box<Sent>>,
}

/// A request as the inbox shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// How often it changed; a decision may name the version it saw.
    pub version: u32,
    /// Where it stands.
    pub status: RequestStatus,
    /// The run that asks.
    pub run: RunId,
    /// The run at the top, where the asking run is part of another.
    pub root: RunId,
    /// The workflow of that run.
    pub workflow: Name,
    /// The conversation of that run.
    pub conversation: ConversationId,
    /// Whose that run is.
    pub tenant: Tenant,
    /// Who looks after it, if somebody said so.
    pub assignee: Option<Actor>,
    /// The question itself.
    pub body: RequestBody,
    /// When it was asked.
    pub created_at: Timestamp,
    /// The answer.
    pub decision: Option<TakenDecision>,
    /// Why it was taken back, where that is said.
    pub withdrawn: Option<String>,
    /// Until when somebody has put it off.
    pub deferred_until: Option<Timestamp>,
}

impl Request {
    /// The request as clients see it.
    pub fn to_json(&self) -> Value {
        let mut json = serde_json::json!({
            "id": self.id,
            "version": self.version,
            "status": self.status,
            "kind": self.body.kind,
            "run": self.run,
            "workflow": self.workflow,
            "conversation": self.conversation,
            "agent_path": self.body.agent_path,
            "prompt": self.body.prompt,
            "context": self.body.context,
            "response_schema": self.body.response_schema,
            "allowed": self.body.allowed,
            "reasons": self.body.reasons,
            "created_at": self.created_at.rfc3339(),
        });
        if let Value::Object(fields) = &mut json {
            if !self.body.options.is_empty() {
                fields.insert("options".into(), serde_json::json!(self.body.options));
            }
            if !self.body.preview.is_null() {
                fields.insert("preview".into(), self.body.preview.clone());
            }
            if let Some(risk) = self.body.risk {
                fields.insert("risk".into(), risk.as_str().into());
            }
            if let Some(assignee) = &self.assignee {
                fields.insert("assignee".into(), assignee.as_str().into());
            }
            if let Some(who) = &self.body.who {
                fields.insert("who".into(), who.as_str().into());
            }
            if let Some(deciders) = &self.body.deciders {
                fields.insert("deciders".into(), serde_json::json!(deciders));
            }
            if let Some(at) = self.body.expires_at {
                fields.insert("expires_at".into(), at.rfc3339().into());
            }
            if let Some(then) = self.body.on_timeout {
                fields.insert("on_timeout".into(), serde_json::json!(then));
            }
            if let Some(turn) = &self.body.turn {
                fields.insert("turn".into(), turn.to_string().into());
            }
            if !self.body.siblings.is_independent() {
                fields.insert("siblings".into(), serde_json::json!(self.body.siblings));
            }
            if let Some(until) = self.deferred_until {
                fields.insert("deferred_until".into(), until.rfc3339().into());
            }
            if let Some(why) = &self.withdrawn {
                fields.insert("withdrawn".into(), why.as_str().into());
            }
            if let Some(taken) = &self.decision {
                let mut decision = serde_json::json!(taken);
                decision["at"] = taken.at.rfc3339().into();
                fields.insert("decision".into(), decision);
            }
        }
        json
    }
}
