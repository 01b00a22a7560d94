//! What a script can know of a request.

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value, json};
use signoff_core::message::ToolCall;
use signoff_core::{Message, Part, Role};

use super::template::Scope;
use crate::provider::ModelRequest;

/// The tool by which agents ask people.
const ASK: &str = "request_user_input";

/// The conversation, as far as rules and templates look at it.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Which call of this agent in this run it is, from 1.
    pub(super) turn: u32,
    /// How many messages there are.
    pub(super) messages: usize,
    /// The id of the message that started the run; empty, if it has none.
    pub(super) id: String,
    /// The first thing the user said.
    pub(super) input: String,
    /// The last message, tool calls and results included.
    pub(super) last: String,
    /// All messages, tool calls and results included.
    pub(super) text: String,
    called: Vec<Value>,
    answers: Vec<Value>,
    answers_by_agent: Map<String, Value>,
    results: Map<String, Value>,
    results_by_agent: Map<String, Value>,
    outputs: Map<String, Value>,
}

impl View {
    /// The view of `request`, from the last message on in which `from` is found.
    pub(super) fn of(request: &ModelRequest, from: Option<&Regex>) -> Self {
        let messages = &request.messages;
        let start = from
            .and_then(|from| messages.iter().rposition(|message| from.is_match(&message.text())))
            .unwrap_or(0);
        let messages = &messages[start..];
        let mut view = Self {
            turn: request.turn.saturating_add(1),
            messages: messages.len(),
            id: request.sent.as_deref().unwrap_or_default().to_owned(),
            input: messages
                .iter()
                .find(|message| message.role == Role::User)
                .map(|it| it.text())
                .unwrap_or_default(),
            last: messages.last().map(|message| message_text(message)).unwrap_or_default(),
            ..Self::default()
        };
        // Ids need only be unique in their turn: the latest call of an id is the one a result answers.
        let mut calls: HashMap<&str, (&str, &ToolCall)> = HashMap::new();
        for message in messages {
            view.text.push_str(&message_text(message));
            view.text.push('\n');
            let author = message.author.as_deref().unwrap_or_default();
            for part in &message.parts {
                match part {
                    Part::ToolCall(call) => {
                        calls.insert(&call.id, (author, call));
                        if author == &*request.agent {
                            view.called.push(call.name.as_ref().into());
                        }
                    }
                    Part::ToolResult(result) => {
                        if let Some((agent, call)) = calls.get(result.id.as_str()) {
                            view.result(agent, call, outcome(&result.content, result.is_error));
                        }
                    }
                    Part::Text(text) if message.role == Role::Assistant => {
                        if let Ok(output @ Value::Object(_)) = serde_json::from_str(text) {
                            view.outputs.insert(author.to_owned(), output);
                        }
                    }
                    _ => {}
                }
            }
        }
        view
    }

    fn result(&mut self, agent: &str, call: &ToolCall, result: Value) {
        if &*call.name == ASK {
            let prompt = call.arguments.get("prompt").cloned().unwrap_or_default();
            self.answers.push(json!({ "agent": agent, "prompt": prompt, "result": result }));
            self.answers_by_agent.insert(agent.to_owned(), result.clone());
        }
        let own = self.results_by_agent.entry(agent).or_insert_with(|| json!({}));
        own[&*call.name] = result.clone();
        self.results.insert(call.name.to_string(), result);
    }

    /// The variables of templates and expressions.
    pub(super) fn scope(&self, request: &ModelRequest) -> Scope {
        let mut scope = Scope::default();
        scope.set("agent", &request.agent.as_ref().into());
        scope.set("turn", &self.turn.into());
        scope.set("messages", &self.messages.into());
        scope.set("id", &self.id.as_str().into());
        scope.set("input", &self.input.as_str().into());
        scope.set("last", &self.last.as_str().into());
        scope.set("text", &self.text.as_str().into());
        scope.set("captures", &json!({}));
        scope.set("called", &json!(self.called));
        scope.set("answers", &json!(self.answers));
        scope.set("answers_by_agent", &json!(self.answers_by_agent));
        scope.set("results", &json!(self.results));
        scope.set("results_by_agent", &json!(self.results_by_agent));
        scope.set("outputs", &json!(self.outputs));
        scope
    }
}

/// A result with its failure visible.
fn outcome(content: &Value, is_error: bool) -> Value {
    if is_error && content.get("error").is_none() {
        json!({ "error": content })
    } else {
        content.clone()
    }
}

fn message_text(message: &Message) -> String {
    message.parts.iter().map(part_text).collect::<Vec<_>>().join("\n")
}

/// A part as text that a pattern can be looked for in.
pub(super) fn part_text(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::ToolCall(call) => format!("{}({})", call.name, call.arguments),
        Part::ToolResult(result) => match &result.content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
        // Stands for text that is elsewhere in the journal; a model never sees it.
        _ => String::new(),
    }
}
