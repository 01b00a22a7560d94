//! What a server tells: whole, or as a piece of a stream.

use serde::{Deserialize, Serialize};

use super::{Artifact, Message, Task, TaskStatus};

/// What a server tells. Written with the name of what it is, as 1.0 wants it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A task as it stands.
    #[serde(rename = "task")]
    Task(Box<Task>),
    /// A message, without any task.
    #[serde(rename = "message")]
    Message(Message),
    /// A task stands differently now.
    #[serde(rename = "statusUpdate")]
    Status(StatusUpdate),
    /// A task has made something, or a piece of it.
    #[serde(rename = "artifactUpdate")]
    Artifact(ArtifactUpdate),
}

/// A task stands differently now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// Which task.
    pub task_id: String,
    /// Of which context.
    pub context_id: String,
    /// How it stands.
    pub status: TaskStatus,
}

/// A task has made something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactUpdate {
    /// Which task.
    pub task_id: String,
    /// Of which context.
    pub context_id: String,
    /// What it made.
    pub artifact: Artifact,
    /// Whether these parts follow those told before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    /// Whether no more follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_chunk: bool,
}

impl Task {
    /// Brings what was told into the task: how clients, and the server itself, keep it up to date.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Task(task) => *self = Self::clone(task),
            Event::Message(_) => {}
            Event::Status(update) => {
                let before = std::mem::replace(&mut self.status, update.status.clone());
                self.history.extend(before.message);
            }
            Event::Artifact(update) => {
                let new = &update.artifact;
                let known = self.artifacts.iter_mut().find(|it| it.artifact_id == new.artifact_id);
                match known {
                    Some(known) if update.append => known.parts.extend(new.parts.iter().cloned()),
                    Some(known) => *known = new.clone(),
                    None => self.artifacts.push(new.clone()),
                }
            }
        }
    }
}
