//! How a model's section of the configuration becomes a provider.

use std::sync::Arc;
use std::time::Duration;

use signoff_core::{Span, Timestamp};
use signoff_net::header::{HeaderMap, HeaderName, HeaderValue};
use signoff_net::{Policy, Secret, Url};

use crate::anthropic;
use crate::config::{ConfigError, Effort, ProviderConfig};
use crate::http::{Http, LazyClient};
use crate::prices::Priced;
use crate::protocol::{Protocol, Settings};
use crate::provider::Provider;
use crate::resilient::{Resilient, Retries};

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";
/// How large a reply may be with everything around it, in bytes.
const MAX_REPLY_BYTES: u64 = 32 * 1024 * 1024;
/// The longest wait before a retry, a provider's own wishes included.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);

/// Reads a script by its name.
pub type ScriptReader = dyn Fn(&str) -> Result<Arc<dyn Provider>, String>;

/// What a provider needs from the process it lives in.
pub struct Deps<'a> {
    /// The value of an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The time.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// A number from 0 (included) to 1 (excluded).
    pub chance: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Reads a script.
    pub script: &'a ScriptReader,
}

impl std::fmt::Debug for Deps<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deps")
    }
}

/// The provider that `config` describes. A key that is not there is an error only when it is needed.
pub fn build(
    alias: &str,
    config: &ProviderConfig,
    deps: &Deps<'_>,
) -> Result<Arc<dyn Provider>, ConfigError> {
    Builder { alias, config }.build(deps)
}

struct Builder<'a> {
    alias: &'a str,
    config: &'a ProviderConfig,
}

impl Builder<'_> {
    fn wrong(&self, field: &'static str, problem: impl Into<String>) -> ConfigError {
        ConfigError { model: self.alias.to_owned(), field, problem: problem.into() }
    }

    fn build(&self, deps: &Deps<'_>) -> Result<Arc<dyn Provider>, ConfigError> {
        self.check_ranges()?;
        let model = self.unpriced(deps)?;
        Ok(match self.config.prices {
            Some(price) => Arc::new(Priced::new(model, price)),
            None => model,
        })
    }

    fn unpriced(&self, deps: &Deps<'_>) -> Result<Arc<dyn Provider>, ConfigError> {
        let config = self.config;
        let Some(protocol) = config.provider.protocol() else {
            let script = config.script.as_deref();
            let script =
                script.ok_or_else(|| self.wrong("script", "a scripted model needs one"))?;
            return (deps.script)(script).map_err(|problem| self.wrong("script", problem));
        };
        if config.script.is_some() {
            return Err(self.wrong("script", "only a scripted model has one"));
        }
        let model = config.model.as_deref().filter(|model| !model.is_empty());
        let model = model.ok_or_else(|| self.wrong("model", "which model is it?"))?;
        let url = self.url(protocol)?;
        let is_openai = url.host_str() == Some("api.openai.com");
        let key_env = self.key_env(&url);
        let key = key_env.as_deref().and_then(deps.env).map(|key| Secret::new(&key));
        let key = key.filter(|key| !key.expose().is_empty());
        let http = Http {
            alias: self.alias.to_owned(),
            protocol,
            settings: Settings {
                model: model.to_owned(),
                max_output_tokens: config.max_output_tokens,
                temperature: config.temperature,
                effort: config.reasoning_effort.map(Effort::as_str),
                structured_output: config
                    .structured_output
                    .unwrap_or(protocol == Protocol::Responses),
                is_openai,
            },
            client: LazyClient::new(self.policy()),
            headers: self.headers(protocol, key.as_ref())?,
            url,
            key,
            key_env,
            now: Arc::clone(&deps.now),
        };
        let retries = Retries {
            max: config.max_retries.unwrap_or(4),
            delay: or(config.retry_delay, Duration::from_millis(500)),
            max_delay: MAX_RETRY_DELAY,
            timeout: self.timeout(),
            max_concurrent: config.max_concurrent.unwrap_or(32) as usize,
        };
        Ok(Arc::new(Resilient::new(Arc::new(http), retries, Arc::clone(&deps.chance))))
    }

    fn check_ranges(&self) -> Result<(), ConfigError> {
        let config = self.config;
        if config.max_concurrent == Some(0) {
            return Err(self.wrong("max_concurrent", "must be at least 1"));
        }
        if config.max_retries.is_some_and(|max| max > 100) {
            return Err(self.wrong("max_retries", "must be at most 100"));
        }
        if config.max_output_tokens == Some(0) {
            return Err(self.wrong("max_output_tokens", "must be at least 1"));
        }
        if config.temperature.is_some_and(|it| !(0.0..=2.0).contains(&it)) {
            return Err(self.wrong("temperature", "must be from 0 to 2"));
        }
        if config.prices.is_some_and(|prices| !prices.is_valid()) {
            return Err(self.wrong("prices", "a price cannot be less than nothing"));
        }
        Ok(())
    }

    fn timeout(&self) -> Duration {
        or(self.config.timeout, Duration::from_mins(15))
    }

    fn url(&self, protocol: Protocol) -> Result<Url, ConfigError> {
        let own = if protocol == Protocol::Messages { ANTHROPIC } else { OPENAI };
        let base = self.config.base_url.as_deref().unwrap_or(own).trim_end_matches('/');
        let wrong = |problem: &str| self.wrong("base_url", problem);
        let mut url = Url::parse(base).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("it must begin with https:// or http:// and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "it must not hold a password; name the key's variable in api_key_env",
            ));
        }
        let path = format!("{}/{}", url.path().trim_end_matches('/'), protocol.path());
        url.set_path(&path);
        url.set_fragment(None);
        Ok(url)
    }

    fn key_env(&self, url: &Url) -> Option<String> {
        let usual = match url.host_str() {
            Some("api.openai.com") => Some("OPENAI_API_KEY"),
            Some("api.anthropic.com") => Some("ANTHROPIC_API_KEY"),
            _ => None,
        };
        self.config.api_key_env.as_deref().or(usual).map(str::to_owned)
    }

    fn policy(&self) -> Policy {
        let config = self.config;
        Policy {
            connect_timeout: or(config.connect_timeout, Duration::from_secs(10)),
            first_byte_timeout: or(config.first_byte_timeout, Duration::from_mins(5)),
            idle_timeout: or(config.idle_timeout, Duration::from_mins(2)),
            total_timeout: self.timeout(),
            max_response_bytes: MAX_REPLY_BYTES,
            ..Policy::configured()
        }
    }

    fn headers(&self, protocol: Protocol, key: Option<&Secret>) -> Result<HeaderMap, ConfigError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("text/event-stream, application/json"));
        if protocol == Protocol::Messages {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        if let Some(organization) = &self.config.organization {
            let value = HeaderValue::from_str(organization)
                .map_err(|_| self.wrong("organization", "it cannot be sent in a header"))?;
            headers.insert("openai-organization", value);
        }
        for (name, value) in &self.config.headers {
            let wrong = |problem: &str| self.wrong("headers", format!("`{name}`: {problem}"));
            let header: HeaderName =
                name.parse().map_err(|_| wrong("this is not the name of a header"))?;
            let secret = ["authorization", "x-api-key", "api-key", "proxy-authorization", "cookie"];
            if secret.contains(&header.as_str()) {
                return Err(wrong(
                    "keys are not written here; name the key's variable in api_key_env",
                ));
            }
            let value = HeaderValue::from_str(value)
                .map_err(|_| wrong("its value cannot be sent in a header"))?;
            headers.insert(header, value);
        }
        if let Some(key) = key {
            let (name, value) = match protocol {
                Protocol::Messages => ("x-api-key", key.expose().to_owned()),
                _ => ("authorization", format!("Bearer {}", key.expose())),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                self.wrong("api_key_env", "the key holds characters that cannot be sent")
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

fn or(span: Option<Span>, otherwise: Duration) -> Duration {
    span.map_or(otherwise, Span::to_std)
}
