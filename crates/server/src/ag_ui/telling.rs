//! A run as events, from where a client came in to where it rests.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use signoff_core::journal::{EffectKind, Entry, Event, Usage};
use signoff_core::state::{JournalError, RunEnd};
use signoff_core::{Name, Request, RequestNo, RunId, RunState, Seq};
use signoff_runtime::{Definition, ModelCall};

use super::events::Events;
use super::history::merged;
use super::input::Input;
use super::interrupt::interrupt;
use super::progress::Progress;
use super::words::Words;
use crate::shape::{given, is_told_whole};

/// Where the telling begins.
#[derive(Clone, Debug)]
pub(super) enum Since {
    /// After this entry.
    After(Seq),
    /// With what became of one of these requests.
    Answered(BTreeSet<RequestNo>),
}

/// The telling of one run.
#[derive(Debug)]
pub(super) struct Telling {
    run: RunId,
    input: Input,
    from: Since,
    begun: bool,
    pub(super) state: Option<RunState>,
    words: Words,
    progress: Progress,
    /// What was used before it began.
    used: Usage,
}

impl Telling {
    /// `joined` means that somebody may be speaking already.
    pub(super) fn new(
        run: RunId,
        input: Input,
        from: Since,
        joined: bool,
        definition: Option<Arc<Definition>>,
    ) -> Self {
        Self {
            words: Words::new(run.clone(), definition, joined),
            progress: Progress::new(run.clone(), input.modern),
            run,
            input,
            from,
            begun: false,
            state: None,
            used: Usage::default(),
        }
    }

    /// Takes the next entry of the run's journal.
    pub(super) fn take(&mut self, events: &mut Events, entry: &Entry) -> Result<(), JournalError> {
        let outputs = self.state.as_ref().map_or(0, |state| state.outputs.len());
        let used = self.state.as_ref().map_or_else(Usage::default, |state| state.usage);
        // Who replies is known only before its turn is over.
        let speaker = self.speaker(entry);
        let state = match self.state.take() {
            Some(mut state) => {
                state.apply(entry)?;
                state
            }
            None => RunState::begin(entry)?,
        };
        if !self.begun && self.begins(entry) {
            self.begin(events, &state, used);
        }
        events.silent = !self.begun;
        self.tell(events, &state, entry, speaker.as_ref(), outputs);
        events.silent = false;
        // Whoever joins is told at once how things stand.
        if !self.begun && matches!(self.from, Since::After(seq) if seq == entry.seq) {
            self.begin(events, &state, state.usage);
        }
        if self.begun {
            self.progress.steps(events, &state);
        }
        self.state = Some(state);
        Ok(())
    }

    fn speaker(&self, entry: &Entry) -> Option<Name> {
        let Event::Effect { activation, .. } = &entry.event else { return None };
        Some(self.state.as_ref()?.open.get(activation)?.executor.clone())
    }

    fn begins(&self, entry: &Entry) -> bool {
        match (&self.from, &entry.event) {
            (Since::After(seq), _) => entry.seq > *seq,
            (
                Since::Answered(wanted),
                Event::Decided { request, .. }
                | Event::Expired { request }
                | Event::Withdrawn { request, .. },
            ) => wanted.contains(request),
            (Since::Answered(_), _) => false,
        }
    }

    fn begin(&mut self, events: &mut Events, state: &RunState, used: Usage) {
        (self.begun, self.used) = (true, used);
        events.emit("STATE_SNAPSHOT", json!({ "snapshot": self.snapshot(state, "running", &[]) }));
        self.progress.show(events);
    }

    /// Tells what an entry brought. `state` is the run right after it.
    fn tell(
        &mut self,
        events: &mut Events,
        state: &RunState,
        entry: &Entry,
        speaker: Option<&Name>,
        outputs: usize,
    ) {
        match &entry.event {
            Event::Effect { activation, key, kind: EffectKind::Model, outcome, .. } => {
                let call = ModelCall { activation: *activation, key: key.clone() };
                let agent = speaker.map(|it| &**it).unwrap_or_default();
                self.words.replied(events, call, agent, outcome);
            }
            Event::Effect { activation, key, outcome, .. } => {
                self.words.did(events, *activation, key, outcome);
            }
            Event::Said { activation, message } => {
                self.words.said(events, entry.seq, *activation, message, state);
            }
            Event::Entered(entered) => {
                self.progress.entered(entered.step, entered.title.as_deref());
                self.moved(events, state);
            }
            Event::StepEnded { .. } => self.moved(events, state),
            Event::ChildStarted { activation, key } => {
                self.progress.part(events, *activation, key, state);
            }
            Event::ChildEnded { activation, key, outcome } => {
                self.progress.part_ended(events, *activation, key, outcome);
            }
            Event::Decided { request, decision, by, .. } => {
                let value = json!({
                    "interruptId": self.run.request(*request), "decision": decision.kind(), "by": by,
                });
                events.emit("CUSTOM", json!({ "name": "signoff.decided", "value": value }));
            }
            Event::Completed(done) => {
                self.words.left(events, done.activation);
                self.gave(events, state, entry.seq, outputs);
            }
            Event::Output { .. } => self.gave(events, state, entry.seq, outputs),
            Event::Failed { activation, .. } => self.words.left(events, *activation),
            _ => {}
        }
    }

    /// The plan has come further.
    fn moved(&mut self, events: &mut Events, state: &RunState) {
        let value = self.standing(state, "running", &[]);
        let change = json!([{ "op": "add", "path": "/signoff", "value": value }]);
        events.emit("STATE_DELTA", json!({ "delta": change }));
        self.progress.plan(events, state);
    }

    /// What the run gives, unless an agent has said it.
    fn gave(&mut self, events: &mut Events, state: &RunState, seq: Seq, before: usize) {
        let new = state.outputs.last().filter(|_| state.outputs.len() > before);
        let Some(text) = new.and_then(|value| given(value)) else { return };
        let told = state.messages.iter().any(|message| is_told_whole(message, &text));
        if !told && !text.trim().is_empty() {
            self.words.gave(events, seq, &text);
        }
    }

    /// A model is saying this.
    pub(super) fn delta(&mut self, events: &mut Events, agent: &str, call: ModelCall, text: &str) {
        let over = self.state.as_ref().is_some_and(|state| {
            call.activation <= state.last_activation && !state.open.contains_key(&call.activation)
        });
        match (self.begun, over) {
            (true, false) => self.words.speech.delta(events, agent, call, text),
            (false, false) => self.words.speech.missed(call),
            _ => {}
        }
    }

    /// What a model was saying in this call was cut off.
    pub(super) fn restart(&mut self, events: &mut Events, call: &ModelCall) {
        self.words.speech.restart(events, call);
    }

    /// The state as clients keep it: theirs, with where the run stands.
    fn snapshot(&self, state: &RunState, status: &str, asked: &[Request]) -> Value {
        let mut fields: Map<String, Value> = self.input.state.clone();
        fields.insert("signoff".to_owned(), self.standing(state, status, asked));
        Value::Object(fields)
    }

    fn standing(&self, state: &RunState, status: &str, asked: &[Request]) -> Value {
        let ids: Vec<&str> = asked.iter().map(|request| request.id.as_str()).collect();
        let mut standing = json!({
            "run": self.run, "workflow": state.started.workflow, "status": status, "pending": ids,
        });
        if let Some(phase) = &state.progress.phase {
            standing["phase"] = json!(phase);
        }
        if let Some(step) = state.progress.step {
            standing["step"] = json!(step);
        }
        standing
    }

    /// What was used since it began.
    fn usage(&self, state: &RunState) -> Value {
        let (now, before) = (&state.usage, &self.used);
        let input = now.input.saturating_sub(before.input);
        let output = now.output.saturating_sub(before.output);
        if input == 0 && output == 0 {
            return Value::Null;
        }
        json!([{
            "inputTokens": input,
            "outputTokens": output,
            "totalTokens": input.saturating_add(output),
            "cachedInputTokens": now.cached.saturating_sub(before.cached),
            "reasoningTokens": now.reasoning.saturating_sub(before.reasoning),
        }])
    }

    /// People are asked: the stream ends with that.
    pub(super) fn asks(&mut self, events: &mut Events, asked: &[Request]) {
        let interrupts: Vec<Value> = asked
            .iter()
            .map(|request| {
                interrupt(request, self.tool_call(request), self.progress.part_of(request))
            })
            .collect();
        let outcome = json!({ "type": "interrupt", "interrupts": interrupts });
        self.close(events, "waiting", asked, true);
        self.finish(events, &outcome, &Value::Null);
    }

    /// The run is over.
    pub(super) fn ends(&mut self, events: &mut Events) {
        let Some(end) = self.state.as_ref().and_then(|state| state.end.clone()) else { return };
        match end {
            RunEnd::Completed => {
                let result = self.state.as_ref().and_then(RunState::output);
                self.close(events, "completed", &[], false);
                self.finish(events, &json!({ "type": "success" }), &result.unwrap_or_default());
            }
            RunEnd::Cancelled { .. } => {
                self.close(events, "cancelled", &[], false);
                self.finish(events, &json!({ "type": "cancelled" }), &Value::Null);
            }
            RunEnd::Failed(error) => {
                self.close(events, "failed", &[], false);
                let usage = self.state.as_ref().map(|state| self.usage(state));
                let about = error.hint.map(|hint| json!({ "signoff": { "hint": hint } }));
                let fields = json!({
                    "message": error.message, "code": error.code, "usage": usage, "metadata": about,
                });
                events.emit("RUN_ERROR", fields);
            }
        }
    }

    /// Closes what is open, and says how things stand.
    fn close(&mut self, events: &mut Events, status: &str, asked: &[Request], messages: bool) {
        let Some(state) = self.state.take() else { return };
        if !self.begun {
            self.begin(events, &state, state.usage);
        }
        self.words.speech.end(events);
        self.progress.end(events, asked);
        let snapshot = self.snapshot(&state, status, asked);
        events.emit("STATE_SNAPSHOT", json!({ "snapshot": snapshot }));
        if messages || self.words.speech.cut {
            let (ours, theirs) = (&self.words.history, &self.input.messages);
            if let Some(all) = merged(ours, theirs, &self.words.prefixes()) {
                events.emit("MESSAGES_SNAPSHOT", json!({ "messages": all }));
            }
        }
        self.state = Some(state);
    }

    fn finish(&self, events: &mut Events, outcome: &Value, result: &Value) {
        let usage = self.state.as_ref().map(|state| self.usage(state));
        let fields = json!({
            "threadId": self.input.thread,
            "runId": self.input.run,
            "outcome": outcome,
            "result": result,
            "usage": usage,
        });
        events.emit("RUN_FINISHED", fields);
    }

    /// The tool call that a question is about.
    fn tool_call(&self, request: &Request) -> Option<String> {
        let (run, no) = request.id.split()?;
        let state = self.state.as_ref().filter(|_| run == self.run)?;
        let activation = state.requests.get(&no)?.activation;
        let asked = &state.open.get(&activation)?.asked;
        let key = asked.iter().find(|(_, number)| **number == no).map(|(key, _)| key)?;
        key.contains("#gate").then(|| self.words.call_id(activation, key))?
    }
}
