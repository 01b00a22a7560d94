//! What people and agents say to each other.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{Key, Name};

/// Who speaks, as a model sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, or the workflow speaking for one.
    User,
    /// An agent.
    Assistant,
    /// The result of tool calls, a person's answer to an agent's question among them.
    Tool,
}

/// How the names of the tools begin by which agents hand over.
pub const HANDOFF_PREFIX: &str = "handoff_to_";
/// The field of such a tool's result that says to whom.
pub const HANDED_TO: &str = "handoff_to";

/// One message of a conversation. An agent's whole turn, its tool calls and their results included,
/// is one message; a question to people closes the turn, and the answer is a message of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks, as a model sees it.
    pub role: Role,
    /// Which agent or person it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Name>,
    /// What was said, in order.
    pub parts: Vec<Part>,
}

/// A message as a client sent it, where its dialect gives messages ids. What it led to is journaled beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The id, made by the client.
    pub id: Name,
    /// What it said, in the words of the dialect.
    pub parts: Value,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text or Markdown.
    Text(String),
    /// An agent calls a tool.
    ToolCall(ToolCall),
    /// What the tool gave back.
    ToolResult(ToolResult),
    /// In a journal only: whatever the effect of this key (of the same activation) said. The text is
    /// stored once, with the effect; folding the journal puts it here.
    Effect(Key),
    /// In a journal only: the run's input.
    Input,
}

/// A call of a tool by an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id, unique in its turn.
    pub id: String,
    /// Which tool.
    pub name: Name,
    /// Its arguments, as the model gave them.
    pub arguments: Value,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub id: String,
    /// What came back.
    pub content: Value,
    /// Whether the tool failed; `content` then says how.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl Message {
    /// A user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, author: None, parts: vec![Part::Text(text.into())] }
    }

    /// An agent's message.
    pub fn assistant(author: impl Into<Name>, text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            author: Some(author.into()),
            parts: vec![Part::Text(text.into())],
        }
    }

    /// The same message with an author.
    #[must_use]
    pub fn by(mut self, author: impl Into<Name>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// The message without the calls by which agents hand over and what came of them; none, if
    /// nothing else was said.
    pub fn without_handoffs(self: &Arc<Self>) -> Option<Arc<Self>> {
        let is_handoff = |part: &Part| match part {
            Part::ToolCall(call) => call.name.starts_with(HANDOFF_PREFIX),
            Part::ToolResult(result) => result.content.get(HANDED_TO).is_some(),
            _ => false,
        };
        if !self.parts.iter().any(is_handoff) {
            return Some(Arc::clone(self));
        }
        let parts: Vec<Part> =
            self.parts.iter().filter(|part| !is_handoff(part)).cloned().collect();
        let said =
            parts.iter().any(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
        said.then(|| Arc::new(Self { role: self.role, author: self.author.clone(), parts }))
    }

    /// All its text parts, joined by newlines.
    pub fn text(&self) -> String {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let Some(first) = texts.next() else {
            return String::new();
        };
        texts.fold(first.to_owned(), |mut all, text| {
            all.push('\n');
            all.push_str(text);
            all
        })
    }

    /// The last text part: an agent's final word after its tool calls.
    pub fn last_text(&self) -> Option<&str> {
        self.parts.iter().rev().find_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }
}
