//! What is left out when a conversation outgrows its model.
//!
//! The rule, so that anybody can say beforehand what a model will not see:
//!
//! 1. The instructions and the tools are always there; they are not part of the conversation and not
//!    counted here.
//! 2. The messages the conversation begins with, up to the first that is not a user's, always stay:
//!    they say what is wanted.
//! 3. The newest message always stays, and before it as many as fit.
//! 4. A tool call and its result stay or go together.
//! 5. Everything between is left out in one piece, and a message in its place says so.
//!
//! If what must stay is too large by itself, it stays all the same (where something else was left out,
//! [`Omitted::over`] says so): the provider's own error is clearer than a conversation without its
//! question.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use signoff_core::{Message, Part, Role};

use crate::provider::ModelRequest;

/// How large a conversation may be, in bytes of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Budget(pub usize);

impl Budget {
    /// A budget in tokens, taking four bytes for one: close for English, generous for code, and never
    /// dependent on a tokenizer that changes under us.
    pub fn tokens(tokens: usize) -> Self {
        Self(tokens.saturating_mul(4))
    }

    /// What is left of it for messages once instructions, tools and the answer's shape are counted.
    #[must_use]
    pub fn for_messages_of(self, request: &ModelRequest) -> Self {
        let tools: usize = request
            .tools
            .iter()
            .map(|tool| {
                tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
            })
            .sum();
        let output = request.output.as_ref().map_or(0, |schema| schema.to_string().len());
        Self(self.0.saturating_sub(request.instructions.len() + tools + output))
    }
}

/// What was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// The first message that was left out, from 0.
    pub from: usize,
    /// The first behind them that was not.
    pub to: usize,
    /// Why: the size of the conversation and the budget, in bytes.
    pub reason: String,
    /// Whether what is left is still larger than the budget.
    pub over: bool,
}

/// The messages that fit into `budget`, and what was left out for it.
pub fn trim(messages: &[Arc<Message>], budget: Budget) -> (Vec<Arc<Message>>, Option<Omitted>) {
    let sizes: Vec<usize> = messages.iter().map(|message| size(message)).collect();
    let all: usize = sizes.iter().sum();
    let head = messages.iter().take_while(|message| message.role == Role::User).count();
    if all <= budget.0 || messages.len() <= head + 1 {
        return (messages.to_vec(), None);
    }
    let pairs = pairs(messages);
    let may_cut_at = |at: usize| pairs.iter().all(|&(call, result)| !(call < at && at <= result));
    let fixed: usize = sizes[..head].iter().sum::<usize>() + marker_size();
    // The cut moves from the newest message back as long as what follows fits.
    let mut tail = 0;
    let mut cut = None;
    for at in (head..messages.len()).rev() {
        tail += sizes[at];
        let fits = fixed + tail <= budget.0;
        if !fits && cut.is_some() {
            break;
        }
        if may_cut_at(at) {
            cut = Some(at);
        }
    }
    let to = cut.unwrap_or(head);
    if to == head {
        return (messages.to_vec(), None);
    }
    let mut kept = messages[..head].to_vec();
    kept.push(Arc::new(marker(head, to)));
    kept.extend_from_slice(&messages[to..]);
    let left: usize = kept.iter().map(|message| size(message)).sum();
    let omitted = Omitted {
        from: head,
        to,
        reason: format!("the conversation has {all} bytes and the budget is {}", budget.0),
        over: left > budget.0,
    };
    (kept, Some(omitted))
}

/// What stands where messages were left out.
fn marker(from: usize, to: usize) -> Message {
    let count = to - from;
    let were = if count == 1 { "message was" } else { "messages were" };
    Message::user(format!("({count} earlier {were} left out here to fit the model's context.)"))
}

/// The size of the longest marker there can be.
fn marker_size() -> usize {
    size(&marker(0, usize::MAX))
}

/// The size of a message, as the budget counts it.
pub fn size(message: &Message) -> usize {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        Part::ToolCall(call) => call.name.len() + call.arguments.to_string().len(),
        Part::ToolResult(result) => match &result.content {
            serde_json::Value::String(text) => text.len(),
            other => other.to_string().len(),
        },
        Part::Effect(_) | Part::Input => 0,
    });
    parts.sum::<usize>() + message.author.as_deref().map_or(0, str::len)
}

/// The messages of each call and its result, where these are two.
fn pairs(messages: &[Arc<Message>]) -> Vec<(usize, usize)> {
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut pairs = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for part in &message.parts {
            match part {
                Part::ToolCall(call) => {
                    calls.insert(&call.id, at);
                }
                Part::ToolResult(result) => {
                    if let Some(&call) = calls.get(result.id.as_str())
                        && call != at
                    {
                        pairs.push((call, at));
                    }
                }
                _ => {}
            }
        }
    }
    pairs
}
