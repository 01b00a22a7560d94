//! Requests read back from the wire.

use std::sync::Arc;

use serde_json::Value;
use signoff_core::message::{ToolCall, ToolResult};
use signoff_core::{Effects, Message, Name, Part, Role, ToolSpec};
use signoff_models::ModelRequest;

/// The tool by which agents ask people: its results are people's answers.
const ASK: &str = "request_user_input";
/// How the part of the system prompt begins that is not the workflow's.
const NOTE: &str = "You are `";

/// What a wire request says, in order.
enum Said {
    Other(String),
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: Value,
    },
    Result {
        id: String,
        content: String,
        is_error: bool,
    },
    /// The end of a reply of the agent.
    End,
}

pub(super) fn responses(body: &Value) -> ModelRequest {
    let mut said = Vec::new();
    let mut own = false;
    for item in body["input"].as_array().into_iter().flatten() {
        let is_own = item["role"] == "assistant" || item["type"] == "function_call";
        if own && !is_own {
            said.push(Said::End);
        }
        own = is_own;
        match text(item, "type") {
            "message" => {
                for part in item["content"].as_array().into_iter().flatten() {
                    let text = text(part, "text").to_owned();
                    said.push(if is_own { Said::Text(text) } else { Said::Other(text) });
                }
            }
            "function_call" => said.push(call(item, "call_id", &item["name"], &item["arguments"])),
            "function_call_output" => said.push(result(item, "call_id", text(item, "output"))),
            _ => {}
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools = tools.map(|tool| spec(tool, "parameters")).collect();
    let schema = body["text"]["format"].get("schema");
    request(text(body, "instructions"), said, tools, schema)
}

pub(super) fn chat(body: &Value) -> ModelRequest {
    let mut said = Vec::new();
    let mut system = "";
    for message in body["messages"].as_array().into_iter().flatten() {
        let content = text(message, "content");
        match text(message, "role") {
            "system" => system = content,
            "user" => said.extend(split(content).into_iter().map(Said::Other)),
            "tool" => said.push(result(message, "tool_call_id", content)),
            _ => {
                if !content.is_empty() {
                    said.push(Said::Text(content.to_owned()));
                }
                for one in message["tool_calls"].as_array().into_iter().flatten() {
                    let function = &one["function"];
                    said.push(call(one, "id", &function["name"], &function["arguments"]));
                }
                said.push(Said::End);
            }
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools = tools.map(|tool| spec(&tool["function"], "parameters")).collect();
    let schema = body["response_format"]["json_schema"].get("schema");
    request(system, said, tools, schema)
}

pub(super) fn messages(body: &Value) -> ModelRequest {
    let mut said = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let own = message["role"] == "assistant";
        for block in message["content"].as_array().into_iter().flatten() {
            let words = text(block, "text").to_owned();
            match text(block, "type") {
                "text" if own => said.push(Said::Text(words)),
                "text" => said.push(Said::Other(words)),
                "tool_use" => said.push(call(block, "id", &block["name"], &block["input"])),
                "tool_result" => said.push(result(block, "tool_use_id", text(block, "content"))),
                _ => {}
            }
        }
        if own {
            said.push(Said::End);
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools = tools.map(|tool| spec(tool, "input_schema")).collect();
    request(text(body, "system"), said, tools, body["output_config"]["format"].get("schema"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn call(value: &Value, id: &str, name: &Value, arguments: &Value) -> Said {
    let arguments = match arguments {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        other => other.clone(),
    };
    Said::Call {
        id: text(value, id).to_owned(),
        name: name.as_str().unwrap().to_owned(),
        arguments,
    }
}

fn result(value: &Value, id: &str, content: &str) -> Said {
    let is_error = value["is_error"] == true;
    Said::Result { id: text(value, id).to_owned(), content: content.to_owned(), is_error }
}

fn spec(tool: &Value, parameters: &str) -> ToolSpec {
    ToolSpec {
        name: text(tool, "name").into(),
        description: text(tool, "description").to_owned(),
        parameters: tool[parameters].clone(),
        effects: Effects::default(),
    }
}

fn request(
    system: &str,
    said: Vec<Said>,
    tools: Vec<ToolSpec>,
    schema: Option<&Value>,
) -> ModelRequest {
    let at = system.rfind(NOTE).unwrap_or(system.len());
    let (instructions, note) = system.split_at(at);
    let agent = note.strip_prefix(NOTE).and_then(|note| note.split('`').next()).unwrap_or("agent");
    let mut conversation = Conversation { agent: agent.into(), ..Conversation::default() };
    for said in said {
        conversation.hear(said);
    }
    ModelRequest {
        agent: agent.into(),
        model: "wire".into(),
        turn: conversation.replies,
        instructions: instructions.trim_end_matches("\n\n").into(),
        messages: conversation.messages.into_iter().map(Arc::new).collect(),
        tools: tools.into(),
        output: schema.cloned().map(Arc::new),
        sent: None,
    }
}

/// A conversation read back, message by message.
#[derive(Default)]
struct Conversation {
    agent: Name,
    messages: Vec<Message>,
    questions: Vec<String>,
    replies: u32,
}

impl Conversation {
    fn hear(&mut self, said: Said) {
        match said {
            Said::End => self.replies += 1,
            Said::Text(text) => {
                let agent = self.agent.clone();
                self.part(&agent, Part::Text(text));
            }
            Said::Call { id, name, arguments } => {
                let agent = self.agent.clone();
                self.call(&agent, id, &name, arguments);
            }
            Said::Result { id, content, is_error } => {
                let agent = self.agent.clone();
                self.result(&agent, id, &content, is_error, None);
            }
            Said::Other(text) => self.other(&text),
        }
    }

    /// Somebody else's words, or deeds in words.
    fn other(&mut self, text: &str) {
        let Some((mark, content)) = marked(text) else {
            self.messages.push(Message::user(text));
            return;
        };
        let words: Vec<&str> = mark.split(' ').collect();
        let id = |word: &str| word.trim_start_matches('#').to_owned();
        match words[..] {
            [agent, "called", tool, at] => {
                let arguments = serde_json::from_str(content).unwrap();
                self.call(&agent.into(), id(at), tool, arguments);
            }
            [_, at, how @ ("gave" | "failed")] => {
                let id = id(at);
                let agent = self.caller(&id);
                self.result(&agent, id, content, how == "failed", None);
            }
            [person, "answered", at] => {
                let id = id(at);
                let agent = self.caller(&id);
                self.result(&agent, id, content, false, Some(person));
            }
            ["user"] => self.messages.push(Message::user(content)),
            _ => self.part(&mark.into(), Part::Text(content.to_owned())),
        }
    }

    fn call(&mut self, agent: &Name, id: String, name: &str, arguments: Value) {
        if name == ASK {
            self.questions.push(id.clone());
        }
        self.part(agent, Part::ToolCall(ToolCall { id, name: name.into(), arguments }));
    }

    fn result(&mut self, agent: &Name, id: String, text: &str, is_error: bool, by: Option<&str>) {
        let content = match serde_json::from_str(text) {
            Ok(content @ (Value::Object(_) | Value::Array(_))) => content,
            _ => Value::String(text.to_owned()),
        };
        let asked = self.questions.contains(&id);
        let part = Part::ToolResult(ToolResult { id, content, is_error });
        if asked {
            let author = by.map(Into::into);
            self.messages.push(Message { role: Role::Tool, author, parts: vec![part] });
        } else {
            self.part(agent, part);
        }
    }

    fn caller(&self, id: &str) -> Name {
        let calls = |part: &Part| matches!(part, Part::ToolCall(call) if call.id == id);
        let message = self.messages.iter().rev().find(|message| message.parts.iter().any(calls));
        message.and_then(|message| message.author.clone()).unwrap_or_else(|| "unknown".into())
    }

    /// Adds to the agent's message, which is the last one or a new one.
    fn part(&mut self, agent: &Name, part: Part) {
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Assistant && last.author.as_ref() == Some(agent) => {
                last.parts.push(part);
            }
            _ => self.messages.push(Message {
                role: Role::Assistant,
                author: Some(agent.clone()),
                parts: vec![part],
            }),
        }
    }
}

/// `[mark]: content`.
fn marked(text: &str) -> Option<(&str, &str)> {
    let (mark, content) = text.strip_prefix('[')?.split_once("]: ")?;
    (!mark.contains(['\n', '[', ']'])).then_some((mark, content))
}

/// The texts that one user message was made of.
fn split(content: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for piece in content.split("\n\n") {
        match texts.last_mut() {
            Some(before) if marked(piece).is_none() => {
                before.push_str("\n\n");
                before.push_str(piece);
            }
            _ => texts.push(piece.to_owned()),
        }
    }
    texts
}
