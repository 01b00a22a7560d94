//! `request_user_input`: how an agent asks a person.
//!
//! The tool is never *performed*: the engine turns a call into a request, parks the run, and gives the
//! decision back as the call's result. This module owns both translations. Whatever is wrong with a call
//! is told to the agent in words it can act on.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use signoff_core::{Decision, Effects, RequestBody, ToolSpec, choices, schema};

/// The name under which agents call it.
pub const REQUEST_USER_INPUT: &str = "request_user_input";

/// The longest question, in bytes.
const MAX_PROMPT_BYTES: usize = 16 * 1024;
/// The largest context, in bytes of JSON.
const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// How the tool presents itself to agents.
pub fn request_user_input() -> ToolSpec {
    ToolSpec {
        name: REQUEST_USER_INPUT.into(),
        description: "Ask the person you work for, and wait for the answer. Use it only when you cannot \
                      go on sensibly without: an essential fact is missing, a choice is a matter of taste, \
                      or a commitment needs consent. Ask one thing at a time, and read the conversation \
                      first: what was said there must not be asked again.\n\
                      - clarification: a question answered in free text. Result: {\"answer\": text}.\n\
                      - selection: put the choices into context.options, as strings or as objects with \
                      `value`, `label` and `description`. Result: {\"answer\": value, \"selected\": the \
                      option}.\n\
                      - approval: put what you propose into context.proposal, as an object with plain \
                      fields; the person may change the fields. Result: {\"decision\": \"approve\" or \
                      \"edit\", \"value\": what counts now} or {\"decision\": \"reject\", \"reason\"?}."
            .into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "prompt": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The question, complete in itself: the person may not have read the conversation."
                },
                "context": {
                    "type": "object",
                    "description": "What the person should see to answer: `options` for a selection, `proposal` for an approval, and anything else that helps."
                },
                "request_type": {
                    "type": "string",
                    "enum": ["clarification", "selection", "approval"],
                    "description": "What kind of answer you need."
                }
            },
            "required": ["prompt", "request_type"],
            "additionalProperties": false
        }),
        effects: Effects::READ_ONLY,
    }
}

/// What kind of answer an agent needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Clarification,
    Selection,
    Approval,
}

/// A call of [`REQUEST_USER_INPUT`].
#[derive(Clone, Debug, PartialEq)]
pub struct UserInput {
    prompt: String,
    context: Map<String, Value>,
    kind: Kind,
}

impl UserInput {
    /// Reads a call's arguments. The error is meant for the agent.
    pub fn parse(arguments: &Value) -> Result<Self, String> {
        let Some(fields) = arguments.as_object() else {
            return Err("the arguments must be an object with `prompt` and `request_type`".into());
        };
        let known = ["prompt", "context", "request_type"];
        if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "unknown argument `{name}`; there are `prompt`, `context` and `request_type`, and data \
                 belongs into `context`"
            ));
        }
        let prompt = match fields.get("prompt") {
            Some(Value::String(text)) if !text.trim().is_empty() => text.trim(),
            Some(Value::String(_)) | None => {
                return Err("`prompt` is missing: what is the question?".into());
            }
            Some(_) => return Err("`prompt` must be text".into()),
        };
        if prompt.len() > MAX_PROMPT_BYTES {
            return Err(format!(
                "`prompt` has {} bytes, at most {MAX_PROMPT_BYTES} are accepted: ask briefly and put data \
                 into `context`",
                prompt.len()
            ));
        }
        let kind = match fields.get("request_type").and_then(Value::as_str) {
            Some("clarification") => Kind::Clarification,
            Some("selection") => Kind::Selection,
            Some("approval") => Kind::Approval,
            _ => {
                return Err(
                    "`request_type` must be `clarification`, `selection` or `approval`".into()
                );
            }
        };
        Ok(Self { prompt: prompt.to_owned(), context: context(fields.get("context"))?, kind })
    }

    /// The question.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The request a person sees. Who asks and until when is for the caller to add.
    pub fn to_request(&self) -> Result<RequestBody, String> {
        let mut body = match self.kind {
            Kind::Clarification => RequestBody::input(&self.prompt),
            Kind::Selection => {
                let choices = choices::choices(self.options()?)?;
                RequestBody::selection(&self.prompt, choices)
            }
            Kind::Approval => {
                RequestBody::approval(&self.prompt, self.proposal().cloned().unwrap_or(Value::Null))
            }
        };
        // A request whose answers cannot be checked could never be answered.
        schema::compile(&body.response_schema)
            .map_err(|problem| format!("`context` cannot be asked about: {problem}"))?;
        let mut context = self.context.clone();
        if let Some(proposal) = body.proposal() {
            context.insert("proposal".into(), proposal.clone());
        }
        body.context = if context.is_empty() { Value::Null } else { Value::Object(context) };
        Ok(body)
    }

    /// What the agent gets back for `decision`.
    pub fn result(&self, decision: &Decision) -> Value {
        match (self.kind, decision) {
            (Kind::Selection, Decision::Respond { content }) => {
                let selected = self.options().ok().and_then(|all| choices::find(all, content));
                json!({ "answer": content, "selected": selected.unwrap_or(content) })
            }
            (_, Decision::Respond { content }) => json!({ "answer": content }),
            (Kind::Approval, Decision::Approve { note, .. }) => {
                let mut result = json!({ "decision": "approve", "value": self.proposal() });
                if let Some(note) = note {
                    result["note"] = note.as_str().into();
                }
                result
            }
            // How the run goes on after a rejection is the engine's affair, not the agent's.
            (_, Decision::Reject { reason, .. }) => match reason {
                Some(reason) => json!({ "decision": "reject", "reason": reason }),
                None => json!({ "decision": "reject" }),
            },
            (_, other) => serde_json::to_value(other)
                .unwrap_or_else(|_| json!({ "decision": other.kind().as_str() })),
        }
    }

    /// The choices as the agent gave them: `options`, or the only list there is.
    fn options(&self) -> Result<&[Value], String> {
        let hint = "a selection needs its choices as a list in `context.options`";
        if let Some(options) = self.context.get("options") {
            return options.as_array().map(Vec::as_slice).ok_or_else(|| hint.to_owned());
        }
        let mut lists = self.context.values().filter_map(Value::as_array);
        match (lists.next(), lists.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(hint.into()),
            (Some(_), Some(_)) => Err(format!("`context` holds several lists: {hint}")),
        }
    }

    /// What is proposed: `proposal`, or the only object there is.
    fn proposal(&self) -> Option<&Value> {
        if let Some(proposal) = self.context.get("proposal") {
            return Some(proposal);
        }
        let mut objects = self.context.values().filter(|value| value.is_object());
        match (objects.next(), objects.next()) {
            (only @ Some(_), None) => only,
            _ => None,
        }
    }
}

/// The context as an object. Models often send it as text or as a bare list; both are understood.
fn context(value: Option<&Value>) -> Result<Map<String, Value>, String> {
    let context = match value {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(fields)) => fields.clone(),
        Some(list @ Value::Array(_)) => one_field("options", list.clone()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => fields,
            Ok(list @ Value::Array(_)) => one_field("options", list),
            _ if text.trim().is_empty() => Map::new(),
            _ => one_field("note", text.as_str().into()),
        },
        Some(_) => return Err("`context` must be an object".into()),
    };
    let size = serde_json::to_string(&context).map_or(usize::MAX, |text| text.len());
    if size > MAX_CONTEXT_BYTES {
        return Err(format!(
            "`context` has {size} bytes, at most {MAX_CONTEXT_BYTES} are accepted: show less"
        ));
    }
    Ok(context)
}

fn one_field(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}
