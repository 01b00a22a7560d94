//! The form of 0.3, where it differs.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Artifact, Event, Message, Part, Role, Task, TaskState, TaskStatus};

/// A part in either form.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AnyPart {
    text: Option<String>,
    data: Option<Value>,
    raw: Option<String>,
    url: Option<String>,
    filename: Option<String>,
    #[serde(alias = "media_type")]
    media_type: Option<String>,
    metadata: Option<Map<String, Value>>,
    file: Option<File>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    bytes: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    mime_type: Option<String>,
}

impl From<AnyPart> for Part {
    fn from(part: AnyPart) -> Self {
        let AnyPart { text, data, raw, url, filename, media_type, metadata, file } = part;
        let file = file.unwrap_or_default();
        Self {
            text,
            data,
            raw: raw.or(file.bytes),
            url: url.or(file.uri),
            filename: filename.or(file.name),
            media_type: media_type.or(file.mime_type),
            metadata,
        }
    }
}

/// A message as 0.3 writes it.
pub fn message(message: &Message) -> Value {
    let role = if message.role == Role::Agent { "agent" } else { "user" };
    let mut old = json!({
        "kind": "message", "messageId": message.message_id, "role": role,
        "parts": message.parts.iter().map(part).collect::<Vec<_>>(),
    });
    let context = message.context_id.as_deref().map(Value::from);
    let task = message.task_id.as_deref().map(Value::from);
    let metadata = message.metadata.clone().map(Value::from);
    for (key, value) in [("contextId", context), ("taskId", task), ("metadata", metadata)] {
        if let Some(value) = value {
            old[key] = value;
        }
    }
    old
}

fn part(part: &Part) -> Value {
    let mut old = match (&part.text, &part.data) {
        (Some(text), _) => json!({ "kind": "text", "text": text }),
        (None, Some(data)) => json!({ "kind": "data", "data": data }),
        (None, None) => {
            let (place, content) = match &part.url {
                Some(url) => ("uri", url.clone()),
                None => ("bytes", part.raw.clone().unwrap_or_default()),
            };
            let mut file = json!({ place: content });
            for (key, value) in [("name", &part.filename), ("mimeType", &part.media_type)] {
                if let Some(value) = value {
                    file[key] = value.as_str().into();
                }
            }
            json!({ "kind": "file", "file": file })
        }
    };
    if let Some(metadata) = &part.metadata {
        old["metadata"] = metadata.clone().into();
    }
    old
}

/// A state as 0.3 writes it.
pub fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
        TaskState::Unspecified => "unknown",
    }
}

fn status(status: &TaskStatus) -> Value {
    let mut old = json!({ "state": state(status.state) });
    if let Some(said) = &status.message {
        old["message"] = message(said);
    }
    if let Some(timestamp) = &status.timestamp {
        old["timestamp"] = timestamp.as_str().into();
    }
    old
}

fn artifact(artifact: &Artifact) -> Value {
    let parts: Vec<Value> = artifact.parts.iter().map(part).collect();
    let mut old = json!({ "artifactId": artifact.artifact_id, "parts": parts });
    for (key, value) in [("name", &artifact.name), ("description", &artifact.description)] {
        if let Some(value) = value {
            old[key] = value.as_str().into();
        }
    }
    old
}

/// A task as 0.3 writes it.
pub fn task(task: &Task) -> Value {
    let mut old = json!({
        "kind": "task", "id": task.id, "contextId": task.context_id.as_deref().unwrap_or_default(),
        "status": status(&task.status),
    });
    if !task.artifacts.is_empty() {
        old["artifacts"] = task.artifacts.iter().map(artifact).collect();
    }
    if !task.history.is_empty() {
        old["history"] = task.history.iter().map(message).collect();
    }
    old
}

/// Something that is told, as 0.3 writes it. `last` says whether the stream ends with it.
pub fn event(event: &Event, last: bool) -> Value {
    match event {
        Event::Task(it) => task(it),
        Event::Message(it) => message(it),
        Event::Status(update) => json!({
            "kind": "status-update", "taskId": update.task_id, "contextId": update.context_id,
            "status": status(&update.status), "final": last,
        }),
        Event::Artifact(update) => json!({
            "kind": "artifact-update", "taskId": update.task_id, "contextId": update.context_id,
            "artifact": artifact(&update.artifact),
            "append": update.append, "lastChunk": update.last_chunk,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let file =
            Part { url: Some("x://y".into()), filename: Some("f".into()), ..Part::default() };
        let said = Message {
            message_id: "m".into(),
            task_id: Some("T".into()),
            role: Role::User,
            parts: vec![Part::text("a"), Part { data: Some(json!([1])), ..Part::default() }, file],
            ..Message::default()
        };
        let old = message(&said);
        assert_eq!((&old["kind"], &old["role"]), (&json!("message"), &json!("user")));
        assert_eq!(serde_json::from_value::<Message>(old).unwrap(), said);
    }
}
