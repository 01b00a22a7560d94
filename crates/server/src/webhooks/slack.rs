//! `[channels.NAME]` of kind `slack`: a card for each request, and a word when it is settled.
//!
//! It speaks to an incoming webhook, of Slack or of whatever takes the same (Mattermost, Rocket.Chat). Such a webhook cannot change
//! what it has posted, so what was decided elsewhere follows as a message of its own.

mod card;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use signoff_core::{Name, Timestamp};
use signoff_net::header::{CONTENT_TYPE, HeaderValue};
use signoff_net::{Client, Method, NetError, Request, StatusCode, Url};

use super::channel::{BoxFuture, Channel, Filter, Message, News};
use super::config::{WebhookEvent, filter, guarded, named, secure};
use super::send::read_away;

/// Somebody who is told what happens to requests, in a chat.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelConfig {
    /// What takes it.
    pub kind: ChannelKind,
    /// The environment variable that holds the address of the incoming webhook, which is a secret.
    pub url_env: String,
    /// The address of the page of a request, with `{id}` in it: the button of a card leads there. No button, if not given.
    pub link: Option<String>,
    /// What is told; all but votes, if nothing is said.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whose requests; everybody's, if nothing is said.
    pub tenants: Option<Vec<String>>,
    /// Whether it may be on this machine or in this network, and be reached without TLS.
    #[serde(default)]
    pub allow_private: bool,
}

/// What takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// An incoming webhook of Slack.
    Slack,
}

/// A chat that can be told. Its `Debug` does not show where it is.
#[derive(Clone)]
pub struct Slack {
    name: Name,
    url: Url,
    link: Option<String>,
    client: Client,
    filter: Filter,
}

impl std::fmt::Debug for Slack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slack").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Slack {
    /// The chat that `config` describes; `env` reads environment variables. An error names the setting.
    pub fn new(
        name: &str,
        config: &ChannelConfig,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        Self::read(name, config, env).map_err(|problem| format!("[channels.{name}]: {problem}"))
    }

    fn read(
        name: &str,
        config: &ChannelConfig,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        named(name, "channel")?;
        let ChannelConfig { url_env, link, .. } = config;
        let Some(url) = env(url_env).filter(|url| !url.trim().is_empty()) else {
            return Err(format!("url_env: the environment variable {url_env} is not set"));
        };
        if let Some(link) = link
            && (Url::parse(&link.replace("{id}", "x")).is_err() || !link.contains("{id}"))
        {
            return Err("link: it is an address with `{id}` in it".to_owned());
        }
        let url =
            secure(url.trim(), config.allow_private).map_err(|why| format!("url_env: {why}"))?;
        let usual = || {
            let all = signoff_store::Happened::ALL.into_iter();
            all.filter(|what| *what != signoff_store::Happened::Voted).collect()
        };
        let mut filter = filter(config.events.as_deref(), config.tenants.as_deref())?;
        filter.events.get_or_insert_with(usual);
        Ok(Self {
            // The store knows it beside webhooks, which may have the same name.
            name: format!("channel:{name}").into(),
            url,
            link: link.clone(),
            client: guarded(config.allow_private)?,
            filter,
        })
    }
}

impl Channel for Slack {
    fn name(&self) -> &Name {
        &self.name
    }

    fn filter(&self) -> &Filter {
        &self.filter
    }

    fn word(&self, news: &News) -> Message {
        let id = news.request["id"].as_str().unwrap_or_default();
        let link = self.link.as_ref().map(|link| link.replace("{id}", id));
        let card: Value = card::card(news, link.as_deref());
        Message { id: news.id.clone(), body: card.to_string() }
    }

    fn send<'a>(
        &'a self,
        message: &'a Message,
        _: Timestamp,
    ) -> BoxFuture<'a, Result<StatusCode, NetError>> {
        Box::pin(async move {
            let mut request = Request::new(Method::POST, self.url.clone());
            request.body = message.body.clone().into();
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let response = self.client.send(request).await?;
            let status = response.status();
            read_away(response).await;
            Ok(status)
        })
    }
}
