//! Folding one entry into the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{
    Activation, Answer, Call, Child, EffectState, Ledger, Progress, RequestState, RunEnd, RunState,
};
use crate::decision::Decision;
use crate::id::{ActivationId, Key, Name, RequestNo, Seq};
use crate::journal::{
    Caller, Completed, Delivered, EffectKind, Entry, ErrorInfo, Event, Outcome, Payload, Usage,
};
use crate::message::{Message, Part, ToolResult};

/// A journal that does not make sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// It has no entries.
    #[error("the journal is empty")]
    Empty,
    /// Its first entry is not how a run starts.
    #[error("the journal does not begin with the start of a run")]
    NoStart,
    /// A number is missing or comes twice.
    #[error("entry {found} follows where {expected} was expected")]
    Gap {
        /// What should come.
        expected: Seq,
        /// What came.
        found: Seq,
    },
    /// An entry speaks of an activation that is not open.
    #[error("entry {seq} speaks of activation {activation}, which is not open")]
    UnknownActivation {
        /// The entry.
        seq: Seq,
        /// The activation.
        activation: ActivationId,
    },
    /// An entry speaks of a request that was not asked.
    #[error("entry {seq} speaks of request {request}, which does not wait")]
    UnknownRequest {
        /// The entry.
        seq: Seq,
        /// The request.
        request: RequestNo,
    },
    /// A payload refers to a message that is not there.
    #[error("there is no message {0} with text")]
    UnknownMessage(u32),
    /// A payload refers to a fan-in where nothing has arrived.
    #[error("nothing has arrived at edge {0}")]
    UnknownJoin(u32),
    /// Something follows the end of the run.
    #[error("entry {0} follows the end of the run")]
    AfterEnd(Seq),
    /// An effect has ended twice, or a message refers to one that has not ended.
    #[error("entry {seq} does not fit effect `{key}`")]
    Effect {
        /// The entry.
        seq: Seq,
        /// The effect.
        key: Key,
    },
}

/// Who asks models for opinions on actions, among those who ask models.
const JUDGE: &str = "#judge";

impl RunState {
    /// The state after the first entry of a journal.
    pub fn begin(first: &Entry) -> Result<Self, JournalError> {
        let Event::Started(started) = &first.event else {
            return Err(JournalError::NoStart);
        };
        if first.seq != 1 {
            return Err(JournalError::Gap { expected: 1, found: first.seq });
        }
        Ok(Self {
            seq: 1,
            input: Arc::new(started.input.clone()),
            started: Arc::new((**started).clone()),
            started_at: first.at,
            updated_at: first.at,
            prior: Vec::new(),
            messages: Vec::new(),
            open: BTreeMap::new(),
            requests: BTreeMap::new(),
            last_activation: 0,
            last_request: 0,
            visits: BTreeMap::new(),
            edge_uses: BTreeMap::new(),
            joins: BTreeMap::new(),
            model_calls: BTreeMap::new(),
            usage: Usage::default(),
            ledger: Ledger::default(),
            progress: Progress::default(),
            outputs: Vec::new(),
            paused: false,
            end: None,
        })
    }

    /// Folds one more entry in. After an error the state is not to be used.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let seq = entry.seq;
        if seq != self.seq + 1 {
            return Err(JournalError::Gap { expected: self.seq + 1, found: seq });
        }
        if self.end.is_some() {
            return Err(JournalError::AfterEnd(seq));
        }
        self.seq = seq;
        self.updated_at = entry.at;
        match &entry.event {
            Event::Started(_) => return Err(JournalError::NoStart),
            Event::Delivered(delivered) => self.delivered(seq, delivered)?,
            Event::Said { activation, message } => self.said(seq, *activation, message)?,
            Event::Intent { activation, key, action } => {
                let effects = &mut self.activation(seq, *activation)?.effects;
                let attempts = match effects.get(key) {
                    None => 1,
                    // A person chose to try again.
                    Some(EffectState::Intended { attempts, .. }) => attempts + 1,
                    Some(EffectState::Done(_)) => {
                        return Err(JournalError::Effect { seq, key: key.clone() });
                    }
                };
                let intended = EffectState::Intended { action: action.clone(), attempts };
                effects.insert(key.clone(), intended);
            }
            Event::Effect { activation, key, kind, outcome, .. } => {
                self.effect(seq, *activation, key, *kind, outcome)?;
                self.ledger.effect(*activation, key, outcome);
                if matches!(outcome, Outcome::Err(_)) {
                    self.progress.failed(*activation, key);
                }
            }
            Event::Entered(entered) => {
                self.activation(seq, entered.activation)?.marks += 1;
                self.progress.entered(entered);
            }
            Event::StepEnded { activation, step, how } => {
                self.activation(seq, *activation)?.marks += 1;
                self.progress.step_ended(*step, *how);
            }
            Event::Applied(applied) => {
                self.activation(seq, applied.activation)?;
                self.progress.applied.push((**applied).clone());
            }
            Event::RolledBack { activation, .. } => {
                self.activation(seq, *activation)?.marks += 1;
                self.progress.applied.clear();
            }
            Event::Feedback { activation, given } => {
                if let Some(activation) = activation {
                    self.activation(seq, *activation)?.marks += 1;
                }
                self.progress.given(given, entry.at);
            }
            Event::FeedbackRemoved { n, .. } => self.progress.removed(*n),
            Event::Gated(gated) => {
                self.activation(seq, gated.activation)?;
                self.ledger.gated(gated.activation, gated);
            }
            Event::Asked { activation, key, request, body } => {
                self.activation(seq, *activation)?.asked.insert(key.clone(), *request);
                self.last_request = self.last_request.max(*request);
                let request_state = RequestState {
                    activation: *activation,
                    body: Arc::new((**body).clone()),
                    asked_at: entry.at,
                    answer: None,
                };
                self.requests.insert(*request, request_state);
            }
            Event::Decided { request, decision, by, .. } => {
                if let Some(request) = self.requests.get(request)
                    && let Some(digest) = request.body.context["digest"].as_str()
                {
                    let denied = matches!(decision, Decision::Reject { .. });
                    let tool = request.body.context["tool"].as_str().unwrap_or_default();
                    self.ledger.answered(tool, digest, denied);
                }
                let answer = Answer::Decided { decision: decision.clone(), by: by.clone() };
                self.answer(seq, *request, answer)?;
            }
            Event::Expired { request } => self.answer(seq, *request, Answer::Expired)?,
            Event::Withdrawn { request, .. } => self.answer(seq, *request, Answer::Withdrawn)?,
            Event::TimerSet { activation, key, due } => {
                self.activation(seq, *activation)?.timers.insert(key.clone(), (*due, false));
            }
            Event::TimerFired { activation, key } => {
                let timers = &mut self.activation(seq, *activation)?.timers;
                if let Some(timer) = timers.get_mut(key) {
                    timer.1 = true;
                }
            }
            Event::ChildStarted { activation, key } => {
                self.activation(seq, *activation)?.children.insert(key.clone(), Child::Open);
            }
            Event::ChildEnded { activation, key, outcome } => {
                let ended = Child::Ended(outcome.clone());
                self.activation(seq, *activation)?.children.insert(key.clone(), ended);
            }
            Event::Output { activation, value } => {
                let value = self.resolve(value)?;
                self.activation(seq, *activation)?.given += 1;
                self.outputs.push(value);
            }
            Event::Completed(completed) => self.completed(seq, completed)?,
            Event::Failed { activation, error } => self.failed(seq, *activation, error)?,
            Event::Paused { .. } => self.paused = true,
            Event::Resumed { .. } => self.paused = false,
            Event::RunCompleted {} => self.finish(RunEnd::Completed),
            Event::RunFailed { error } => self.finish(RunEnd::Failed(error.clone())),
            Event::RunCancelled { by, reason } => {
                self.finish(RunEnd::Cancelled { by: by.clone(), reason: reason.clone() });
            }
        }
        Ok(())
    }

    fn activation(
        &mut self,
        seq: Seq,
        activation: ActivationId,
    ) -> Result<&mut Activation, JournalError> {
        self.open.get_mut(&activation).ok_or(JournalError::UnknownActivation { seq, activation })
    }

    fn open(&mut self, id: ActivationId, to: &Name, payload: Arc<Value>, caller: Option<Caller>) {
        self.last_activation = self.last_activation.max(id);
        match self.visits.get_mut(to) {
            Some(visits) => *visits += 1,
            None => {
                self.visits.insert(to.clone(), 1);
            }
        }
        let activation = Activation {
            executor: to.clone(),
            payload,
            caller,
            seen: u32::try_from(self.messages.len()).unwrap_or(u32::MAX),
            said: Vec::new(),
            effects: BTreeMap::new(),
            asked: BTreeMap::new(),
            timers: BTreeMap::new(),
            calls: BTreeMap::new(),
            children: BTreeMap::new(),
            sent: 0,
            marks: 0,
            given: 0,
        };
        self.open.insert(id, activation);
    }

    fn delivered(&mut self, seq: Seq, delivered: &Delivered) -> Result<(), JournalError> {
        let payload = self.resolve(&delivered.payload)?;
        if let Payload::Join(edge) = delivered.payload {
            self.consume_join(edge);
        }
        if let Some(from) = delivered.from {
            self.activation(seq, from)?.sent += 1;
        }
        if let Some(caller) = &delivered.caller {
            let call = Call::Open(delivered.activation);
            self.activation(seq, caller.activation)?.calls.insert(caller.key.clone(), call);
        }
        self.open(delivered.activation, &delivered.to, payload, delivered.caller.clone());
        Ok(())
    }

    fn consume_join(&mut self, edge: u32) {
        if let Some(arrived) = self.joins.get_mut(&edge) {
            for values in arrived.values_mut() {
                values.pop_front();
            }
            arrived.retain(|_, values| !values.is_empty());
            if arrived.is_empty() {
                self.joins.remove(&edge);
            }
        }
    }

    fn said(
        &mut self,
        seq: Seq,
        activation: Option<ActivationId>,
        message: &Arc<Message>,
    ) -> Result<(), JournalError> {
        let refers = |part: &Part| matches!(part, Part::Effect(_) | Part::Input);
        let message = if message.parts.iter().any(refers) {
            Arc::new(self.spelled_out(seq, activation, message)?)
        } else {
            Arc::clone(message)
        };
        let number = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        if let Some(activation) = activation {
            self.activation(seq, activation)?.said.push(number);
        }
        self.messages.push(message);
        Ok(())
    }

    /// The message with every reference replaced by what it refers to.
    pub fn spelled_out(
        &self,
        seq: Seq,
        activation: Option<ActivationId>,
        message: &Message,
    ) -> Result<Message, JournalError> {
        let effects = activation.and_then(|id| self.open.get(&id)).map(|open| &open.effects);
        let mut parts = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            match part {
                Part::Effect(key) => match effects.and_then(|effects| effects.get(key)) {
                    Some(EffectState::Done(outcome)) => parts.extend(outcome_parts(key, outcome)),
                    _ => return Err(JournalError::Effect { seq, key: key.clone() }),
                },
                Part::Input => parts.push(Part::Text(match &*self.input {
                    Value::String(text) => text.clone(),
                    other => serde_json::to_string_pretty(other).unwrap_or_default(),
                })),
                other => parts.push(other.clone()),
            }
        }
        Ok(Message { role: message.role, author: message.author.clone(), parts })
    }

    fn effect(
        &mut self,
        seq: Seq,
        id: ActivationId,
        key: &Key,
        kind: EffectKind,
        outcome: &Outcome,
    ) -> Result<(), JournalError> {
        let activation = self.activation(seq, id)?;
        let done = EffectState::Done(outcome.clone());
        if let Some(EffectState::Done(_)) = activation.effects.insert(key.clone(), done) {
            return Err(JournalError::Effect { seq, key: key.clone() });
        }
        let asker = match kind {
            EffectKind::Model => Some(activation.executor.clone()),
            EffectKind::Judge => Some(JUDGE.into()),
            _ => None,
        };
        if let Some(asker) = asker {
            *self.model_calls.entry(asker).or_default() += 1;
        }
        if let Outcome::Reply(reply) = outcome {
            self.usage = self.usage.plus(reply.usage);
        }
        Ok(())
    }

    fn answer(&mut self, seq: Seq, request: RequestNo, answer: Answer) -> Result<(), JournalError> {
        match self.requests.get_mut(&request) {
            Some(waiting) if waiting.answer.is_none() => {
                waiting.answer = Some(answer);
                Ok(())
            }
            _ => Err(JournalError::UnknownRequest { seq, request }),
        }
    }

    fn completed(&mut self, seq: Seq, completed: &Completed) -> Result<(), JournalError> {
        let output = self.resolve(&completed.output)?;
        let done = self.close(seq, completed.activation)?;
        if let Some(caller) = done.caller {
            if let Some(activation) = self.open.get_mut(&caller.activation) {
                activation.calls.insert(caller.key, Call::Done(output));
            }
            return Ok(());
        }
        for &edge in &completed.joined {
            let arrived = self.joins.entry(edge).or_default();
            arrived.entry(done.executor.clone()).or_default().push_back(Arc::clone(&output));
        }
        let mut last_edge = None;
        for next in &completed.next {
            if last_edge.replace(next.edge) != Some(next.edge) {
                *self.edge_uses.entry(next.edge).or_default() += 1;
            }
            self.open(next.activation, &next.to, Arc::clone(&output), None);
        }
        let ends_here = completed.next.is_empty() && completed.joined.is_empty();
        if ends_here && done.given == 0 && !output.is_null() {
            self.outputs.push(output);
        }
        Ok(())
    }

    fn failed(
        &mut self,
        seq: Seq,
        activation: ActivationId,
        error: &ErrorInfo,
    ) -> Result<(), JournalError> {
        let done = self.close(seq, activation)?;
        if let Some(caller) = done.caller
            && let Some(activation) = self.open.get_mut(&caller.activation)
        {
            activation.calls.insert(caller.key, Call::Failed(error.clone()));
        }
        Ok(())
    }

    fn close(&mut self, seq: Seq, id: ActivationId) -> Result<Activation, JournalError> {
        let activation =
            self.open.remove(&id).ok_or(JournalError::UnknownActivation { seq, activation: id })?;
        for request in activation.asked.values() {
            self.requests.remove(request);
        }
        self.ledger.closed(id);
        Ok(activation)
    }

    fn finish(&mut self, end: RunEnd) {
        self.end = Some(end);
        self.open.clear();
        self.requests.clear();
        self.joins.clear();
    }
}

/// The id of the call that a tool effect answers. Its key is `<model effect>/<id>`, with `~<round>`
/// behind it where the tool has asked people in between.
fn call_id(key: &str) -> &str {
    let id = key.split_once('/').map_or(key, |(_, id)| id);
    match id.rsplit_once('~') {
        Some((id, round)) if round.parse::<u32>().is_ok() => id,
        _ => id,
    }
}

/// What an effect adds to a message: a model's parts as they are, a tool's result as a result.
fn outcome_parts(key: &Key, outcome: &Outcome) -> Vec<Part> {
    let result = |content: Value, is_error| {
        let id = call_id(key).to_owned();
        vec![Part::ToolResult(ToolResult { id, content, is_error })]
    };
    match outcome {
        Outcome::Reply(reply) => reply.parts.clone(),
        Outcome::Ok(value) => result(Value::clone(value), false),
        Outcome::Err(error) => {
            result(serde_json::json!({ "error": error.message, "code": error.code }), true)
        }
    }
}
