//! What is said, as messages: what agents say, their calls of tools, and what came of those.
//!
//! A reply of a model is one message, by an id that follows from its place. The same messages, in order, are the run's
//! history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{Outcome, Reply};
use signoff_core::message::{ToolCall, ToolResult};
use signoff_core::state::EffectState;
use signoff_core::{ActivationId, Message, Part, Role, RunId, RunState, Seq};
use signoff_runtime::{Definition, ModelCall};

use super::events::Events;
use super::speech::{Speech, prefix, whole};
use crate::shape::is_data;

/// The field that marks a tool's result which is a question to people.
const QUESTION: &str = "signoff_question";

/// The messages of one run.
#[derive(Debug)]
pub(super) struct Words {
    run: RunId,
    pub(super) speech: Speech,
    /// Tool calls that were told, and the latest of each id that a model gave.
    calls: BTreeSet<String>,
    latest: BTreeMap<(ActivationId, String), String>,
    /// All messages.
    pub(super) history: Vec<Value>,
}

impl Words {
    /// `joined` means that somebody may be speaking already.
    pub(super) fn new(run: RunId, definition: Option<Arc<Definition>>, joined: bool) -> Self {
        Self {
            speech: Speech::new(&run, definition, joined),
            run,
            calls: BTreeSet::new(),
            latest: BTreeMap::new(),
            history: Vec::new(),
        }
    }

    /// How ids that are given here begin.
    pub(super) fn prefixes(&self) -> [String; 2] {
        [prefix(&self.run), format!("res_{}_", self.run.unique())]
    }

    /// The id of a tool call, by the key of what comes of it.
    pub(super) fn call_id(&self, activation: ActivationId, key: &str) -> Option<String> {
        // `~2` is the second round of a tool that asks people, `#gate1` the question about the call.
        let key = key.split_once('#').map_or(key, |(key, _)| key);
        let plain = match key.rsplit_once('~') {
            Some((before, round)) if round.parse::<u32>().is_ok() => before,
            _ => key,
        };
        let id = format!("call_{}_{activation}.{plain}", self.run.unique());
        self.calls.contains(&id).then_some(id)
    }

    /// What a model said is in the journal. If it is all that it says in its turn, its message follows.
    pub(super) fn replied(
        &mut self,
        events: &mut Events,
        call: ModelCall,
        agent: &str,
        outcome: &Outcome,
    ) {
        if let Outcome::Reply(reply) = outcome {
            let calls: Vec<&ToolCall> = reply.parts.iter().filter_map(as_call).collect();
            if self.speech.is_open(&call) || !calls.is_empty() {
                self.speech.tell(events, &call, agent, &words(&reply.parts));
            }
            if !calls.is_empty() {
                self.keep(&call, agent, reply);
            }
            for wanted in calls {
                self.called(events, &call, wanted);
            }
        } else {
            self.speech.restart(events, &call);
        }
        self.speech.close(call);
    }

    /// A reply as a message of the history.
    fn keep(&mut self, call: &ModelCall, agent: &str, reply: &Reply) {
        let mut message = json!({ "id": self.speech.id(call), "role": "assistant", "name": self.speech.title(agent) });
        let text = words(&reply.parts);
        if !text.is_empty() {
            message["content"] = text.into();
        }
        let calls: Vec<Value> = reply
            .parts
            .iter()
            .filter_map(as_call)
            .map(|wanted| {
                let function =
                    json!({ "name": wanted.name, "arguments": wanted.arguments.to_string() });
                json!({ "id": self.named(call, wanted), "type": "function", "function": function })
            })
            .collect();
        if !calls.is_empty() {
            message["toolCalls"] = calls.into();
        }
        self.history.push(message);
    }

    fn named(&self, call: &ModelCall, wanted: &ToolCall) -> String {
        format!("call_{}_{}.{}/{}", self.run.unique(), call.activation, call.key, wanted.id)
    }

    /// An agent calls a tool.
    fn called(&mut self, events: &mut Events, call: &ModelCall, wanted: &ToolCall) {
        let id = self.named(call, wanted);
        let start = json!({
            "toolCallId": id, "toolCallName": wanted.name, "parentMessageId": self.speech.told_as(call),
        });
        events.emit("TOOL_CALL_START", start);
        let arguments = wanted.arguments.to_string();
        events.emit("TOOL_CALL_ARGS", json!({ "toolCallId": id, "delta": arguments }));
        events.emit("TOOL_CALL_END", json!({ "toolCallId": id }));
        self.latest.insert((call.activation, wanted.id.clone()), id.clone());
        self.calls.insert(id);
    }

    /// Something was done. If it was a tool call, this is what came of it.
    pub(super) fn did(
        &mut self,
        events: &mut Events,
        activation: ActivationId,
        key: &str,
        outcome: &Outcome,
    ) {
        let Some(id) = self.call_id(activation, key) else { return };
        match outcome {
            Outcome::Ok(value) if value.get(QUESTION).is_none() => {
                self.result(events, &id, value, None);
            }
            Outcome::Err(error) => {
                let told = json!({ "error": error.message, "code": error.code });
                self.result(events, &id, &told, Some(&error.message));
            }
            _ => {}
        }
    }

    fn result(&mut self, events: &mut Events, call: &str, value: &Value, error: Option<&str>) {
        let content = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let id = format!("res_{}", call.trim_start_matches("call_"));
        let mut message =
            json!({ "id": id, "role": "tool", "toolCallId": call, "content": content });
        let told =
            json!({ "messageId": id, "role": "tool", "toolCallId": call, "content": content });
        events.emit("TOOL_CALL_RESULT", told);
        if let Some(error) = error {
            message["error"] = error.into();
        }
        self.history.push(message);
    }

    /// A message was added to the conversation. `state` is the run right after it.
    pub(super) fn said(
        &mut self,
        events: &mut Events,
        seq: Seq,
        activation: Option<ActivationId>,
        message: &Message,
        state: &RunState,
    ) {
        let open = activation.and_then(|id| state.open.get(&id));
        let author = message.author.as_deref().unwrap_or_default();
        let mut texts: Vec<&str> = Vec::new();
        let whole_input;
        for part in &message.parts {
            match part {
                Part::Effect(key) => {
                    let done = open.and_then(|open| open.effects.get(key));
                    if let (Some(EffectState::Done(Outcome::Reply(reply))), Some(activation)) =
                        (done, activation)
                    {
                        let call = ModelCall { activation, key: key.clone() };
                        self.spoken(events, &call, author, reply);
                    }
                }
                Part::ToolResult(result) => self.answered(events, activation, result),
                Part::Text(text) => texts.push(text),
                Part::ToolCall(_) | Part::Input => {}
            }
        }
        if activation.is_none() {
            // The run's own input is spelled out by now.
            whole_input = state.messages.last().map(|message| message.text()).unwrap_or_default();
            texts = vec![&whole_input];
        }
        let text = texts.join("\n");
        let (role, name) = match message.role {
            Role::Assistant if is_data(&text) => return,
            Role::Assistant => ("assistant", Some(self.speech.title(author))),
            // What the workflow tells its agents is not for people; what people say inside a run is.
            _ if activation.is_some() && !self.is_person(message, state) => return,
            Role::User | Role::Tool => ("user", message.author.as_deref().map(str::to_owned)),
        };
        if text.trim().is_empty() {
            return;
        }
        let id = format!("{}{seq}", prefix(&self.run));
        // The client knows what it said itself.
        if activation.is_some() {
            whole(events, &id, role, name.as_deref(), &text);
        }
        let mut kept = json!({ "id": id, "role": role, "content": text });
        if let Some(name) = name {
            kept["name"] = name.into();
        }
        self.history.push(kept);
    }

    fn is_person(&self, message: &Message, state: &RunState) -> bool {
        let author = message.author.as_ref();
        author.is_some_and(|it| !state.visits.contains_key(it) && !self.speech.knows(it))
    }

    /// What a model said is part of a message.
    fn spoken(&mut self, events: &mut Events, call: &ModelCall, author: &str, reply: &Reply) {
        // With calls in it, it was told when they were made.
        if reply.parts.iter().any(|part| as_call(part).is_some()) || words(&reply.parts).is_empty()
        {
            return;
        }
        if !self.speech.has_told(call) {
            self.speech.tell(events, call, author, &words(&reply.parts));
        }
        self.keep(call, author, reply);
    }

    /// A person has answered what an agent asked by a call.
    fn answered(
        &mut self,
        events: &mut Events,
        activation: Option<ActivationId>,
        result: &ToolResult,
    ) {
        let place = activation.map(|activation| (activation, result.id.clone()));
        let Some(id) = place.and_then(|place| self.latest.get(&place).cloned()) else { return };
        let error = result.is_error.then(|| result.content["error"].as_str().unwrap_or("failed"));
        self.result(events, &id, &result.content, error);
    }

    /// What the run gives, where no agent has said it.
    pub(super) fn gave(&mut self, events: &mut Events, seq: Seq, text: &str) {
        let id = format!("{}{seq}.output", prefix(&self.run));
        whole(events, &id, "assistant", None, text);
        self.history.push(json!({ "id": id, "role": "assistant", "content": text }));
    }

    /// An activation is done.
    pub(super) fn left(&mut self, events: &mut Events, activation: ActivationId) {
        self.speech.left(events, activation);
        self.latest.retain(|(of, _), _| *of != activation);
    }
}

fn as_call(part: &Part) -> Option<&ToolCall> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// What is said to people.
fn words(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) if !text.trim().is_empty() && !is_data(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
