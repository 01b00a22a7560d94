//! A reply put together from pieces.

use std::collections::HashSet;

use serde_json::Value;
use signoff_core::Part;
use signoff_core::message::ToolCall;

use crate::provider::{Delta, ModelReply, Usage};
use crate::wire_name::ToolNames;

/// Where pieces go as they come.
pub(crate) type Sink<'a> = &'a (dyn Fn(Delta) + Send + Sync);

/// A tool call in the making.
#[derive(Debug, Default)]
pub(crate) struct CallSlot {
    /// By what its later pieces refer to it.
    pub(crate) index: Option<u64>,
    pub(crate) id: String,
    pub(crate) name: String,
    arguments: String,
}

#[derive(Debug)]
enum Slot {
    Text { index: Option<u64>, text: String },
    Call(CallSlot),
}

/// A reply in the making.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    names: ToolNames,
    slots: Vec<Slot>,
    pub(crate) usage: Usage,
}

impl Assembly {
    pub(crate) fn new(names: ToolNames) -> Self {
        Self { names, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// More text, of the block `index` if the protocol has blocks.
    pub(crate) fn text(&mut self, index: Option<u64>, piece: &str, sink: Sink<'_>) {
        if piece.is_empty() {
            return;
        }
        sink(Delta::Text(piece.to_owned()));
        let same = self.slots.iter_mut().rev().find_map(|slot| match slot {
            Slot::Text { index: there, text } if *there == index => Some(text),
            _ => None,
        });
        match same {
            Some(text) => text.push_str(piece),
            None => self.slots.push(Slot::Text { index, text: piece.to_owned() }),
        }
    }

    /// Whether the block `index` has text.
    pub(crate) fn has_text(&self, index: Option<u64>) -> bool {
        self.slots
            .iter()
            .any(|slot| matches!(slot, Slot::Text { index: there, .. } if *there == index))
    }

    /// A new call.
    pub(crate) fn begin(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let call =
            CallSlot { index, id: id.to_owned(), name: name.to_owned(), arguments: String::new() };
        self.slots.push(Slot::Call(call));
        self.slots.len() - 1
    }

    /// The latest call that `is` fits, by its place.
    pub(crate) fn find(&self, is: impl Fn(&CallSlot) -> bool) -> Option<usize> {
        self.slots.iter().rposition(|slot| matches!(slot, Slot::Call(call) if is(call)))
    }

    /// The call at a place that `begin` or `find` gave.
    pub(crate) fn call(&mut self, at: usize) -> Option<&mut CallSlot> {
        match self.slots.get_mut(at) {
            Some(Slot::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// More arguments of the call at `at`.
    pub(crate) fn arguments(&mut self, at: usize, piece: &str, sink: Sink<'_>) {
        let names = &self.names;
        let Some(Slot::Call(call)) = self.slots.get_mut(at) else { return };
        if piece.is_empty() {
            return;
        }
        call.arguments.push_str(piece);
        sink(Delta::ToolArguments {
            id: call.id.clone(),
            name: names.real(&call.name),
            text: piece.to_owned(),
        });
    }

    /// The arguments of the call at `at`, whole. What had come in pieces is the same or worse.
    pub(crate) fn whole_arguments(&mut self, at: usize, arguments: &Value, sink: Sink<'_>) {
        let text = match arguments {
            Value::String(text) => text.clone(),
            Value::Null => return,
            other => other.to_string(),
        };
        let streamed = match self.slots.get_mut(at) {
            Some(Slot::Call(call)) => !std::mem::take(&mut call.arguments).is_empty(),
            _ => return,
        };
        self.arguments(at, &text, if streamed { &|_| {} } else { sink });
    }

    /// The reply. Calls without an id, or with one that another call has, get one.
    pub(crate) fn finish(self) -> ModelReply {
        let mut taken: HashSet<String> = HashSet::new();
        let mut parts = Vec::with_capacity(self.slots.len());
        let mut number = 0;
        for slot in self.slots {
            match slot {
                Slot::Text { text, .. } => parts.push(Part::Text(text)),
                Slot::Call(call) => {
                    number += 1;
                    let mut id = call.id;
                    while id.is_empty() || !taken.insert(id.clone()) {
                        id = format!("call_{number}");
                        number += u32::from(taken.contains(&id));
                    }
                    let name = self.names.real(&call.name);
                    let arguments = parsed(&call.arguments);
                    parts.push(Part::ToolCall(ToolCall { id, name, arguments }));
                }
            }
        }
        ModelReply { parts, usage: self.usage, by: None }
    }
}

/// What is not JSON stays text: the tool's schema refuses it, and the model is told.
fn parsed(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str(arguments) {
        // Some models write their JSON into a JSON string.
        Ok(Value::String(inner)) => serde_json::from_str(&inner).unwrap_or(Value::String(inner)),
        Ok(value) => value,
        Err(_) => Value::String(arguments.to_owned()),
    }
}
