//! Who wants to be told elsewhere how a task goes on.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a client wants to be told of a task. Read in either version's form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushConfig {
    /// Whose agent it is for, where a server has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What it is called, among those of the task. The server names it, if the client does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Of which task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Where it is told.
    pub url: String,
    /// By which the receiver knows that it was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// How the server shows who it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<PushAuthentication>,
}

/// How the server shows the receiver who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushAuthentication {
    /// The scheme, such as `Bearer`.
    pub scheme: String,
    /// What goes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
    /// The schemes in the words of 0.3; the first counts.
    #[serde(skip_serializing)]
    pub schemes: Vec<String>,
}

/// What a client says of one it wants, or of those it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushParams {
    /// Whose agent it is for, where a server has several.
    pub tenant: Option<String>,
    /// Of which task; 0.3 calls it `id` where it asks for those of a task.
    pub task_id: Option<String>,
    /// Its name; in 0.3 the task's.
    pub id: Option<String>,
    /// Its name in 0.3.
    pub push_notification_config_id: Option<String>,
    /// Where to, in 0.3.
    pub push_notification_config: Option<PushConfig>,
    /// How many at once.
    pub page_size: Option<i64>,
    /// Where the page begins.
    pub page_token: Option<String>,
}

impl PushConfig {
    /// With the scheme in the words of 1.0.
    #[must_use]
    pub fn in_new_words(mut self) -> Self {
        if let Some(how) = &mut self.authentication {
            let first = std::mem::take(&mut how.schemes).into_iter().next();
            if how.scheme.is_empty() {
                how.scheme = first.unwrap_or_default();
            }
        }
        self
    }

    /// As 0.3 writes it.
    pub fn in_old_words(&self) -> Value {
        let mut config = json!({ "url": self.url });
        for (key, value) in [("id", &self.id), ("token", &self.token)] {
            if let Some(value) = value {
                config[key] = value.as_str().into();
            }
        }
        if let Some(how) = &self.authentication {
            config["authentication"] = json!({ "schemes": [how.scheme] });
            if let Some(credentials) = &how.credentials {
                config["authentication"]["credentials"] = credentials.as_str().into();
            }
        }
        json!({ "taskId": self.task_id.as_deref().unwrap_or_default(), "pushNotificationConfig": config })
    }
}
