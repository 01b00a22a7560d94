//! What models say, as they say it: each message well formed, whatever becomes of its call.
//!
//! Words come twice: as they are said, and whole in an entry of the journal; then only what was not told yet is added.
//! What was cut off is closed, and told anew under another id; the next snapshot puts that right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use signoff_core::{ActivationId, RunId};
use signoff_runtime::{Definition, ModelCall};

use super::events::Events;
use crate::shape::rest_after;

/// What models are saying in one run.
#[derive(Debug)]
pub(super) struct Speech {
    prefix: String,
    /// Knows what people call the agents.
    definition: Option<Arc<Definition>>,
    /// Whether calls that are heard of now were heard from their beginning.
    live: bool,
    /// Messages whose words are coming.
    open: BTreeMap<ModelCall, Open>,
    /// Calls whose words are not told as they come: they are in the journal, or their beginning was missed.
    past: BTreeSet<ModelCall>,
    /// Replies that were told before they were said.
    told: BTreeSet<ModelCall>,
    /// How often a call was begun again.
    again: BTreeMap<ModelCall, u32>,
    /// Whether something was told that is in no message.
    pub(super) cut: bool,
}

#[derive(Debug, Default)]
struct Open {
    said: String,
    shown: String,
}

/// How ids of messages of a run begin.
pub(super) fn prefix(run: &RunId) -> String {
    format!("msg_{}_", run.unique())
}

impl Speech {
    /// `joined` means that somebody may be speaking already.
    pub(super) fn new(run: &RunId, definition: Option<Arc<Definition>>, joined: bool) -> Self {
        Self {
            prefix: prefix(run),
            definition,
            live: !joined,
            open: BTreeMap::new(),
            past: BTreeSet::new(),
            told: BTreeSet::new(),
            again: BTreeMap::new(),
            cut: false,
        }
    }

    /// The id of what is said in a call.
    pub(super) fn id(&self, call: &ModelCall) -> String {
        format!("{}{}.{}", self.prefix, call.activation, call.key)
    }

    /// The id under which it is told now.
    pub(super) fn told_as(&self, call: &ModelCall) -> String {
        match self.again.get(call) {
            Some(times) => format!("{}~{times}", self.id(call)),
            None => self.id(call),
        }
    }

    /// What people call an agent.
    pub(super) fn title(&self, agent: &str) -> String {
        let agents = self.definition.as_ref().map(|it| &it.workflow.agents);
        let title = agents.and_then(|agents| agents.get(agent)?.name.clone());
        title.unwrap_or_else(|| agent.to_owned())
    }

    /// Whether there is such an agent.
    pub(super) fn knows(&self, agent: &str) -> bool {
        self.definition.as_ref().is_some_and(|it| it.workflow.agents.contains_key(agent))
    }

    /// A model is saying this.
    pub(super) fn delta(&mut self, events: &mut Events, agent: &str, call: ModelCall, text: &str) {
        if !self.live {
            return self.missed(call);
        }
        if self.past.contains(&call) {
            return;
        }
        let (id, title) = (self.told_as(&call), self.title(agent));
        let open = self.open.entry(call).or_default();
        open.said.push_str(text);
        let said = open.said.trim_start();
        // It may become an object, which is for other agents.
        if said.is_empty() || said.starts_with('{') {
            return;
        }
        if open.shown.is_empty() {
            open.shown = said.to_owned();
            begin(events, &id, "assistant", Some(&title));
            add(events, &id, said);
        } else {
            open.shown.push_str(text);
            add(events, &id, text);
        }
    }

    /// What a model said in this call was not heard from the beginning.
    pub(super) fn missed(&mut self, call: ModelCall) {
        self.past.insert(call);
    }

    /// What a model was saying in this call was cut off; it begins again.
    pub(super) fn restart(&mut self, events: &mut Events, call: &ModelCall) {
        let id = self.told_as(call);
        if self.open.remove(call).is_some_and(|open| !open.shown.is_empty()) {
            end(events, &id);
            self.cut = true;
            *self.again.entry(call.clone()).or_insert(1) += 1;
        }
    }

    /// What is said in a call is in the journal: nothing of it is told any more as it comes.
    pub(super) fn close(&mut self, call: ModelCall) {
        self.live = true;
        self.open.remove(&call);
        self.past.insert(call);
    }

    /// Whether words of a call were told.
    pub(super) fn is_open(&self, call: &ModelCall) -> bool {
        self.open.get(call).is_some_and(|open| !open.shown.is_empty())
    }

    /// Whether the whole of a call was told.
    pub(super) fn has_told(&self, call: &ModelCall) -> bool {
        self.told.contains(call)
    }

    /// Tells what was not told yet of a reply's words.
    pub(super) fn tell(&mut self, events: &mut Events, call: &ModelCall, agent: &str, text: &str) {
        self.told.insert(call.clone());
        let open = self.open.remove(call).filter(|open| !open.shown.is_empty());
        if let Some(open) = open {
            let id = self.told_as(call);
            if let Some(rest) = rest_after(text, &open.shown) {
                if !rest.trim().is_empty() {
                    add(events, &id, rest);
                }
                end(events, &id);
                return;
            }
            // Some words did not come through.
            end(events, &id);
            self.cut = true;
            *self.again.entry(call.clone()).or_insert(1) += 1;
        }
        if !text.is_empty() {
            let (id, title) = (self.told_as(call), self.title(agent));
            whole(events, &id, "assistant", Some(&title), text);
        }
    }

    /// An activation is done.
    pub(super) fn left(&mut self, events: &mut Events, activation: ActivationId) {
        let theirs: Vec<ModelCall> =
            self.open.keys().filter(|call| call.activation == activation).cloned().collect();
        for call in theirs {
            self.restart(events, &call);
        }
        self.past.retain(|call| call.activation != activation);
        self.told.retain(|call| call.activation != activation);
        self.again.retain(|call, _| call.activation != activation);
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self, events: &mut Events) {
        let open: Vec<ModelCall> = self.open.keys().cloned().collect();
        for call in open {
            self.restart(events, &call);
        }
    }
}

fn begin(events: &mut Events, id: &str, role: &str, name: Option<&str>) {
    events.emit("TEXT_MESSAGE_START", json!({ "messageId": id, "role": role, "name": name }));
}

fn add(events: &mut Events, id: &str, text: &str) {
    events.emit("TEXT_MESSAGE_CONTENT", json!({ "messageId": id, "delta": text }));
}

fn end(events: &mut Events, id: &str) {
    events.emit("TEXT_MESSAGE_END", json!({ "messageId": id }));
}

/// A message that is told at once.
pub(super) fn whole(events: &mut Events, id: &str, role: &str, name: Option<&str>, text: &str) {
    begin(events, id, role, name);
    add(events, id, text);
    end(events, id);
}
