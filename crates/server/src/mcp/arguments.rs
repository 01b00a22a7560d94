//! What tools are called with.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use signoff_core::deciders::Who;
use signoff_core::question::Question;
use signoff_core::request::{RequestKind, RequestStatus};
use signoff_core::{Risk, RunStatus, Span};

use crate::error::{ApiError, Problem, nearest};

/// A question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskHuman {
    /// The question, complete in itself: the person may know nothing of your work.
    #[schemars(length(min = 1, max = 16384))]
    question: String,
    /// What helps to answer it: text, or an object.
    #[schemars(with = "Option<TextOrObject>")]
    context: Option<Value>,
    /// The answers there are, if the person is to choose one of them.
    #[serde(default)]
    #[schemars(with = "Vec<TextOrObject>", length(max = 100))]
    options: Vec<Value>,
    /// JSON Schema of the answer, if text will not do: an object with plain fields. Not together with `options`.
    #[schemars(with = "Option<Map<String, Value>>")]
    schema: Option<Value>,
    /// How long the question waits, for example 30m or 2d. For ever, if not given.
    within: Option<Span>,
    /// Who may answer. Anybody, if not given.
    who: Option<Who>,
    /// Who asks, if you speak for several agents.
    #[schemars(length(max = 128))]
    agent: Option<String>,
    /// The same key and question again is the same question: it is asked once.
    #[schemars(length(min = 1, max = 255))]
    pub(super) idempotency_key: Option<String>,
}

/// Something that needs a person's consent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestApproval {
    /// What you want to do, in words a person understands who knows nothing of your work.
    #[schemars(length(min = 1, max = 16384))]
    action: String,
    /// With what exactly. The person may change it; then do it with what comes back as `value`.
    #[schemars(with = "Option<Map<String, Value>>")]
    arguments: Option<Value>,
    /// JSON Schema of `arguments`, for a person who changes them. Made of what they are now, if not given.
    #[schemars(with = "Option<Map<String, Value>>")]
    schema: Option<Value>,
    /// What will happen, for example a diff or the rows that go.
    #[schemars(with = "Option<TextOrObject>")]
    preview: Option<Value>,
    /// Why.
    #[schemars(length(max = 16384))]
    reason: Option<String>,
    /// How much can go wrong.
    risk: Option<Risk>,
    /// What else helps to decide.
    #[schemars(with = "Option<TextOrObject>")]
    context: Option<Value>,
    /// How long it waits, for example 30m or 2d. For ever, if not given. When the time is over, it is not approved.
    within: Option<Span>,
    /// Who may decide, and how many must agree. Anybody, if not given.
    who: Option<Who>,
    /// Who asks, if you speak for several agents.
    #[schemars(length(max = 128))]
    agent: Option<String>,
    /// The same key and action again is the same request: it is asked once.
    #[schemars(length(min = 1, max = 255))]
    pub(super) idempotency_key: Option<String>,
}

/// Which answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetAnswer {
    /// The id of the request.
    pub(super) request: String,
    /// How long to wait for the answer, at most: 0s only looks.
    pub(super) wait: Option<Span>,
}

/// A run to start.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartWorkflow {
    /// The id of a workflow; `list_workflows` says which there are.
    pub(super) workflow: String,
    /// What it is given; must fit its input schema. Most take text.
    #[schemars(with = "TextOrObject")]
    pub(super) input: Value,
    /// The conversation it goes on with. A new one, if not given.
    pub(super) conversation: Option<String>,
    /// The same key again gives the same run, and starts nothing.
    #[schemars(length(min = 1, max = 255))]
    pub(super) idempotency_key: Option<String>,
}

/// Which run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetRun {
    /// The id of the run.
    pub(super) run: String,
}

/// Which request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetRequest {
    /// The id of the request.
    pub(super) request: String,
}

/// Which runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListRuns {
    /// Only those that stand there.
    pub(super) status: Option<RunStatus>,
    /// Only those of this workflow.
    pub(super) workflow: Option<String>,
    /// How many: 1 to 100; 20, if not given.
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: Option<usize>,
    /// `next_cursor` of the page before.
    pub(super) cursor: Option<String>,
}

/// Which requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListRequests {
    /// Only those that stand there.
    pub(super) status: Option<RequestStatus>,
    /// Only of this kind.
    pub(super) kind: Option<RequestKind>,
    /// Only of this run and those that are part of it.
    pub(super) run: Option<String>,
    /// How many: 1 to 100; 20, if not given.
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: Option<usize>,
    /// `next_cursor` of the page before.
    pub(super) cursor: Option<String>,
}

/// Nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Text, or an object.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only says what there can be
enum TextOrObject {
    /// Text.
    Text(String),
    /// An object.
    Object(Map<String, Value>),
}

/// The arguments of a call, or what is wrong with them.
pub(super) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, ApiError> {
    serde_json::from_value(arguments.clone()).map_err(|error| {
        let said = error.to_string();
        let wrong = invalid(&format!("the arguments cannot be used: {said}"));
        let mut names = said.split('`').skip(1).step_by(2);
        let given = names.next().unwrap_or_default();
        match nearest(given, names).filter(|_| said.starts_with("unknown field")) {
            Some(found) => wrong.hint(format!("did you mean `{found}`?")),
            None => wrong,
        }
    })
}

/// Something that was said cannot be used.
pub(super) fn invalid(problem: &str) -> ApiError {
    ApiError::new(Problem::InvalidBody, problem)
}

impl AskHuman {
    /// The question as the workflow takes it.
    pub(super) fn question(self, asker: Vec<String>) -> Question {
        let kind =
            if self.options.is_empty() { RequestKind::Input } else { RequestKind::Selection };
        Question {
            kind,
            context: self.context.unwrap_or_default(),
            options: self.options,
            schema: self.schema,
            who: self.who,
            within: self.within,
            asker: asked_by(asker, self.agent),
            ..Question::new(self.question)
        }
    }
}

impl RequestApproval {
    /// The question as the workflow takes it.
    pub(super) fn question(self, asker: Vec<String>) -> Question {
        // A preview here is a model's word, and stands among its others: what the system says is elsewhere.
        let mut context = match self.context {
            Some(Value::Object(fields)) => fields,
            Some(other) => Map::from_iter([("note".to_owned(), other)]),
            None => Map::new(),
        };
        context.extend(self.reason.map(|reason| ("reason".to_owned(), json!(reason))));
        context.extend(self.preview.map(|preview| ("preview".to_owned(), preview)));
        Question {
            kind: RequestKind::Approval,
            context: if context.is_empty() { Value::Null } else { Value::Object(context) },
            proposal: self.arguments.unwrap_or_default(),
            schema: self.schema,
            risk: self.risk,
            who: self.who,
            within: self.within,
            asker: asked_by(asker, self.agent),
            ..Question::new(self.action)
        }
    }
}

fn asked_by(mut asker: Vec<String>, agent: Option<String>) -> Vec<String> {
    asker.extend(agent.filter(|agent| !agent.trim().is_empty()));
    asker
}
