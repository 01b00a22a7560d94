//! A question that somebody outside words: what is asked comes as data.
//!
//! Whoever words it is not trusted: what it says is shown as its words, it cannot say what only the system says, and
//! what it sends has bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::choices;
use crate::deciders::Who;
use crate::decision::{DecisionKind, MAX_ANSWER_BYTES};
use crate::request::{RequestBody, RequestKind, Risk};
use crate::schema;
use crate::text;
use crate::time::Span;

/// The longest question, in bytes.
pub const MAX_PROMPT_BYTES: usize = 16 * 1024;
/// The largest context, in bytes of JSON.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;
/// The longest name of somebody who asks, in bytes.
const MAX_ASKER_BYTES: usize = 128;
/// The most names of those who ask.
const MAX_ASKERS: usize = 8;
/// The longest that a question may wait: ten years.
const MAX_WITHIN: Span = Span::seconds(10 * 366 * 24 * 60 * 60);
/// What only the system says in a context, or shows exactly as it is.
const RESERVED: [&str; 11] = [
    "proposal",
    "shown",
    "warnings",
    "digest",
    "tool",
    "options",
    "implementation",
    "policy",
    "on_timeout",
    "reasons",
    "url",
];

/// A question to people, as whoever asks words it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question, complete in itself.
    #[schemars(length(min = 1, max = 16384))]
    pub prompt: String,
    /// What kind of question: input, selection or approval.
    #[serde(default = "input")]
    pub kind: RequestKind,
    /// What a person should know to answer it: text, or an object.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub context: Value,
    /// The answers of a selection: text, or objects with `value`, `label` and `description`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub options: Vec<Value>,
    /// JSON Schema of the answer, or of what is proposed once it is edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// What is proposed for approval.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub proposal: Value,
    /// How much can go wrong, as whoever asks sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Who may decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Who>,
    /// How long it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
    /// Who asks, from the outermost to the one that does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub asker: Vec<String>,
}

fn input() -> RequestKind {
    RequestKind::Input
}

/// JSON Schema of a question.
pub fn json_schema() -> Value {
    serde_json::to_value(schemars::schema_for!(Question)).unwrap_or_default()
}

impl Question {
    /// A question answered by text.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            kind: RequestKind::Input,
            context: Value::Null,
            options: Vec::new(),
            schema: None,
            proposal: Value::Null,
            risk: None,
            who: None,
            within: None,
            asker: Vec::new(),
        }
    }

    /// Reads a message. The error is meant for whoever asks.
    pub fn read(message: &Value) -> Result<Self, String> {
        serde_json::from_value(message.clone()).map_err(|error| error.to_string())
    }

    /// The request that people see. Until when and by whom it is decided is for the caller to add.
    pub fn to_request(&self) -> Result<RequestBody, String> {
        self.bounded()?;
        let prompt = self.prompt.trim();
        let mut body = match self.kind {
            RequestKind::Selection => {
                RequestBody::selection(prompt, choices::choices(&self.options)?)
            }
            RequestKind::Approval => RequestBody::approval(prompt, self.proposal.clone()),
            _ => RequestBody::input(prompt),
        };
        if let Some(wanted) = &self.schema {
            body.response_schema = wanted.clone();
        }
        // A request whose answers cannot be checked could never be answered.
        schema::compile(&body.response_schema)
            .map_err(|problem| format!("`schema` cannot be used: {problem}"))?;
        if body.allowed.contains(&DecisionKind::Edit) && self.schema.is_some() {
            schema::check(&body.response_schema, &self.proposal).map_err(|problems| {
                format!("what is proposed does not fit `schema`: {}", problems.join("; "))
            })?;
        }
        body.context = self.shown_context();
        body.risk = self.risk;
        body.agent_path =
            self.asker.iter().map(|name| text::clean(name, MAX_ASKER_BYTES).into()).collect();
        if let Some(asker) = body.agent_path.first() {
            let reason =
                format!("{asker} asks; what it says is its own word, and nobody checked it");
            body.reasons.push(reason);
        }
        Ok(body)
    }

    fn bounded(&self) -> Result<(), String> {
        let wrong = |problem: &str| Err(problem.to_owned());
        let asks = [RequestKind::Input, RequestKind::Selection, RequestKind::Approval];
        if !asks.contains(&self.kind) {
            return Err(format!(
                "`{}` cannot be asked; there are input, selection and approval",
                self.kind
            ));
        }
        if self.prompt.trim().is_empty() {
            return wrong("the question is empty");
        }
        if self.prompt.len() > MAX_PROMPT_BYTES {
            return Err(format!(
                "the question has more than {MAX_PROMPT_BYTES} bytes; put data into `context`"
            ));
        }
        if size(&self.context) > MAX_CONTEXT_BYTES {
            return Err(format!("`context` has more than {MAX_CONTEXT_BYTES} bytes; show less"));
        }
        if size(&self.proposal) > MAX_ANSWER_BYTES / 2 {
            return Err(format!("what is proposed has more than {} bytes", MAX_ANSWER_BYTES / 2));
        }
        if let Value::Object(fields) = &self.context
            && let Some(name) = RESERVED.into_iter().find(|name| fields.contains_key(*name))
        {
            return Err(format!(
                "`context` may not have a field `{name}`: only the system says that"
            ));
        }
        if self.kind != RequestKind::Selection && !self.options.is_empty() {
            return wrong("only a selection has `options`");
        }
        if self.kind == RequestKind::Selection && self.schema.is_some() {
            return wrong("`options` say what can be answered; leave `schema` out");
        }
        if self.kind != RequestKind::Approval && !self.proposal.is_null() {
            return wrong("only an approval has a `proposal`");
        }
        if self.within.is_some_and(|within| within.0 == 0 || within > MAX_WITHIN) {
            return wrong("`within` is more than nothing and at most ten years");
        }
        if self.asker.len() > MAX_ASKERS {
            return Err(format!("`asker` has at most {MAX_ASKERS} names"));
        }
        self.who
            .as_ref()
            .and_then(Who::problem)
            .map_or(Ok(()), |problem| Err(format!("`who`: {problem}")))
    }

    /// What people see besides the question.
    fn shown_context(&self) -> Value {
        let mut shown = match &self.context {
            Value::Object(fields) => fields.clone(),
            Value::Null => Map::new(),
            other => Map::from_iter([("note".to_owned(), other.clone())]),
        };
        if self.kind == RequestKind::Approval {
            if !self.proposal.is_null() {
                shown.insert("proposal".to_owned(), self.proposal.clone());
            }
            shown.insert("digest".to_owned(), self.digest().into());
        }
        if shown.is_empty() { Value::Null } else { Value::Object(shown) }
    }

    /// What an approval is bound to: the words of the question and what is proposed.
    pub fn digest(&self) -> String {
        let mut bound = json!({ "prompt": self.prompt, "proposal": self.proposal });
        schema::sort_keys(&mut bound);
        text::digest(&bound.to_string(), 64)
    }
}

fn size(value: &Value) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
