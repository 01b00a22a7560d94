//! `[channels.NAME]` in the operator's configuration: chats and mailboxes.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::Name;
use signoff_net::Url;
use signoff_store::Happened;

use super::channel::{Channel, Filter};
use super::config::{WebhookEvent, filter, named};
use super::mail::{Mail, MailConfig};
use super::slack::{Slack, SlackConfig};

/// Somebody who is told what happens to requests, in words for people.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChannelConfig {
    /// A chat of Slack, or of whatever takes the same.
    Slack(SlackConfig),
    /// Mailboxes.
    Email(MailConfig),
}

impl ChannelConfig {
    /// The channel that this describes; paths are relative to `folder`, and `env` reads environment variables. An error
    /// names the setting.
    pub fn channel(
        &self,
        name: &str,
        folder: &Path,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Arc<dyn Channel>, String> {
        let made = || -> Result<Arc<dyn Channel>, String> {
            named(name, "channel")?;
            // The store knows it beside webhooks, which may have the same name.
            let name: Name = format!("channel:{name}").into();
            Ok(match self {
                Self::Slack(config) => Arc::new(Slack::new(name, config, &env)?),
                Self::Email(config) => Arc::new(Mail::new(name, config, folder, &env)?),
            })
        };
        made().map_err(|problem| format!("[channels.{name}]: {problem}"))
    }

    /// The environment variables that hold its secrets.
    pub fn secret_variables(&self) -> impl Iterator<Item = &String> {
        let (one, other) = match self {
            Self::Slack(config) => (&config.url_env, &config.token_env),
            Self::Email(config) => (&config.password_env, &None),
        };
        one.iter().chain(other)
    }
}

/// What is in the environment variable that `key` names.
pub(super) fn secret(
    key: &str,
    variable: &str,
    env: &impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let found = env(variable).filter(|value| !value.trim().is_empty());
    found
        .map(|value| value.trim().to_owned())
        .ok_or_else(|| format!("{key}: the environment variable {variable} is not set"))
}

/// What is wanted: `usual`, if nothing is said.
pub(super) fn wanted(
    events: Option<&[WebhookEvent]>,
    tenants: Option<&[String]>,
    usual: impl Fn(Happened) -> bool,
) -> Result<Filter, String> {
    let mut filter = filter(events, tenants)?;
    let all = || Happened::ALL.into_iter().filter(|what| usual(*what)).collect();
    filter.events.get_or_insert_with(all);
    Ok(filter)
}

/// Where the page of a request is.
#[derive(Clone, Debug)]
pub(super) struct Page(String);

impl Page {
    /// The page at `link`, which has `{id}` in it.
    pub(super) fn read(link: Option<&str>) -> Result<Option<Self>, String> {
        let Some(link) = link else { return Ok(None) };
        let leads = |scheme: &str| scheme == "http" || scheme == "https";
        match Url::parse(&link.replace("{id}", "x")) {
            Ok(url) if link.contains("{id}") && leads(url.scheme()) => {
                Ok(Some(Self(link.to_owned())))
            }
            _ => Err("link: it is an address with `{id}` in it".to_owned()),
        }
    }

    /// The address of the page of a request.
    pub(super) fn of(&self, request: &str) -> String {
        self.0.replace("{id}", request)
    }

    /// The address of a path of the server that has the page.
    pub(super) fn beside(&self, path: &str) -> Option<String> {
        let url = Url::parse(&self.of("x")).ok()?;
        Some(url.join(path).ok()?.to_string())
    }
}
