//! The state of a run: the fold of its journal.
//!
//! [`RunState::apply`] is the only way it changes. It holds what is needed to go on: the conversation,
//! the open activations with the effects they have had, the requests that wait. What is finished is
//! dropped, so the state of a long run stays small apart from what was said.

mod activation;
mod apply;
mod ledger;
mod progress;
mod status;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use activation::{Activation, Answer, Call, Child, EffectState, RequestState};
pub use apply::JournalError;
pub use ledger::Ledger;
pub use progress::{CONTROL, PLANNING, Progress};
pub use status::RunStatus;

use crate::decision::Actor;
use crate::id::{ActivationId, Name, RequestNo, Seq};
use crate::journal::{Entry, ErrorInfo, Payload, Started, Usage};
use crate::message::Message;
use crate::time::Timestamp;

/// A run, as its journal says it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunState {
    /// The position of the last entry.
    pub seq: Seq,
    /// How it began.
    pub started: Arc<Started>,
    /// What it was given.
    pub input: Arc<Value>,
    /// When it began.
    pub started_at: Timestamp,
    /// When its journal last grew.
    pub updated_at: Timestamp,
    /// The messages of earlier runs in the same conversation. Not in this journal; the loader puts them here.
    #[serde(skip)]
    pub prior: Vec<Arc<Message>>,
    /// What was said in this run.
    pub messages: Vec<Arc<Message>>,
    /// The activations that are not done.
    pub open: BTreeMap<ActivationId, Activation>,
    /// The requests of open activations, answered or not.
    pub requests: BTreeMap<RequestNo, RequestState>,
    /// How many activations there have been.
    pub last_activation: ActivationId,
    /// How many requests there have been.
    pub last_request: RequestNo,
    /// How often each executor was given a message.
    pub visits: BTreeMap<Name, u32>,
    /// How often each edge was taken, by number.
    pub edge_uses: BTreeMap<u32, u32>,
    /// What has arrived at each fan-in, by edge number and source.
    pub joins: BTreeMap<u32, BTreeMap<Name, VecDeque<Arc<Value>>>>,
    /// How many model calls each agent's executor has made.
    pub model_calls: BTreeMap<Name, u32>,
    /// What its model calls took.
    #[serde(default)]
    pub usage: Usage,
    /// What it has done with tools, if its workflow has gates.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
    /// How far it has come, if its workflow has phases.
    #[serde(default, skip_serializing_if = "Progress::is_empty")]
    pub progress: Progress,
    /// What the run has given so far.
    pub outputs: Vec<Arc<Value>>,
    /// Whether a person paused it.
    pub paused: bool,
    /// How it ended.
    pub end: Option<RunEnd>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It is done.
    Completed,
    /// It could not go on.
    Failed(ErrorInfo),
    /// A person stopped it.
    Cancelled {
        /// Who.
        by: Actor,
        /// Why.
        reason: Option<String>,
    },
}

impl RunState {
    /// The state after `entries`, which begin with the first of a journal.
    pub fn fold(entries: &[Entry]) -> Result<Self, JournalError> {
        let (first, rest) = entries.split_first().ok_or(JournalError::Empty)?;
        let mut state = Self::begin(first)?;
        for entry in rest {
            state.apply(entry)?;
        }
        Ok(state)
    }

    /// Where the run stands as far as its journal says: what waits for people counts as running here,
    /// because whether anything else can move is known only to whoever performs it.
    pub fn status(&self) -> RunStatus {
        match &self.end {
            Some(RunEnd::Completed) => RunStatus::Completed,
            Some(RunEnd::Failed(_)) => RunStatus::Failed,
            Some(RunEnd::Cancelled { .. }) => RunStatus::Cancelled,
            None if self.paused => RunStatus::Paused,
            None => RunStatus::Running,
        }
    }

    /// What the run gave: its one output, or a list if there were several.
    pub fn output(&self) -> Option<Value> {
        match self.outputs.as_slice() {
            [] => None,
            [one] => Some(Value::clone(one)),
            several => Some(several.iter().map(|value| Value::clone(value)).collect()),
        }
    }

    /// Model calls made so far by all agents.
    pub fn total_model_calls(&self) -> u32 {
        self.model_calls.values().sum()
    }

    /// The requests nobody has answered yet.
    pub fn pending(&self) -> impl Iterator<Item = (RequestNo, &RequestState)> {
        self.requests
            .iter()
            .filter(|(_, request)| request.answer.is_none())
            .map(|(&no, request)| (no, request))
    }

    /// The conversation as an activation sees it: all that was said before it began, and what it said
    /// itself since.
    pub fn conversation(&self, activation: &Activation) -> Vec<Arc<Message>> {
        let before = self.messages.iter().take(activation.seen as usize);
        let own = activation.said.iter().filter_map(|&n| self.messages.get(n as usize));
        self.prior.iter().chain(before).chain(own).cloned().collect()
    }

    /// What the run was given, with earlier runs, and what an activation said itself.
    pub fn task(&self, activation: &Activation) -> Vec<Arc<Message>> {
        let given = self.messages.iter().take(self.started.added as usize + 1);
        let own = activation.said.iter().filter_map(|&n| self.messages.get(n as usize));
        self.prior.iter().chain(given).chain(own).cloned().collect()
    }

    /// The value a payload stands for. A join's is the oldest complete set that has arrived.
    pub fn resolve(&self, payload: &Payload) -> Result<Arc<Value>, JournalError> {
        let text = |n: u32| {
            self.messages
                .get(n as usize)
                .and_then(|message| message.last_text())
                .ok_or(JournalError::UnknownMessage(n))
        };
        Ok(match payload {
            Payload::Value(value) => Arc::clone(value),
            Payload::Input => Arc::clone(&self.input),
            Payload::Text(n) => Arc::new(Value::String(text(*n)?.to_owned())),
            Payload::Json(n) => Arc::new(
                serde_json::from_str(text(*n)?).map_err(|_| JournalError::UnknownMessage(*n))?,
            ),
            Payload::Join(edge) => {
                let arrived = self.joins.get(edge).ok_or(JournalError::UnknownJoin(*edge))?;
                let fields = arrived.iter().filter_map(|(source, values)| {
                    Some((source.to_string(), Value::clone(values.front()?)))
                });
                Arc::new(Value::Object(fields.collect()))
            }
        })
    }
}
