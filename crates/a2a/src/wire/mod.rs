//! The words of the protocol.
//!
//! Written in the form of 1.0; [`old`] writes what 0.3 wants instead. Read in either form, wherever it
//! comes from: there are servers that mix them. [`Event`] is what a server tells, [`Told`] what a client
//! makes of it.

mod event;
pub mod old;
mod params;
mod push;

pub use event::{ArtifactUpdate, Event, StatusUpdate};
pub use params::{Configuration, ListParams, SendParams, TaskList, TaskParams};
pub use push::{PushAuthentication, PushConfig, PushParams};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a task stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    /// It was taken, and nothing has happened yet.
    #[serde(rename = "TASK_STATE_SUBMITTED", alias = "submitted")]
    Submitted,
    /// It is being worked on.
    #[serde(rename = "TASK_STATE_WORKING", alias = "working")]
    Working,
    /// It is done.
    #[serde(rename = "TASK_STATE_COMPLETED", alias = "completed")]
    Completed,
    /// It failed.
    #[serde(rename = "TASK_STATE_FAILED", alias = "failed")]
    Failed,
    /// It was stopped.
    #[serde(rename = "TASK_STATE_CANCELED", alias = "canceled")]
    Canceled,
    /// It waits for an answer.
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED", alias = "input-required")]
    InputRequired,
    /// The agent will not do it.
    #[serde(rename = "TASK_STATE_REJECTED", alias = "rejected")]
    Rejected,
    /// It waits for an authorization.
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED", alias = "auth-required")]
    AuthRequired,
    /// Something we do not know.
    #[default]
    #[serde(rename = "TASK_STATE_UNSPECIFIED", other)]
    Unspecified,
}

impl TaskState {
    /// Whether the agent goes on by itself.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Submitted | Self::Working | Self::Unspecified)
    }

    /// Whether nothing follows it.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether it waits for somebody.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Whoever wants something of the agent.
    #[serde(rename = "ROLE_USER", alias = "user")]
    User,
    /// The agent.
    #[serde(rename = "ROLE_AGENT", alias = "agent")]
    Agent,
    /// Something we do not know.
    #[default]
    #[serde(rename = "ROLE_UNSPECIFIED", other)]
    Unspecified,
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    /// Its id, made by whoever says it.
    #[serde(alias = "message_id")]
    pub message_id: String,
    /// The context it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", alias = "context_id")]
    pub context_id: Option<String>,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", alias = "task_id")]
    pub task_id: Option<String>,
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// What else is said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// The extensions it makes use of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks it speaks of.
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "reference_task_ids")]
    pub reference_task_ids: Vec<String>,
}

/// A piece of a message or of an artifact: one of `text`, `data`, `raw` and `url`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "old::AnyPart")]
pub struct Part {
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Bytes, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Where the content is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the file is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// What kind of content it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// What else is said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl Part {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A value.
    pub fn data(data: Value) -> Self {
        let media_type = Some("application/json".to_owned());
        Self { data: Some(data), media_type, ..Self::default() }
    }
}

/// Something a task made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Artifact {
    /// Its id.
    pub artifact_id: String,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is.
    pub parts: Vec<Part>,
}

/// How a task stands, and what the agent says about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskStatus {
    /// How it stands.
    pub state: TaskState,
    /// What the agent says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its id, made by the agent.
    pub id: String,
    /// The context it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// How it stands.
    pub status: TaskStatus,
    /// What it made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
}

/// What an agent sends back, whole or as a piece of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A task.
    Task(Box<Task>),
    /// A message, without any task.
    Message(Message),
    /// A task stands differently now.
    Status(TaskStatus),
    /// Something else, such as a piece of an artifact.
    Other,
}

impl Told {
    /// Reads it in either form; none, if it is neither.
    pub fn read(value: Value) -> Option<Self> {
        let Value::Object(mut fields) = value else { return None };
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let status_update = |mut update: Value| serde_json::from_value(update["status"].take());
        if let Some(task) = fields.remove("task") {
            return serde_json::from_value(task).ok().map(Self::Task);
        }
        if let Some(message) = fields.remove("message").filter(|_| kind.is_empty()) {
            return serde_json::from_value(message).ok().map(Self::Message);
        }
        if let Some(update) = fields.remove("statusUpdate") {
            return status_update(update).ok().map(Self::Status);
        }
        let has = |key: &str| fields.contains_key(key);
        match kind.as_str() {
            "status-update" => status_update(fields.into()).ok().map(Self::Status),
            "message" => serde_json::from_value(fields.into()).ok().map(Self::Message),
            "task" => serde_json::from_value(fields.into()).ok().map(Self::Task),
            "" if has("id") && has("status") => {
                serde_json::from_value(fields.into()).ok().map(Self::Task)
            }
            "" if has("messageId") => serde_json::from_value(fields.into()).ok().map(Self::Message),
            "artifact-update" => Some(Self::Other),
            _ => has("artifactUpdate").then_some(Self::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_are_read_alike() {
        let new = json!({ "task": {
            "id": "T", "contextId": "C",
            "status": { "state": "TASK_STATE_INPUT_REQUIRED", "message": {
                "messageId": "q", "role": "ROLE_AGENT",
                "parts": [{ "text": "Yes?" }, { "data": { "a": 1 } }, { "url": "x://y", "filename": "f" }],
            } },
        } });
        let old = json!({
            "kind": "task", "id": "T", "contextId": "C",
            "status": { "state": "input-required", "message": {
                "kind": "message", "messageId": "q", "role": "agent", "parts": [
                    { "kind": "text", "text": "Yes?" }, { "kind": "data", "data": { "a": 1 } },
                    { "kind": "file", "file": { "uri": "x://y", "name": "f" } },
                ],
            } },
        });
        let read = Told::read(new);
        assert!(matches!(&read, Some(Told::Task(task)) if task.id == "T"), "{read:?}");
        assert_eq!(Told::read(old), read);
        let update = json!({ "statusUpdate": { "taskId": "T", "status": { "state": "TASK_STATE_WORKING" } } });
        let old =
            json!({ "kind": "status-update", "status": { "state": "working" }, "final": false });
        assert!(matches!(Told::read(update), Some(Told::Status(it)) if it.state.goes_on()));
        assert!(matches!(Told::read(old), Some(Told::Status(it)) if it.state.goes_on()));
        let message = json!({ "message": { "messageId": "m", "parts": [{ "text": "hi" }] } });
        assert!(matches!(Told::read(message), Some(Told::Message(_))));
        for neither in [
            json!({}),
            json!([]),
            json!("x"),
            json!({ "task": 7 }),
            json!({ "id": 1, "status": 2 }),
        ] {
            assert_eq!(Told::read(neither.clone()), None, "{neither}");
        }
    }

    #[test]
    fn what_nobody_knows_is_no_error() {
        let status: TaskStatus =
            serde_json::from_value(json!({ "state": "TASK_STATE_DREAMING" })).unwrap();
        assert_eq!(status.state, TaskState::Unspecified);
        let part: Part = serde_json::from_value(json!({ "hologram": 1 })).unwrap();
        assert_eq!(part, Part::default());
    }
}
