//! What can go wrong with a provider, in stable codes with hints.

use std::fmt::Display;

use serde_json::Value;
use signoff_core::journal::ErrorInfo;
use signoff_net::{NetError, StatusCode};

use crate::provider::ModelError;

/// How much of what a server says about an error is repeated.
const MAX_SAID: usize = 300;

/// The stream ended before the reply did.
pub(crate) fn cut() -> ModelError {
    let info = ErrorInfo::new("model_cut", "the model's reply ended in the middle");
    ModelError::passing(info.hint("the connection or the server broke off; try again"))
}

/// The reply reached the limit of tokens.
pub(crate) fn too_long() -> ModelError {
    let info = ErrorInfo::new("model_cut", "the model's reply reached its limit of output tokens");
    ModelError::new(info.hint("raise max_output_tokens of this model in signoff.toml"))
}

/// What came back cannot be read.
pub(crate) fn malformed(problem: &dyn Display) -> ModelError {
    let info =
        ErrorInfo::new("model_malformed", format!("the model's reply cannot be read: {problem}"));
    ModelError::passing(
        info.hint("check that base_url leads to the API and that `provider` names its protocol"),
    )
}

/// The model, or a filter before it, does not want to.
pub(crate) fn refused(said: &str) -> ModelError {
    let said = excerpt(said);
    let message = if said.is_empty() {
        "the model refused to answer".to_owned()
    } else {
        format!("the model refused to answer: {said}")
    };
    let info = ErrorInfo::new("model_refused", message);
    ModelError::new(info.hint("reword what is asked of the model, or use another one"))
}

/// The conversation does not fit.
pub(crate) fn context_length(said: &str) -> ModelError {
    let message = with("the conversation is too long for the model", said);
    let info = ErrorInfo::new("model_context_length", message);
    ModelError::new(
        info.hint("give the agent a context budget, or use a model with a larger context"),
    )
}

/// It took too long.
pub(crate) fn timeout(problem: &dyn Display) -> ModelError {
    let info =
        ErrorInfo::new("model_timeout", format!("the model did not answer in time: {problem}"));
    ModelError::passing(info.hint("raise this model's timeouts in signoff.toml"))
}

/// There is no key to ask with.
pub(crate) fn no_key(alias: &str, env: &str) -> ModelError {
    let info = ErrorInfo::new("model_auth", format!("there is no key for the model `{alias}`"));
    ModelError::new(info.hint(format!("set the environment variable {env}")))
}

/// What the network says.
pub(crate) fn network(error: &NetError) -> ModelError {
    let unavailable = |hint: &str| {
        ErrorInfo::new("model_unavailable", format!("the model cannot be reached: {error}"))
            .hint(hint)
    };
    match error {
        NetError::Timeout { .. } => timeout(error),
        NetError::TooLarge { .. } => malformed(error),
        NetError::Connect { begun: true, .. } => cut(),
        NetError::Connect { .. } => {
            ModelError::passing(unavailable("check base_url, and that the server runs"))
        }
        NetError::Tls { .. } => {
            ModelError::new(unavailable("check base_url and the server's certificate"))
        }
        NetError::Refused { .. } => ModelError::new(unavailable("check base_url")),
    }
}

/// What the server said instead of a reply: a status and a body.
pub(crate) fn status(status: StatusCode, body: &[u8], key_env: Option<&str>) -> ModelError {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let problem = Problem::of(&body);
    problem.error(status.as_u16(), key_env)
}

/// What the server said in the middle of a reply.
pub(crate) fn said(body: &Value) -> ModelError {
    // Some servers put a status there.
    let status = body["error"]["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (400..600).contains(status)).unwrap_or(0);
    Problem::of(body).error(status, None)
}

/// An error as servers put it: `{error: {type, code, message}}`, `{error: "…"}`, `{message}`, `{detail}`.
struct Problem {
    kind: String,
    message: String,
}

impl Problem {
    fn of(body: &Value) -> Self {
        let error = match body.get("error") {
            Some(Value::Null) | None => body,
            Some(error) => error,
        };
        let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = ["message", "detail", "msg"]
            .iter()
            .map(|name| field(name))
            .find(|text| !text.is_empty())
            .or_else(|| error.as_str())
            .unwrap_or_default();
        let kind = format!("{} {}", field("code"), field("type")).to_ascii_lowercase();
        Self { kind, message: message.to_owned() }
    }

    fn error(&self, status: u16, key_env: Option<&str>) -> ModelError {
        let is = |words: &[&str]| words.iter().any(|word| self.kind.contains(word));
        let lower = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let too_long = is(&["context_length", "string_above_max_length", "exceed_context"])
            || says(&[
                "context length",
                "context_length",
                "maximum context",
                "context size",
                "context window",
                "prompt is too long",
                "input is too long",
            ]);
        let filtered = is(&["content_filter", "content_policy", "responsibleai", "safety"]);
        let info = |code: &str, message: &str| ErrorInfo::new(code, with(message, &self.message));
        match status {
            _ if too_long && matches!(status, 0 | 400 | 413 | 422 | 500) => {
                context_length(&self.message)
            }
            _ if filtered && matches!(status, 0 | 400 | 403) => refused(&self.message),
            413 => context_length(&self.message),
            401 | 403 => auth(info("model_auth", "the provider does not accept the key"), key_env),
            _ if is(&["authentication", "permission", "invalid_api_key"]) => {
                auth(info("model_auth", "the provider does not accept the key"), key_env)
            }
            404 => not_found(info("model_not_found", "the provider does not know this")),
            _ if status != 429 && is(&["model_not_found", "not_found_error"]) => {
                not_found(info("model_not_found", "the provider does not know this"))
            }
            _ if is(&["insufficient_quota", "billing"]) => ModelError::new(
                info("model_rate_limited", "the account has no credit left")
                    .hint("check the account's plan and billing"),
            ),
            429 => limited(info("model_rate_limited", "the provider limits the rate of requests")),
            _ if status == 0 && is(&["rate_limit"]) => {
                limited(info("model_rate_limited", "the provider limits the rate of requests"))
            }
            503 | 529 => overloaded(info("model_overloaded", "the provider is overloaded")),
            _ if is(&["overloaded"]) => {
                overloaded(info("model_overloaded", "the provider is overloaded"))
            }
            408 => timeout(&"the server gave up waiting"),
            409 | 425 | 500..=599 => ModelError::passing(
                info("model_unavailable", &format!("the provider failed (status {status})"))
                    .hint("try again later, or name a fallback for this model"),
            ),
            300..=399 => ModelError::new(
                info("model_bad_request", &format!("the provider redirects (status {status})"))
                    .hint("write the final address in base_url"),
            ),
            0 if is(&["invalid_request", "invalid_prompt"]) => {
                bad_request(info("model_bad_request", "the provider does not accept the request"))
            }
            0 => ModelError::passing(
                info("model_unavailable", "the provider failed in the middle of its reply")
                    .hint("try again later, or name a fallback for this model"),
            ),
            _ => bad_request(info(
                "model_bad_request",
                &format!("the provider does not accept the request (status {status})"),
            )),
        }
    }
}

fn auth(info: ErrorInfo, key_env: Option<&str>) -> ModelError {
    ModelError::new(info.hint(match key_env {
        Some(env) => format!("check the key in the environment variable {env}"),
        None => "name the environment variable that holds the key in api_key_env".to_owned(),
    }))
}

fn not_found(info: ErrorInfo) -> ModelError {
    ModelError::new(info.hint("check `model` and base_url in signoff.toml"))
}

fn limited(info: ErrorInfo) -> ModelError {
    ModelError::passing(info.hint("lower max_concurrent, or name a fallback for this model"))
}

fn overloaded(info: ErrorInfo) -> ModelError {
    ModelError::passing(info.hint("try again later, or name a fallback for this model"))
}

fn bad_request(info: ErrorInfo) -> ModelError {
    ModelError::new(
        info.hint("the model may lack a setting or tool that is used; see what it says"),
    )
}

fn with(message: &str, said: &str) -> String {
    let said = excerpt(said);
    if said.is_empty() { message.to_owned() } else { format!("{message}: {said}") }
}

/// The beginning of what a stranger said, on one line.
fn excerpt(said: &str) -> String {
    let clean: String =
        said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_SAID).collect();
    clean.trim().to_owned()
}
