//! A run as one text: what agents say, as they say it, each word once.
//!
//! A model's words come twice: as it says them, and whole in an entry of the journal. The first agent to speak
//! has the floor until its message is in the journal; then only what was not shown yet is added. What others
//! say meanwhile comes after it. Words that may be data, for other agents, wait for the entry.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use signoff_core::journal::{EffectKind, Entry, Event, Outcome};
use signoff_core::state::JournalError;
use signoff_core::text::clean;
use signoff_core::{ActivationId, Key, Name, Part, RunState, Seq};
use signoff_runtime::{Definition, ModelCall};

use crate::shape::{given, is_told_whole, rest_after, spoken};

/// How much is shown at once, in bytes.
const MAX_SHOWN: usize = 256 * 1024;

/// The telling of one run.
#[derive(Debug)]
pub(super) struct Telling {
    after: Seq,
    /// Knows what people call the agents.
    definition: Option<Arc<Definition>>,
    pub(super) state: Option<RunState>,
    /// Text that is ready to be shown.
    pub(super) ready: VecDeque<String>,
    /// Who speaks, and how far it was shown.
    floor: Option<Floor>,
    /// Messages that wait for the floor.
    queue: VecDeque<(Option<Name>, String)>,
    /// Whether calls that are heard of now were heard from their beginning.
    live: bool,
    /// Calls whose words are not shown as they come: they are in the journal, or their beginning was missed.
    past: BTreeSet<ModelCall>,
    /// Whether anything was shown.
    begun: bool,
    /// The last message that was told.
    last: String,
}

#[derive(Debug)]
struct Floor {
    /// The call that its model makes now.
    call: ModelCall,
    /// What was said in this call.
    said: String,
    /// What was shown, call by call.
    shown: Vec<(Key, String)>,
}

impl Telling {
    /// Tells a run from after this entry. `joined` means that somebody may be speaking already.
    pub(super) fn new(after: Seq, joined: bool, definition: Option<Arc<Definition>>) -> Self {
        Self {
            after,
            definition,
            state: None,
            ready: VecDeque::new(),
            floor: None,
            queue: VecDeque::new(),
            live: !joined,
            past: BTreeSet::new(),
            begun: false,
            last: String::new(),
        }
    }

    /// Whether this text is what was told last.
    pub(super) fn has_just_said(&self, text: &str) -> bool {
        rest_after(&self.last, text).is_some_and(|rest| rest.trim().is_empty())
            && !text.trim().is_empty()
    }

    /// Says something that is in no journal.
    pub(super) fn note(&mut self, text: &str) {
        let gap = if self.begun { "\n\n" } else { "" };
        self.show(&format!("{gap}{text}"));
    }

    fn show(&mut self, text: &str) {
        if !text.is_empty() {
            self.begun = true;
            self.ready.push_back(clean(text, MAX_SHOWN));
        }
    }

    /// The beginning of a message.
    fn opening(&self, agent: Option<&Name>) -> String {
        let gap = if self.begun { "\n\n" } else { "" };
        let Some(agent) = agent else { return gap.to_owned() };
        let agents = self.definition.as_ref().map(|it| &it.workflow.agents);
        let title = agents.and_then(|agents| agents.get(&**agent)?.name.as_deref());
        format!("{gap}{}: ", title.unwrap_or(agent))
    }

    /// A model is saying this.
    pub(super) fn delta(&mut self, agent: &Name, call: ModelCall, text: &str) {
        if !self.live {
            self.past.insert(call);
            return;
        }
        let other = |floor: &Floor| floor.call.activation != call.activation;
        if self.past.contains(&call)
            || self.is_done(call.activation)
            || self.floor.as_ref().is_some_and(other)
        {
            return;
        }
        let mut floor = self.floor.take().unwrap_or_else(|| Floor {
            call: call.clone(),
            said: String::new(),
            shown: Vec::new(),
        });
        if floor.call != call {
            floor.call = call;
            floor.said.clear();
        }
        let was = floor.said.trim_start().len();
        floor.said.push_str(text);
        let said = floor.said.trim_start();
        // It may become an object, which is for other agents.
        if !said.is_empty() && !said.starts_with('{') {
            let new = said[was..].to_owned();
            let opening = match (was, floor.shown.is_empty()) {
                (0, true) => self.opening(Some(agent)),
                (0, false) => "\n".to_owned(),
                _ => String::new(),
            };
            floor.add(&new);
            self.show(&(opening + &new));
        }
        self.floor = Some(floor);
    }

    /// Whether an activation was there and is no more.
    fn is_done(&self, activation: ActivationId) -> bool {
        self.state.as_ref().is_some_and(|state| {
            activation <= state.last_activation && !state.open.contains_key(&activation)
        })
    }

    /// What a model was saying in this call was cut off; it begins again.
    pub(super) fn restart(&mut self, call: &ModelCall) {
        let Some(floor) = self.floor.as_mut().filter(|floor| floor.call == *call) else { return };
        let before = floor.shown.len();
        floor.shown.retain(|(key, _)| *key != call.key);
        let cut = floor.shown.len() < before;
        floor.said.clear();
        if cut {
            self.show(" […]\n(That was cut off; it begins again.)");
        }
    }

    /// Takes the next entry of the run's journal.
    pub(super) fn take(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let outputs = self.state.as_ref().map_or(0, |state| state.outputs.len());
        match &mut self.state {
            Some(state) => state.apply(entry)?,
            None => self.state = Some(RunState::begin(entry)?),
        }
        if entry.seq <= self.after {
            return Ok(());
        }
        match &entry.event {
            Event::Effect { activation, key, kind: EffectKind::Model, outcome, .. } => {
                let call = ModelCall { activation: *activation, key: key.clone() };
                if matches!(outcome, Outcome::Err(_)) {
                    self.restart(&call);
                }
                self.past.insert(call);
                self.live = true;
            }
            Event::Said { activation: Some(activation), message } => {
                self.live = true;
                self.said(*activation, &message.parts);
            }
            Event::Completed(completed) => {
                self.leave(completed.activation);
                self.given(outputs);
            }
            Event::Failed { activation, .. } => self.leave(*activation),
            Event::Output { .. } => self.given(outputs),
            _ => {}
        }
        if self.floor.is_none() {
            self.flush();
        }
        Ok(())
    }

    /// The message of an activation is in the journal.
    fn said(&mut self, activation: ActivationId, parts: &[Part]) {
        let Some(message) = self.state.as_ref().and_then(|state| state.messages.last().cloned())
        else {
            return;
        };
        let of_message =
            |key: &Key| parts.iter().any(|part| matches!(part, Part::Effect(it) if it == key));
        let own =
            |floor: &mut Floor| floor.call.activation == activation && of_message(&floor.call.key);
        let floor = self.floor.take_if(own);
        // What could not be used stands in no message.
        let shown: String = floor
            .iter()
            .flat_map(|floor| &floor.shown)
            .filter(|(key, _)| of_message(key))
            .map(|(_, text)| text.as_str())
            .collect();
        let Some(text) = spoken(&message) else { return };
        let author = message.author.clone();
        match rest_after(&text, &shown) {
            _ if shown.is_empty() => self.queue.push_back((author, text.clone())),
            Some(rest) if rest.trim().is_empty() => {}
            Some(rest) => self.show(rest),
            // Some words did not come through: better twice than not at all.
            None => {
                self.show(" […]\n(The whole of it:)");
                self.queue.push_front((author, text.clone()));
            }
        }
        self.last = text;
    }

    /// What the run gives, unless an agent has said it.
    fn given(&mut self, before: usize) {
        let Some(state) = self.state.as_ref().filter(|state| state.outputs.len() > before) else {
            return;
        };
        let Some(text) = state.outputs.last().and_then(|it| given(it)) else { return };
        let told = state.messages.iter().any(|message| is_told_whole(message, &text));
        if !told && !text.trim().is_empty() {
            self.queue.push_back((None, text.clone()));
            self.last = text;
        }
    }

    /// An activation is done: whatever it had begun to say is over.
    fn leave(&mut self, activation: ActivationId) {
        self.floor.take_if(|floor| floor.call.activation == activation);
        self.past.retain(|call| call.activation != activation);
    }

    /// Shows what waited for the floor.
    fn flush(&mut self) {
        while let Some((author, text)) = self.queue.pop_front() {
            let opening = self.opening(author.as_ref());
            self.show(&(opening + text.trim()));
        }
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self) {
        self.floor = None;
        self.flush();
    }
}

impl Floor {
    /// Notes what is shown of the current call.
    fn add(&mut self, text: &str) {
        match self.shown.last_mut() {
            Some((key, shown)) if *key == self.call.key => shown.push_str(text),
            _ => self.shown.push((self.call.key.clone(), text.to_owned())),
        }
    }
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
