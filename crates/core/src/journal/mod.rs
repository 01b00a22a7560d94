//! The journal: the append-only list of numbered entries that *is* a run.
//!
//! Entries hold no id of their own run, and no text twice: what was said is stored once, where it
//! came to be, and everything later refers to it.

mod codec;
mod usage;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use codec::{DecodeError, MAX_BODY_BYTES, decode, encode, to_json};
pub use usage::{Cost, Usage};

use crate::decision::{Actor, Decision};
use crate::feedback::{Given, Remark};
use crate::id::{ActivationId, ConversationId, Key, Name, RequestNo, RunId, Seq, Tenant};
use crate::message::{Message, Part, Sent};
use crate::request::RequestBody;
use crate::time::Timestamp;

/// One numbered line of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its position, from 1 without gaps.
    pub seq: Seq,
    /// When it was made.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What can happen in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run came to be. Always the first entry, and only there.
    Started(Box<Started>),
    /// An executor got a message, which opened an activation.
    Delivered(Delivered),
    /// Something was added to the conversation.
    Said {
        /// The activation that said it; none for the run's own input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        activation: Option<ActivationId>,
        /// What was said.
        message: Arc<Message>,
    },
    /// An effect that must not be repeated blindly is about to start.
    Intent {
        /// Whose effect.
        activation: ActivationId,
        /// Which effect.
        key: Key,
        /// What it will do, for people who have to judge it later.
        action: Value,
    },
    /// An effect has ended.
    Effect {
        /// Whose effect.
        activation: ActivationId,
        /// Which effect.
        key: Key,
        /// What kind of effect it was.
        kind: EffectKind,
        /// How it ended.
        outcome: Outcome,
        /// How long it took, in milliseconds. Not how long people took: they are asked between effects.
        #[serde(default, skip_serializing_if = "is_nothing")]
        took: u64,
        /// What the audit calls it, if gates had something to say about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        audited: Option<Box<Audited>>,
    },
    /// A phase, or a step of a plan, began.
    Entered(Entered),
    /// A step of a plan is over.
    StepEnded {
        /// Who carries the plan out.
        activation: ActivationId,
        /// Which step, from 1.
        step: u32,
        /// What became of it.
        how: StepEnd,
    },
    /// A step of a plan is about to change something.
    Applied(Box<Applied>),
    /// What a step had changed was undone, as far as that could be.
    RolledBack {
        /// Who carries the plan out.
        activation: ActivationId,
        /// Which step, from 1.
        step: u32,
    },
    /// A person said something that counts for what follows.
    Feedback {
        /// Who had asked; none, if it was said from outside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        activation: Option<ActivationId>,
        /// What was said.
        given: Box<Given>,
    },
    /// What somebody said counts no more.
    FeedbackRemoved {
        /// Its number.
        n: u32,
        /// Who wants it so.
        by: Actor,
    },
    /// A call was judged by the gates.
    Gated(Box<Gated>),
    /// A person is asked.
    Asked {
        /// Who asks.
        activation: ActivationId,
        /// Under which key.
        key: Key,
        /// The request's number in this run.
        request: RequestNo,
        /// The question.
        body: Box<RequestBody>,
    },
    /// A person answered.
    Decided {
        /// Which request.
        request: RequestNo,
        /// The answer.
        decision: Decision,
        /// Who answered.
        by: Actor,
        /// The message that said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Box<Sent>>,
    },
    /// Nobody answered in time.
    Expired {
        /// Which request.
        request: RequestNo,
    },
    /// A request was taken back, because the run ended or whoever asked went on without it.
    Withdrawn {
        /// Which request.
        request: RequestNo,
        /// Who decided something that left no place for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Actor>,
        /// Why, where that is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An activation sleeps.
    TimerSet {
        /// Who sleeps.
        activation: ActivationId,
        /// Under which key.
        key: Key,
        /// Until when.
        due: Timestamp,
    },
    /// The time has come.
    TimerFired {
        /// Who slept.
        activation: ActivationId,
        /// Under which key.
        key: Key,
    },
    /// A sub-workflow was started as a run of its own.
    ChildStarted {
        /// Who started it.
        activation: ActivationId,
        /// Under which key.
        key: Key,
    },
    /// That run ended.
    ChildEnded {
        /// Who started it.
        activation: ActivationId,
        /// Under which key.
        key: Key,
        /// With what.
        outcome: Outcome,
    },
    /// An activation gave an output of the run.
    Output {
        /// Which activation.
        activation: ActivationId,
        /// The value.
        value: Payload,
    },
    /// An activation is done; its output goes where the edges say.
    Completed(Completed),
    /// An activation ended with an error.
    Failed {
        /// Which activation.
        activation: ActivationId,
        /// The error.
        error: ErrorInfo,
    },
    /// Nothing new starts until it is resumed.
    Paused {
        /// By whom.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Goes on after a pause.
    Resumed {
        /// By whom.
        by: Actor,
    },
    /// The run is done.
    RunCompleted {},
    /// The run cannot go on.
    RunFailed {
        /// Why.
        error: ErrorInfo,
    },
    /// A person stopped the run.
    RunCancelled {
        /// Who.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Event {
    /// Whether no entry follows it.
    pub fn ends_run(&self) -> bool {
        matches!(self, Self::RunCompleted {} | Self::RunFailed { .. } | Self::RunCancelled { .. })
    }
}

/// How a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The workflow's id.
    pub workflow: Name,
    /// The content hash of its definition.
    pub version: Name,
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Tenant::is_local")]
    pub tenant: Tenant,
    /// What it was given.
    pub input: Value,
    /// Who started it.
    pub by: Actor,
    /// The run before it in the same conversation, whose messages come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
    /// The run it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The run and position it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<(RunId, Seq)>,
    /// Why it was, in the words of who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many messages were put into the conversation since the run before it; they follow this entry.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u32,
    /// The message that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<Sent>>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
fn is_nothing(took: &u64) -> bool {
    *took == 0
}

/// A phase, or a step of a plan, began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// Who carries the plan out.
    pub activation: ActivationId,
    /// The phase.
    pub phase: Name,
    /// The step, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// What the step is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A call that changes something, made in a step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// Whose call.
    pub activation: ActivationId,
    /// Under which key.
    pub key: Key,
    /// What is called.
    pub tool: Name,
    /// What is needed to undo it, as the tool says; nothing, if it cannot be undone.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub before: Value,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// It was done.
    Done,
    /// A person left it out.
    Skipped,
}

/// What the gates said about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gated {
    /// Whose call.
    pub activation: ActivationId,
    /// Under which key.
    pub key: Key,
    /// What is called.
    pub tool: Name,
    /// The digest of what is done.
    pub digest: String,
    /// What is about to be done, as gates saw it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub action: Value,
    /// Which rules judged: the versions of what holds besides the workflow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// The requests whose approval this uses up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<RequestNo>,
    /// Whether it only looks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Whether it may be done.
    pub outcome: crate::policy::Outcome,
    /// Every reason, also those that changed nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<crate::policy::Reason>,
}

/// A call that gates had something to say about and let pass, as the audit knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// What was called.
    pub tool: Name,
    /// The digest of what was done, as gates judged it.
    pub digest: String,
    /// A person said what came of it, where nobody else knew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
}

/// The place in another run that waits for this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parent {
    /// The run.
    pub run: RunId,
    /// The run at the top.
    pub root: RunId,
    /// The waiting activation.
    pub activation: ActivationId,
    /// Its key for this run.
    pub key: Key,
    /// The executors from the top down to the waiting one.
    pub path: Vec<Name>,
}

/// An executor got a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// The activation it opened.
    pub activation: ActivationId,
    /// The executor.
    pub to: Name,
    /// The message.
    pub payload: Payload,
    /// Who sent it, where an executor did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ActivationId>,
    /// Who waits for the result, where it was called and not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
}

/// A call of one executor by another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// The calling activation.
    pub activation: ActivationId,
    /// Its key for this call.
    pub key: Key,
}

/// An activation is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    /// Which one.
    pub activation: ActivationId,
    /// What it gave.
    pub output: Payload,
    /// The activations that opens, all with that output as their message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Next>,
    /// The joins it arrived at, by edge number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<u32>,
}

/// An activation opened by another's completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Next {
    /// Its number.
    pub activation: ActivationId,
    /// Its executor.
    pub to: Name,
    /// The edge that led there, by number.
    pub edge: u32,
}

/// A value, or where to find it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The value itself.
    Value(Arc<Value>),
    /// The last text of message n of this run (from 0), as a string.
    Text(u32),
    /// The last text of message n of this run (from 0), read as JSON.
    Json(u32),
    /// What a fan-in collected at the edge of this number: an object by executor.
    Join(u32),
    /// The run's input.
    Input,
}

impl Payload {
    /// A payload that carries its value.
    pub fn value(value: impl Into<Value>) -> Self {
        Self::Value(Arc::new(value.into()))
    }
}

/// What an effect did, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A model was asked.
    Model,
    /// A model was asked what it thinks of an action.
    Judge,
    /// A tool was called.
    Tool,
    /// An agent elsewhere was sent a message, or asked how it stands.
    Remote,
    /// The clock was read, an id made, or a library user's own effect.
    Local,
}

/// How an effect ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With a value.
    Ok(Arc<Value>),
    /// With a model's reply.
    Reply(Arc<Reply>),
    /// With an error.
    Err(ErrorInfo),
}

/// What a model said and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Text and tool calls, in order.
    pub parts: Vec<Part>,
    /// What it cost.
    #[serde(default)]
    pub usage: Usage,
    /// The alias of the model that said it, where another one was asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
}

/// An error as data: a stable code, a sentence, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ErrorInfo {
    /// A stable, short code.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ErrorInfo {
    /// An error without a hint.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: None }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for ErrorInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ErrorInfo {}

/// What reaches a run from outside. Kept by the store until the run's writer has put it in the
/// journal, in the same transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A request was answered.
    Decided {
        /// Which one.
        request: RequestNo,
        /// The answer.
        decision: Decision,
        /// By whom.
        by: Actor,
        /// The message that said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Box<Sent>>,
    },
    /// A request's deadline passed.
    Expired {
        /// Which one.
        request: RequestNo,
    },
    /// A sleep is over.
    Timer {
        /// Who slept.
        activation: ActivationId,
        /// Under which key.
        key: Key,
    },
    /// The run's time limit has passed.
    OutOfTime {},
    /// A sub-workflow's run ended.
    ChildEnded {
        /// Who started it.
        activation: ActivationId,
        /// Under which key.
        key: Key,
        /// With what.
        outcome: Outcome,
        /// The person who stopped it, if one did: that stops the run it is part of as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped_by: Option<Actor>,
    },
    /// Somebody wants it stopped.
    Cancel {
        /// Who.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Somebody says something that counts for what follows.
    Feedback {
        /// Who.
        by: Actor,
        /// What.
        #[serde(flatten)]
        said: Remark,
    },
    /// Something that was said is not to count any more.
    RemoveFeedback {
        /// Who wants it so.
        by: Actor,
        /// Its number.
        n: u32,
    },
    /// Somebody wants it paused.
    Pause {
        /// Who.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Somebody wants it to go on.
    Resume {
        /// Who.
        by: Actor,
    },
}
