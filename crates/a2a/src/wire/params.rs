//! What clients send along with the name of what they want. What is not known is left alone; names may be written as
//! in the protocol's definition too (`history_length`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Message, PushConfig, Task, TaskState};

/// A message, and how it is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SendParams {
    /// Whose agent it is for, where a server has several.
    pub tenant: Option<String>,
    /// The message.
    pub message: Option<Message>,
    /// How it is to be answered.
    pub configuration: Option<Configuration>,
    /// What else is said about it.
    pub metadata: Option<Map<String, Value>>,
}

/// How a message is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// The kinds of content that the client understands.
    #[serde(alias = "accepted_output_modes")]
    pub accepted_output_modes: Option<Vec<String>>,
    /// How many of the latest messages the task is to have; all, if not said.
    #[serde(alias = "history_length")]
    pub history_length: Option<i64>,
    /// Whether the task is wanted as soon as it is taken.
    #[serde(alias = "return_immediately")]
    pub return_immediately: Option<bool>,
    /// The same in the words of 0.3, the other way round.
    pub blocking: Option<bool>,
    /// Where the client wants to be told of the task.
    #[serde(alias = "task_push_notification_config", alias = "pushNotificationConfig")]
    pub task_push_notification_config: Option<PushConfig>,
}

impl Configuration {
    /// Whether the client waits until the task is done or asks something.
    pub fn waits(&self) -> bool {
        !self.return_immediately.unwrap_or(false) && self.blocking.unwrap_or(true)
    }
}

/// A task, to look at, to stop or to listen to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskParams {
    /// Whose agent it is for, where a server has several.
    pub tenant: Option<String>,
    /// Its id.
    pub id: String,
    /// How many of the latest messages it is to have; all, if not said.
    #[serde(alias = "history_length")]
    pub history_length: Option<i64>,
    /// What else is said about it.
    pub metadata: Option<Map<String, Value>>,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Whose agent it is for, where a server has several.
    pub tenant: Option<String>,
    /// Of which context.
    #[serde(alias = "context_id")]
    pub context_id: Option<String>,
    /// How they stand.
    pub status: Option<TaskState>,
    /// How many at once.
    #[serde(alias = "page_size")]
    pub page_size: Option<i64>,
    /// Where the page begins.
    #[serde(alias = "page_token")]
    pub page_token: Option<String>,
    /// How many of the latest messages each is to have; none, if not said.
    #[serde(alias = "history_length")]
    pub history_length: Option<i64>,
    /// Only those whose status is as new as this.
    #[serde(alias = "status_timestamp_after")]
    pub status_timestamp_after: Option<String>,
    /// Whether what they made is wanted.
    #[serde(alias = "include_artifacts")]
    pub include_artifacts: Option<bool>,
}

/// One page of tasks. Every field is always there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskList {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Where the next page begins; empty, if there is none.
    pub next_page_token: String,
    /// How many were asked for.
    #[serde(alias = "page_size")]
    pub page_size: usize,
    /// How many there are altogether.
    pub total_size: usize,
}
