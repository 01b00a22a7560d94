//! The events of a stream, in order.

use std::collections::VecDeque;

use bytes::Bytes;
use serde_json::{Map, Value};

/// Events that wait to be sent. While it is silent, what is told is not.
#[derive(Debug, Default)]
pub(super) struct Events {
    ready: VecDeque<Bytes>,
    pub(super) silent: bool,
}

impl Events {
    /// Tells an event. Fields that are null are left out: the protocol has no such thing.
    pub(super) fn emit(&mut self, kind: &str, fields: Value) {
        if self.silent {
            return;
        }
        let mut event = Map::new();
        event.insert("type".to_owned(), kind.into());
        if let Value::Object(fields) = fields {
            event.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        self.ready.push_back(format!("data: {}\n\n", Value::Object(event)).into());
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        self.ready.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }
}
