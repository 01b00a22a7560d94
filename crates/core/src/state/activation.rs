//! One executor handling one message, as far as the journal tells.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{Actor, Decision};
use crate::id::{ActivationId, Key, Name, RequestNo};
use crate::journal::{Caller, ErrorInfo, Outcome};
use crate::request::RequestBody;
use crate::time::Timestamp;

/// An open activation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Activation {
    /// Whose.
    pub executor: Name,
    /// The message it handles.
    pub payload: Arc<Value>,
    /// Who waits for its result, if it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// How many messages had been said when it began.
    pub seen: u32,
    /// The messages it said itself, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<u32>,
    /// The effects it has had or begun.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effects: BTreeMap<Key, EffectState>,
    /// What it has asked people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<Key, RequestNo>,
    /// Its sleeps: when each ends, and whether it has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<Key, (Timestamp, bool)>,
    /// The executors it has called.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<Key, Call>,
    /// The runs it has started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<Key, Child>,
    /// How many messages it has sent to other executors.
    #[serde(default)]
    pub sent: u32,
    /// How many phases and steps it has entered and ended, and how often it noted what people said.
    #[serde(default)]
    pub marks: u32,
    /// How many outputs of the run it has given.
    #[serde(default)]
    pub given: u32,
}

/// An effect of an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    /// It was about to start; whether it happened is not known.
    Intended {
        /// What it would do.
        action: Value,
        /// How many attempts have begun.
        attempts: u32,
    },
    /// It has ended.
    Done(Outcome),
}

/// A call of another executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Under way, as this activation.
    Open(ActivationId),
    /// Done.
    Done(Arc<Value>),
    /// Failed.
    Failed(ErrorInfo),
}

/// A run started by an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Child {
    /// Under way.
    Open,
    /// Ended.
    Ended(Outcome),
}

/// A request of an open activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestState {
    /// Who asked.
    pub activation: ActivationId,
    /// What.
    pub body: Arc<RequestBody>,
    /// When.
    pub asked_at: Timestamp,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A person decided.
    Decided {
        /// What.
        decision: Decision,
        /// Who.
        by: Actor,
    },
    /// Nobody did in time.
    Expired,
    /// It was taken back.
    Withdrawn,
}
