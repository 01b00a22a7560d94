//! What a client sends.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use signoff_core::text::digest;
use signoff_core::{ConversationId, RequestId};

use crate::api;
use crate::error::{ApiError, Problem};
use crate::extract::from_value;

/// The longest id of a thread or a run, in bytes.
const MAX_ID: usize = 1024;
/// The most answers at once.
const MAX_ANSWERS: usize = 256;

/// A run of the protocol, as AG-UI calls it. What has no meaning here is left alone: `tools`, `context`,
/// `forwardedProps`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunAgentInput {
    /// The conversation.
    #[schemars(length(min = 1, max = 1024))]
    thread_id: String,
    /// The client's name for this call. The same again starts and answers nothing.
    #[schemars(length(min = 1, max = 1024))]
    run_id: String,
    /// The call before it; given back.
    parent_run_id: Option<String>,
    /// The version the client speaks, from 1.0 on.
    protocol_version: Option<String>,
    /// The client's state. It is given back with `signoff` in it.
    #[serde(default)]
    state: Value,
    /// What was said as the client knows it. If the last one is a user's, that is the input of a new run.
    #[schemars(with = "Vec<AgUiMessage>")]
    messages: Vec<Value>,
    /// The answers to interrupts; all that are open.
    #[schemars(length(max = 256))]
    resume: Option<Vec<AgUiResume>>,
}

/// A message.
#[derive(Debug, Deserialize, JsonSchema)]
struct AgUiMessage {
    /// Its id.
    #[allow(dead_code)]
    id: String,
    /// Whose it is.
    role: AgUiRole,
    /// Text, or a list of parts.
    #[serde(default)]
    content: Value,
}

/// Whose a message is.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AgUiRole {
    Developer,
    System,
    Assistant,
    User,
    Tool,
    Activity,
    Reasoning,
}

/// The answer to an interrupt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgUiResume {
    /// The interrupt, which is a request.
    interrupt_id: String,
    /// Whether it was answered or given up.
    status: AgUiStatus,
    /// The answer; must fit the interrupt's `responseSchema`.
    payload: Option<Value>,
}

/// Whether an interrupt was answered.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AgUiStatus {
    Resolved,
    Cancelled,
}

/// The same, read.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) thread: String,
    pub(super) run: String,
    pub(super) parent: Option<String>,
    pub(super) conversation: ConversationId,
    /// Whether the client knows the events that came with 1.0.
    pub(super) modern: bool,
    pub(super) state: Map<String, Value>,
    pub(super) messages: Vec<Value>,
    /// What a user has said last, and nobody after that.
    pub(super) said: Option<String>,
    pub(super) resume: Vec<Answer>,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) request: RequestId,
    /// None, if it was given up.
    pub(super) payload: Option<Value>,
}

impl Input {
    pub(super) fn read(body: Value) -> Result<Self, ApiError> {
        let input: RunAgentInput = from_value(body)?;
        for (name, id) in [("threadId", &input.thread_id), ("runId", &input.run_id)] {
            if id.is_empty() || id.len() > MAX_ID {
                return Err(wrong(format!("`{name}` has between 1 and {MAX_ID} bytes")));
            }
        }
        let said = said(&input.messages)?;
        let resume = answers(input.resume.unwrap_or_default())?;
        Ok(Self {
            conversation: conversation(&input.thread_id),
            thread: input.thread_id,
            run: input.run_id,
            parent: input.parent_run_id,
            modern: input.protocol_version.is_some(),
            state: match input.state {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
            messages: input.messages,
            said,
            resume,
        })
    }

    /// The name of what this starts, among everything that the tenant starts.
    pub(super) fn key(&self, workflow: &str) -> String {
        // Lengths keep the parts apart, whatever they contain.
        let parts = [workflow, self.conversation.as_str(), &self.run];
        format!("ag-ui {}", parts.map(|part| format!("{}:{part}", part.len())).join(";"))
    }
}

/// A thread as a conversation: as it is, if that can be one.
fn conversation(thread: &str) -> ConversationId {
    // Marked with a letter that is no hexadecimal digit: it never is an id made otherwise.
    let made = || ConversationId::from_unique(&format!("t{}", digest(thread, 32)));
    api::conversation(thread).unwrap_or_else(|_| made())
}

/// The text of the last message, if it is a user's.
fn said(messages: &[Value]) -> Result<Option<String>, ApiError> {
    let mut last = None;
    for (n, message) in messages.iter().enumerate() {
        let read = serde_json::from_value(message.clone());
        last = Some(read.map_err(|error| wrong(format!("/messages/{n}: {error}")))?);
    }
    let Some(AgUiMessage { role: AgUiRole::User, content, .. }) = last else { return Ok(None) };
    match &content {
        Value::String(text) => Ok(Some(text.clone())),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            let texts = texts.ok_or_else(|| wrong("only text can be sent here".to_owned()))?;
            Ok(Some(texts.join("\n")))
        }
        _ => Err(wrong("a message of a user has `content`: text or a list of parts".to_owned())),
    }
}

fn answers(resume: Vec<AgUiResume>) -> Result<Vec<Answer>, ApiError> {
    if resume.len() > MAX_ANSWERS {
        return Err(wrong(format!("at most {MAX_ANSWERS} interrupts can be answered at once")));
    }
    let mut answers: Vec<Answer> = Vec::new();
    for AgUiResume { interrupt_id: id, status, payload } in resume {
        if answers.iter().any(|answer| answer.request.as_str() == id) {
            return Err(wrong(format!("`resume` answers `{id}` twice")));
        }
        let payload = match status {
            AgUiStatus::Cancelled => None,
            AgUiStatus::Resolved => Some(payload.unwrap_or_default()),
        };
        answers.push(Answer { request: RequestId::new(id), payload });
    }
    Ok(answers)
}

fn wrong(message: String) -> ApiError {
    ApiError::new(Problem::InvalidBody, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_a_conversation() {
        assert_eq!(conversation("c-1_2.3").as_str(), "c-1_2.3");
        let odd = conversation("a thread/ü");
        assert_eq!(odd, conversation("a thread/ü"));
        assert_ne!(odd, conversation("a thread/u"));
        assert!(odd.as_str().starts_with("conv_t") && api::conversation(odd.as_str()).is_ok());
    }
}
