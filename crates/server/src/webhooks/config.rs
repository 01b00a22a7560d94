//! `[webhooks.NAME]` in the operator's configuration.

use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::{Name, Tenant};
use signoff_net::{Client, Policy, Private, Secret, Url};
use signoff_store::Happened;

use super::channel::Filter;
use super::send::{MAX_ANSWER, TIMEOUT};
use super::sign::Key;

/// The longest name of a webhook.
const MAX_NAME: usize = 64;

/// Somebody who is told what happens to requests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Where it is sent to.
    pub url: String,
    /// The environment variable that holds the secret that what is sent is signed with.
    pub secret_env: String,
    /// What is sent; everything, if nothing is said.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whose requests; everybody's, if nothing is said.
    pub tenants: Option<Vec<String>>,
    /// Whether it may be on this machine or in this network, and be reached without TLS.
    #[serde(default)]
    pub allow_private: bool,
}

/// What a webhook can be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum WebhookEvent {
    /// Somebody is asked.
    #[serde(rename = "request.requested")]
    Requested,
    /// Somebody voted, and others must agree.
    #[serde(rename = "request.voted")]
    Voted,
    /// People were reminded of it.
    #[serde(rename = "request.reminded")]
    Reminded,
    /// Somebody put it off.
    #[serde(rename = "request.deferred")]
    Deferred,
    /// The time until which it was put off has come.
    #[serde(rename = "request.reopened")]
    Reopened,
    /// It was decided.
    #[serde(rename = "request.decided")]
    Decided,
    /// Nobody answered in time.
    #[serde(rename = "request.expired")]
    Expired,
    /// The run ended or went on without it.
    #[serde(rename = "request.cancelled")]
    Cancelled,
    /// An action was done, or denied, that a gate with `ask: audit` is about.
    #[serde(rename = "action.audited")]
    Audited,
}

impl From<WebhookEvent> for Happened {
    fn from(event: WebhookEvent) -> Self {
        match event {
            WebhookEvent::Requested => Self::Requested,
            WebhookEvent::Voted => Self::Voted,
            WebhookEvent::Reminded => Self::Reminded,
            WebhookEvent::Deferred => Self::Deferred,
            WebhookEvent::Reopened => Self::Reopened,
            WebhookEvent::Decided => Self::Decided,
            WebhookEvent::Expired => Self::Expired,
            WebhookEvent::Cancelled => Self::Cancelled,
            WebhookEvent::Audited => Self::Audited,
        }
    }
}

/// A webhook that can be delivered to. Its `Debug` shows neither the secret nor where it is.
#[derive(Clone)]
pub struct Webhook {
    pub(super) name: Name,
    pub(super) url: Url,
    pub(super) key: Key,
    pub(super) client: Client,
    pub(super) filter: Filter,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Webhook {
    /// The webhook that `config` describes; `env` reads environment variables. An error names the setting.
    pub fn new(
        name: &str,
        config: &WebhookConfig,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        Self::read(name, config, env).map_err(|problem| format!("[webhooks.{name}]: {problem}"))
    }

    fn read(
        name: &str,
        config: &WebhookConfig,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        named(name, "webhook")?;
        let filter = filter(config.events.as_deref(), config.tenants.as_deref())?;
        let variable = &config.secret_env;
        let secret = env(variable).map(|secret| Secret::new(&secret));
        let Some(secret) = secret.filter(|secret| !secret.expose().is_empty()) else {
            return Err(format!("secret_env: the environment variable {variable} is not set"));
        };
        let key = Key::read(&secret).ok_or_else(|| {
            format!(
                "secret_env: what is in {variable} begins with whsec_ and does not go on as base64"
            )
        })?;
        let url = secure(&config.url, config.allow_private).map_err(|why| format!("url: {why}"))?;
        let client = guarded(config.allow_private)?;
        Ok(Self { name: name.into(), url, key, client, filter })
    }

    /// What it is called in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Refuses what cannot be the name of one of those who are told.
pub(super) fn named(name: &str, what: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
        return Err(format!(
            "`{name}` cannot be the name of a {what}: use letters, digits, `-` and `_`, at most {MAX_NAME}"
        ));
    }
    Ok(())
}

/// What is wanted, as it is configured.
pub(super) fn filter(
    events: Option<&[WebhookEvent]>,
    tenants: Option<&[String]>,
) -> Result<Filter, String> {
    let empty = |what: &str| format!("{what}: the list is empty; leave it out for all of them");
    if events.is_some_and(<[_]>::is_empty) {
        return Err(empty("events"));
    }
    if tenants.is_some_and(<[_]>::is_empty) {
        return Err(empty("tenants"));
    }
    let tenants = tenants.map(|names| names.iter().map(|name| tenant(name)).collect());
    Ok(Filter {
        events: events.map(|events| events.iter().map(|event| (*event).into()).collect()),
        tenants: tenants.transpose()?,
    })
}

/// A client that goes nowhere but out.
pub(super) fn guarded(allow_private: bool) -> Result<Client, String> {
    let policy = Policy {
        private: if allow_private { Private::Allow } else { Private::Refuse },
        plain_http: allow_private,
        connect_timeout: TIMEOUT,
        first_byte_timeout: TIMEOUT,
        idle_timeout: TIMEOUT,
        total_timeout: TIMEOUT,
        max_response_bytes: MAX_ANSWER,
        ..Policy::guarded()
    };
    Client::new(policy).map_err(|error| error.to_string())
}

fn tenant(name: &str) -> Result<Tenant, String> {
    Tenant::from_word(name).ok_or_else(|| format!("tenants: `{name}` is not the name of a tenant"))
}

// What is wrong is said without the address: it may have a secret in it.
pub(super) fn secure(address: &str, allow_private: bool) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| format!("it is not a URL: {error}"))?;
    match url.scheme() {
        "https" => {}
        "http" if allow_private => {}
        "http" => {
            return Err(
                "it must begin with https://; http:// is for `allow_private = true`".to_owned()
            );
        }
        _ => return Err("it must begin with https://".to_owned()),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it must not carry a user name or password".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(url: &str, events: &str, allow_private: bool) -> Result<Webhook, String> {
        let config = serde_json::json!({
            "url": url, "secret_env": "S", "allow_private": allow_private,
            "events": serde_json::from_str::<serde_json::Value>(events).unwrap(),
        });
        let config: WebhookConfig =
            serde_json::from_value(config).map_err(|error| error.to_string())?;
        Webhook::new("ops", &config, |name| (name == "S").then(|| "very secret".to_owned()))
    }

    #[test]
    fn what_is_wrong_is_named() {
        let fine =
            made("https://example.com/hook?key=abc", r#"["request.decided"]"#, false).unwrap();
        assert_eq!(format!("{fine:?}"), r#"Webhook { name: "ops", .. }"#);
        for (url, events, private, problem) in [
            ("example.com", "null", false, "url: it is not a URL"),
            ("http://example.com", "null", false, "url: it must begin with https://"),
            ("ftp://example.com", "null", true, "url: it must begin with https://"),
            ("https://a:b@example.com", "null", false, "user name"),
            ("https://example.com", "[]", false, "events: the list is empty"),
            ("https://example.com", r#"["request.made"]"#, false, "request.made"),
        ] {
            let told = made(url, events, private).unwrap_err();
            assert!(told.contains(problem), "{told}");
        }
        let config = WebhookConfig {
            url: "https://example.com".to_owned(),
            secret_env: "NOT_THERE".to_owned(),
            events: None,
            tenants: None,
            allow_private: false,
        };
        for (value, problem) in [
            (None, "[webhooks.ops]: secret_env: the environment variable NOT_THERE is not set"),
            (Some("  "), "NOT_THERE is not set"),
            (Some("whsec_?"), "base64"),
        ] {
            let told = Webhook::new("ops", &config, |_| value.map(str::to_owned)).unwrap_err();
            assert!(told.contains(problem), "{told}");
        }
        let tenants = Some(vec!["a b".to_owned()]);
        let told = Webhook::new("ops", &WebhookConfig { tenants, ..config }, |_| Some("x".into()));
        assert!(told.unwrap_err().contains("tenants: `a b`"));
    }
}
