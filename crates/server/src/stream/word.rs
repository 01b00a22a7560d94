//! What nodes say to each other about live text.

use serde::{Deserialize, Serialize};
use signoff_core::{ActivationId, Key, Name, RunId};
use signoff_runtime::ModelCall;

/// The longest piece of text in one word, in bytes: in JSON a byte may become six.
pub(super) const LONGEST_TEXT: usize = 1_000;

/// A word. Small enough for the wire, whatever its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
pub(super) enum Word {
    /// Somebody listens to these runs here.
    Listens { runs: Vec<RunId> },
    /// A model says this, after so many bytes that it has said before.
    Says {
        #[serde(flatten)]
        who: Who,
        at: u64,
        text: String,
    },
    /// What it was saying was cut off; it begins again.
    Restarts {
        #[serde(flatten)]
        who: Who,
    },
}

/// Whose text it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Who {
    pub(super) run: RunId,
    pub(super) root: RunId,
    pub(super) agent: Name,
    pub(super) activation: ActivationId,
    pub(super) key: Key,
}

impl Who {
    /// The call in which it is said.
    pub(super) fn call(&self) -> ModelCall {
        ModelCall { activation: self.activation, key: self.key.clone() }
    }
}

impl Word {
    /// As it is sent.
    pub(super) fn written(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// As it was heard. None for what a newer node may say.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The pieces of a text that fit into words.
pub(super) fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.floor_char_boundary(LONGEST_TEXT));
        pieces.push(piece);
        text = rest;
    }
    pieces
}
