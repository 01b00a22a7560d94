//! A model's section of the configuration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signoff_core::Span;

use crate::prices::Price;
use crate::protocol::Protocol;

/// Where a model's replies come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// The Responses API.
    #[serde(rename = "openai")]
    OpenAi,
    /// Chat Completions: Ollama, llama.cpp's server, vLLM and many others.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Replies that are written down in a file.
    Scripted,
}

impl ProviderKind {
    pub(crate) fn protocol(self) -> Option<Protocol> {
        match self {
            Self::OpenAi => Some(Protocol::Responses),
            Self::OpenAiChat => Some(Protocol::Chat),
            Self::Anthropic => Some(Protocol::Messages),
            Self::Scripted => None,
        }
    }
}

/// How hard a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the providers' own words
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Where its replies come from.
    pub provider: ProviderKind,
    /// The provider's own name of the model. Needed by all but `scripted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the API is, with its version, for example `http://localhost:11434/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` where
    /// `base_url` is the provider's own, otherwise none. The key itself is never written here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The organization to bill, for `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// The longest reply, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
    /// How much chance there is in a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// How hard the model thinks before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// How long one attempt may take in all. 15m if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// How long connecting may take. 10s if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<Span>,
    /// How long the first byte may take. 5m if not given: a local model may have to be loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout: Option<Span>,
    /// How long a reply may be silent. 2m if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
    /// How often it is asked again after an error that may pass. 4 times if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub max_retries: Option<u32>,
    /// The wait before the first retry; it doubles from one to the next. 500ms if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<Span>,
    /// How many calls there may be at the same time. 32 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_concurrent: Option<u32>,
    /// Whether the server is told the shape of the answer, rather than the model. By default only
    /// `openai` is. Every answer is checked in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<bool>,
    /// Headers to send along. Not for keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What tokens cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Price>,
    /// For `scripted`: the file with the replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

/// What is wrong with a model's section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("models.{model}.{field}: {problem}")]
pub struct ConfigError {
    /// The model's alias.
    pub model: String,
    /// The setting.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}
