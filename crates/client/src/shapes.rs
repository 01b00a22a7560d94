//! What the server is asked for and what it gives, apart from requests and entries.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use signoff_core::journal::ErrorInfo;
use signoff_core::{Decision, RequestId, RunStatus};

/// Who the caller is.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Session {
    /// The name in which the caller decides.
    pub actor: String,
    /// What the caller may do.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// A workflow in a list.
#[derive(Clone, Debug, Deserialize)]
pub struct WorkflowSummary {
    /// Its id.
    pub id: String,
    /// What it does.
    #[serde(default)]
    pub description: Option<String>,
}

/// A workflow.
#[derive(Clone, Debug, Deserialize)]
pub struct Workflow {
    /// Its id.
    pub id: String,
    /// What it does.
    #[serde(default)]
    pub description: Option<String>,
    /// What a run is given.
    #[serde(default)]
    pub input_schema: Value,
    /// The definition.
    #[serde(default)]
    pub definition: Value,
}

impl Workflow {
    /// What people call its agents, by id.
    pub fn agents(&self) -> Vec<(String, Option<String>)> {
        let agents = self.definition["agents"].as_object().into_iter().flatten();
        agents.map(|(id, agent)| (id.clone(), agent["name"].as_str().map(Into::into))).collect()
    }

    /// What it could be given, as text.
    pub fn samples(&self) -> Vec<String> {
        let samples = self.definition["samples"].as_array().into_iter().flatten();
        let text = |sample: &Value| sample.as_str().map_or_else(|| sample.to_string(), Into::into);
        samples.map(text).collect()
    }
}

/// A run.
#[derive(Clone, Debug, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Its workflow.
    pub workflow: String,
    /// Its conversation.
    pub conversation: String,
    /// Where it stands.
    pub status: RunStatus,
    /// What it was given.
    #[serde(default)]
    pub input: Value,
    /// What it gave.
    #[serde(default)]
    pub output: Option<Value>,
    /// The requests that wait.
    #[serde(default)]
    pub pending: Vec<String>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<ErrorInfo>,
    /// When it was created.
    #[serde(default)]
    pub created_at: String,
    /// The position of its last entry.
    #[serde(default)]
    pub head: u64,
    /// The run it is part of.
    #[serde(default)]
    pub root: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The items.
    pub data: Vec<T>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// What to start.
#[derive(Clone, Debug, Serialize)]
pub struct Start {
    /// The workflow.
    pub workflow: String,
    /// What it is given.
    pub input: Value,
    /// The conversation it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The same key starts one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Which runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunFilter {
    /// Of this workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// At most so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Which requests.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Filter {
    /// Where they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Of this workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Asked by this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// With these words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Only those that were put off, which are not among the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<bool>,
}

impl Filter {
    /// Those that wait.
    pub fn pending() -> Self {
        Self { status: Some("pending".to_owned()), ..Self::default() }
    }
}

/// One of several decisions.
#[derive(Clone, Debug)]
pub struct Many {
    /// The request.
    pub request: RequestId,
    /// The version that was seen.
    pub version: u32,
    /// The decision.
    pub decision: Decision,
}
