//! What a client sends to make a response. Fields that mean nothing here are left alone.

use serde_json::{Map, Value};
use signoff_core::{ConversationId, RequestId};

use super::fault::{Fault, InParam as _};
use super::id::ResponseId;
use crate::api;

/// A response to make.
#[derive(Debug)]
pub(super) struct Create {
    /// The workflow.
    pub(super) workflow: Option<String>,
    pub(super) conversation: Option<ConversationId>,
    /// The response it goes on from.
    pub(super) previous: Option<ResponseId>,
    /// The request it answers, where the client says so.
    pub(super) request: Option<RequestId>,
    pub(super) stream: bool,
    pub(super) background: bool,
    /// Whether the client is a page of `DevUI`, or speaks as one.
    pub(super) devui: bool,
    /// The place in a journal that it wants to go on from.
    pub(super) checkpoint: Option<String>,
    /// The input, if it is a value of its own or text.
    pub(super) value: Option<Value>,
    /// Answers that name their requests.
    pub(super) answers: Vec<(RequestId, Value)>,
}

impl Create {
    pub(super) fn read(body: &Value) -> Result<Self, Fault> {
        let Value::Object(fields) = body else {
            return Err(Fault::invalid("body", "the body must be an object"));
        };
        let metadata = match fields.get("metadata") {
            None | Some(Value::Null) => &Map::new(),
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return Err(Fault::invalid("metadata", "`metadata` must be an object")),
        };
        let extra = fields.get("extra_body").and_then(Value::as_object);
        let model = text(fields, "model")?;
        let page = text(metadata, "entity_id")?;
        let checkpoint = match text(fields, "checkpoint_id")? {
            None => extra.map(|extra| text(extra, "checkpoint_id")).transpose()?.flatten(),
            named => named,
        };
        let devui = page.is_some();
        let entity = match page.or(text(fields, "entity_id")?) {
            None => extra.map(|extra| text(extra, "entity_id")).transpose()?.flatten(),
            named => named,
        };
        let conversation = match fields.get("conversation") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id),
            Some(Value::Object(of)) => match of.get("id") {
                Some(Value::String(id)) => Some(id),
                _ => return Err(Fault::invalid("conversation", "`conversation.id` must be text")),
            },
            Some(_) => {
                return Err(Fault::invalid("conversation", "`conversation` must be an id"));
            }
        };
        let conversation = conversation
            .map(|id| api::conversation(id).map_err(|error| error.in_param("conversation")))
            .transpose()?;
        let previous = match text(fields, "previous_response_id")? {
            Some(id) => Some(ResponseId::read(&id).ok_or_else(|| Fault::unknown_response(&id))?),
            None => None,
        };
        if conversation.is_some() && previous.is_some() {
            let what = "`conversation` and `previous_response_id` cannot both be given";
            return Err(Fault::invalid("conversation", what));
        }
        let mut create = Self {
            workflow: entity.or(model),
            conversation,
            previous,
            request: text(metadata, "request_id")?.map(RequestId::new),
            stream: flag(fields, "stream")?,
            background: flag(fields, "background")?,
            devui,
            checkpoint,
            value: None,
            answers: Vec::new(),
        };
        create.input(fields.get("input").unwrap_or(&Value::Null))?;
        Ok(create)
    }

    /// Whether the input can only be meant to start a run. A page sends answers by their requests, and the
    /// input of a run as an object that was written as text.
    pub(super) fn is_start(&self) -> bool {
        let text = match &self.value {
            Some(Value::String(text)) => text.trim_start(),
            Some(Value::Object(_)) => "{",
            _ => return false,
        };
        self.devui && text.starts_with('{')
    }

    fn input(&mut self, input: &Value) -> Result<(), Fault> {
        match input {
            Value::Null => {}
            Value::String(said) => match items(said) {
                Some(items) => self.items(&items)?,
                None => self.value = Some(input.clone()),
            },
            Value::Array(items) => self.items(items)?,
            Value::Object(_) => self.value = Some(input.clone()),
            _ => return Err(wrong("`input` must be text or a list of items")),
        }
        let nothing = self.value.is_none() && self.answers.is_empty();
        if nothing && self.checkpoint.is_none() {
            return Err(wrong("`input` says nothing"));
        }
        Ok(())
    }

    fn items(&mut self, items: &[Value]) -> Result<(), Fault> {
        let mut said = Vec::new();
        for item in items {
            match item["type"].as_str() {
                None | Some("message") => self.message(item, &mut said)?,
                Some("function_call_output") => {
                    let Some(id) = item["call_id"].as_str() else {
                        return Err(wrong("a `function_call_output` names its `call_id`"));
                    };
                    let output = output(&item["output"])?;
                    self.answers.push((RequestId::new(id), output));
                }
                // What was said before, sent again: it is in the journal.
                Some("function_call" | "reasoning" | "item_reference") => {}
                Some(other) => {
                    return Err(wrong(format!("items of type `{other}` mean nothing here")));
                }
            }
        }
        if !said.is_empty() {
            self.value = Some(said.join("\n").into());
        }
        Ok(())
    }

    fn message(&mut self, item: &Value, said: &mut Vec<String>) -> Result<(), Fault> {
        let role = item["role"].as_str().unwrap_or("user");
        let parts = match &item["content"] {
            Value::String(text) => {
                if role == "user" {
                    said.push(text.clone());
                }
                return Ok(());
            }
            Value::Array(parts) => parts,
            _ => return Err(wrong("a message has `content`: text or a list of parts")),
        };
        for part in parts {
            match part["type"].as_str() {
                Some("input_text" | "output_text" | "text") => match part["text"].as_str() {
                    Some(text) if role == "user" => said.push(text.to_owned()),
                    Some(_) => {}
                    None => return Err(wrong("a part of type text has `text`")),
                },
                Some("workflow_hil_response") => {
                    let Some(responses) = part["responses"].as_object() else {
                        return Err(wrong("`responses` is an object: answers by request id"));
                    };
                    let named =
                        responses.iter().map(|(id, it)| (RequestId::new(id.as_str()), it.clone()));
                    self.answers.extend(named);
                }
                Some("function_approval_response") => match part["request_id"].as_str() {
                    Some(id) => self.answers.push((RequestId::new(id), part.clone())),
                    None => return Err(wrong("a `function_approval_response` has `request_id`")),
                },
                _ => return Err(wrong("only text can be sent here")),
            }
        }
        Ok(())
    }
}

fn wrong(message: impl Into<String>) -> Fault {
    Fault::invalid("input", message)
}

fn text(fields: &Map<String, Value>, name: &'static str) -> Result<Option<String>, Fault> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Fault::invalid(name, format!("`{name}` must be text"))),
    }
}

fn flag(fields: &Map<String, Value>, name: &'static str) -> Result<bool, Fault> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Fault::invalid(name, format!("`{name}` must be true or false"))),
    }
}

/// A list of items that was sent as text.
fn items(text: &str) -> Option<Vec<Value>> {
    let items: Vec<Value> = serde_json::from_str(text.trim()).ok()?;
    let is_item = |item: &Value| item["type"].is_string() || item["role"].is_string();
    (!items.is_empty() && items.iter().all(is_item)).then_some(items)
}

/// What a function gave: an object that was written as text, or text.
fn output(output: &Value) -> Result<Value, Fault> {
    let text = match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            texts.ok_or_else(|| wrong("only text can be sent here"))?.join("\n")
        }
        _ => return Err(wrong("a `function_call_output` has `output`: text")),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
        _ => Ok(Value::String(text)),
    }
}
