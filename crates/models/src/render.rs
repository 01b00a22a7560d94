//! A conversation as one agent's model is to see it, before any protocol writes it down.
//!
//! | who said it | what the model sees |
//! |---|---|
//! | the asking agent | its own turns, with tool calls and results as the protocol has them |
//! | a user without a name | the text; behind other text, or where it could be taken for a mark, `[user]: text` |
//! | a user with a name, another agent | `[name]: text` |
//! | another agent, calling a tool | `[name called tool #id]: {arguments}` |
//! | a tool another agent called | `[tool #id gave]: result` or `[tool #id failed]: error` |
//! | a person answering another agent | `[person answered #id]: result` |
//!
//! Protocols want results right behind their calls, so an answer that came late is moved there; a call
//! that has none yet gets a result that says so. What the model sees ends with somebody else's words.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use signoff_core::message::{ToolCall, ToolResult};
use signoff_core::{Message, Part, Role};

use crate::provider::ModelRequest;
use crate::wire_name::{CallIds, ToolNames};

/// What is said when nobody else has said anything.
const GO_ON: &str = "Go on.";

/// A stretch of the conversation.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn {
    /// Others speak, one text each.
    Others(Vec<String>),
    /// The asking agent speaks.
    Own(Vec<Own>),
    /// What the calls of the turn before gave, in the order of the calls.
    Results(Vec<Outcome>),
}

/// Something the asking agent said.
#[derive(Debug, PartialEq)]
pub(crate) enum Own {
    /// Text.
    Text(String),
    /// A tool call. The arguments are an object, always.
    Call { id: String, name: String, arguments: Value },
}

/// What a call gave.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    pub(crate) content: String,
    pub(crate) is_error: bool,
}

impl Outcome {
    /// The content for a protocol that cannot say that it is an error.
    pub(crate) fn plain(&self) -> String {
        let says_so = || {
            serde_json::from_str::<Value>(&self.content)
                .is_ok_and(|content| content.get("error").is_some())
        };
        if self.is_error && !says_so() {
            json!({ "error": self.content }).to_string()
        } else {
            self.content.clone()
        }
    }
}

/// The system prompt: the agent's instructions, who it is, and (where the protocol has no way of its
/// own) the shape of its answer.
pub(crate) fn system(request: &ModelRequest, schema: Option<&Value>) -> String {
    let mut text = String::from(&*request.instructions);
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str("You are `");
    text.push_str(&request.agent);
    text.push_str(
        "` in this conversation. What begins with a name in square brackets was said or done by that \
         participant; do not begin your own words like that.",
    );
    if let Some(schema) = schema {
        text.push_str(
            "\n\nWhen you give your final answer, reply with nothing but one JSON value that fits this \
             JSON Schema, without a code fence:\n",
        );
        text.push_str(&schema.to_string());
    }
    text
}

/// The conversation in turns.
pub(crate) fn turns(request: &ModelRequest, names: &ToolNames) -> Vec<Turn> {
    let mut renderer = Renderer {
        agent: &request.agent,
        names,
        links: Links::of(&request.messages),
        own: HashSet::new(),
        turns: Vec::new(),
    };
    for (index, message) in request.messages.iter().enumerate() {
        renderer.message(index, message);
    }
    let mut turns = renderer.turns;
    if matches!(turns.first(), Some(Turn::Own(_)) | None) {
        turns.insert(0, Turn::Others(vec![GO_ON.to_owned()]));
    }
    if matches!(turns.last(), Some(Turn::Own(_))) {
        turns.push(Turn::Others(vec![GO_ON.to_owned()]));
    }
    turns
}

/// A part's place: message, part.
type Place = (usize, usize);

/// Which result belongs to which call, and what the wire calls them.
struct Links<'a> {
    results: HashMap<Place, &'a ToolResult>,
    calls: HashMap<Place, (&'a ToolCall, Place)>,
    ids: HashMap<Place, String>,
}

impl<'a> Links<'a> {
    fn of(messages: &'a [std::sync::Arc<Message>]) -> Self {
        let mut ids = CallIds::default();
        let mut links =
            Self { results: HashMap::new(), calls: HashMap::new(), ids: HashMap::new() };
        // Ids need only be unique in their turn: a result answers the latest call of its id.
        let mut latest: HashMap<&str, (&ToolCall, Place)> = HashMap::new();
        for (at, message) in messages.iter().enumerate() {
            for (index, part) in message.parts.iter().enumerate() {
                match part {
                    Part::ToolCall(call) => {
                        latest.insert(&call.id, (call, (at, index)));
                        links.ids.insert((at, index), ids.add(&call.id));
                    }
                    Part::ToolResult(result) => {
                        if let Some(&(call, place)) = latest.get(result.id.as_str()) {
                            links.results.entry(place).or_insert(result);
                            links.calls.insert((at, index), (call, place));
                        }
                    }
                    _ => {}
                }
            }
        }
        links
    }
}

struct Renderer<'a> {
    agent: &'a str,
    names: &'a ToolNames,
    links: Links<'a>,
    /// The agent's own calls; their results stand behind them already.
    own: HashSet<Place>,
    turns: Vec<Turn>,
}

impl Renderer<'_> {
    fn message(&mut self, at: usize, message: &Message) {
        let author = message.author.as_deref();
        let own = message.role == Role::Assistant && author.is_none_or(|name| name == self.agent);
        let mut said: Vec<(Own, Place)> = Vec::new();
        for (index, part) in message.parts.iter().enumerate() {
            let place = (at, index);
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) if own => said.push((Own::Text(text.clone()), place)),
                Part::Text(text) => self.words(author, text),
                Part::ToolCall(call) if own => {
                    let id = self.links.ids.get(&place).cloned().unwrap_or_default();
                    let name = self.names.wire(&call.name);
                    let arguments = object(&call.arguments);
                    said.push((Own::Call { id, name, arguments }, place));
                }
                Part::ToolCall(call) => {
                    let id = self.links.ids.get(&place).cloned().unwrap_or_default();
                    let author = author.unwrap_or("user");
                    let mark = format!("{author} called {} #{id}", call.name);
                    self.others(format!("[{mark}]: {}", call.arguments));
                }
                Part::ToolResult(result) => {
                    self.speak(&mut said);
                    self.result(place, author.filter(|_| message.role == Role::Tool), result);
                }
                Part::Effect(_) | Part::Input => {}
            }
        }
        self.speak(&mut said);
    }

    /// Words of somebody else.
    fn words(&mut self, author: Option<&str>, text: &str) {
        let first = !matches!(self.turns.last(), Some(Turn::Others(_)));
        match author {
            None if first && !text.starts_with('[') => self.others(text.to_owned()),
            author => self.others(format!("[{}]: {text}", author.unwrap_or("user"))),
        }
    }

    /// A result that is not where its call is: another agent's, or one whose call is not there.
    fn result(&mut self, place: Place, person: Option<&str>, result: &ToolResult) {
        let content = text_of(&result.content);
        let mark = match self.links.calls.get(&place) {
            Some((call, from)) => {
                if self.own.contains(from) {
                    return;
                }
                let id = self.links.ids.get(from).map(String::as_str).unwrap_or_default();
                match person {
                    Some(person) => format!("{person} answered #{id}"),
                    None if result.is_error => format!("{} #{id} failed", call.name),
                    None => format!("{} #{id} gave", call.name),
                }
            }
            None if result.is_error => "an earlier call failed".to_owned(),
            None => "an earlier call gave".to_owned(),
        };
        self.others(format!("[{mark}]: {content}"));
    }

    fn others(&mut self, text: String) {
        match self.turns.last_mut() {
            Some(Turn::Others(texts)) => texts.push(text),
            _ => self.turns.push(Turn::Others(vec![text])),
        }
    }

    /// Ends what the agent said, with the results of its calls.
    fn speak(&mut self, said: &mut Vec<(Own, Place)>) {
        let said = std::mem::take(said);
        if said.is_empty() {
            return;
        }
        let mut results = Vec::new();
        for (own, place) in &said {
            let Own::Call { id, .. } = own else { continue };
            self.own.insert(*place);
            let result = self.links.results.get(place);
            results.push(Outcome {
                id: id.clone(),
                content: result.map_or_else(
                    || json!({ "error": "there is no result yet" }).to_string(),
                    |result| text_of(&result.content),
                ),
                is_error: result.is_none_or(|result| result.is_error),
            });
        }
        let said = said.into_iter().map(|(own, _)| own);
        match self.turns.last_mut() {
            Some(Turn::Own(before)) => before.extend(said),
            _ => self.turns.push(Turn::Own(said.collect())),
        }
        if !results.is_empty() {
            self.turns.push(Turn::Results(results));
        }
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Arguments as an object, whatever the model made of them.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        other => json!({ "invalid": other }),
    }
}
