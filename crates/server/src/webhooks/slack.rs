//! `[channels.NAME]` of kind `slack`: a card for each request, and a word when it is settled.
//!
//! | it is given | what it does |
//! |---|---|
//! | `url_env` | speaks to an incoming webhook, of Slack or of whatever takes the same (Mattermost, Rocket.Chat). That cannot change what it has posted, so what was decided elsewhere follows as a message of its own |
//! | `token_env` and `channel` | is a bot, which changes the card when its request is settled (`bot`) |

mod bot;
mod card;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::Name;
use signoff_net::header::{CONTENT_TYPE, HeaderValue};
use signoff_net::{Client, Method, NetError, Request, StatusCode, Url};
use signoff_store::Happened;

use self::bot::Bot;
use super::audited::Audited;
use super::channel::{BoxFuture, Channel, Desk, Filter, News, Outcome};
use super::channels::{Page, secret, wanted};
use super::config::{WebhookEvent, guarded, secure};
use super::send::{outcome, read_away};

/// A chat.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlackConfig {
    /// The environment variable that holds the address of an incoming webhook, which is a secret. This, or `token_env`.
    pub url_env: Option<String>,
    /// The environment variable that holds the token of a bot, with which cards are changed when they are settled.
    pub token_env: Option<String>,
    /// Where the bot posts: the id of a channel it is in, such as `C024BE91L`.
    pub channel: Option<String>,
    /// Where the API is that the bot uses; `https://slack.com/api`, if not given.
    pub api: Option<String>,
    /// The address of the page of a request, with `{id}` in it: the button of a card leads there. No button, if not given.
    pub link: Option<String>,
    /// What is told; all but votes, if nothing is said. A bot changes its cards in any case.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whose requests; everybody's, if nothing is said.
    pub tenants: Option<Vec<String>>,
    /// Whether it may be on this machine or in this network, and be reached without TLS.
    #[serde(default)]
    pub allow_private: bool,
}

/// How a chat is reached.
#[derive(Clone)]
enum Way {
    Incoming(Url),
    Bot(Bot),
}

/// A chat that can be told. Its `Debug` does not show where it is.
#[derive(Clone)]
pub(super) struct Slack {
    name: Name,
    way: Way,
    page: Option<Page>,
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
    pub(super) fn new(
        name: Name,
        config: &SlackConfig,
        env: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let page = Page::read(config.link.as_deref())?;
        let mut filter = wanted(config.events.as_deref(), config.tenants.as_deref(), |what| {
            what != Happened::Voted
        })?;
        let way = match (&config.url_env, &config.token_env) {
            (Some(variable), None) => {
                if config.channel.is_some() || config.api.is_some() {
                    return Err("`channel` and `api` go with `token_env`".to_owned());
                }
                let url = secret("url_env", variable, env)?;
                let url =
                    secure(&url, config.allow_private).map_err(|why| format!("url_env: {why}"))?;
                Way::Incoming(url)
            }
            (None, Some(_)) => {
                // A card is never left as if somebody could still decide.
                let events = filter.events.get_or_insert_default();
                let ends = [Happened::Decided, Happened::Expired, Happened::Cancelled];
                events.extend(
                    ends.into_iter().filter(|end| !events.contains(end)).collect::<Vec<_>>(),
                );
                Way::Bot(Bot::new(config, env)?)
            }
            _ => return Err("it has either `url_env`, or `token_env` and `channel`".to_owned()),
        };
        Ok(Self { name, way, page, client: guarded(config.allow_private)?, filter })
    }

    /// A request as a card, while it waits; how it was settled, afterwards.
    fn card(&self, news: &News) -> Value {
        let id = news.request["id"].as_str().unwrap_or_default();
        let link = self.page.as_ref().map(|page| page.of(id));
        card::card(news, link.as_deref())
    }

    /// Posts to an incoming webhook.
    async fn post(&self, url: &Url, said: &Value) -> Result<StatusCode, NetError> {
        let mut request = Request::new(Method::POST, url.clone());
        request.body = said.to_string().into();
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let response = self.client.send(request).await?;
        let status = response.status();
        read_away(response).await;
        Ok(status)
    }
}

impl Channel for Slack {
    fn name(&self) -> &Name {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "slack"
    }

    fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The path of an incoming webhook is its secret.
    fn reached(&self, _: &str) -> Vec<String> {
        let place = match &self.way {
            Way::Incoming(url) => url.host_str(),
            Way::Bot(bot) => Some(bot.channel()),
        };
        place.map(str::to_owned).into_iter().collect()
    }

    fn tell<'a>(&'a self, news: &'a News, desk: &'a Desk) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match &self.way {
                Way::Incoming(url) => outcome(self.post(url, &self.card(news)).await),
                Way::Bot(bot) => bot.tell(self, news, desk).await,
            }
        })
    }

    fn tell_audited<'a>(&'a self, audited: &'a Audited, _: &'a Desk) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let said = card::audited(audited);
            match &self.way {
                Way::Incoming(url) => outcome(self.post(url, &said).await),
                Way::Bot(bot) => bot.tell_audited(self, said, audited).await,
            }
        })
    }

    /// An incoming webhook can do nothing but post; a bot is only asked who it is.
    fn reach(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            match &self.way {
                Way::Incoming(url) => {
                    let said = json!({ "text": "Signoff can post here." });
                    match outcome(self.post(url, &said).await) {
                        Outcome::Later(why) | Outcome::Gone(why) | Outcome::Refused(why) => {
                            Err(why)
                        }
                        Outcome::Taken(_) | Outcome::Partly => Ok(()),
                    }
                }
                Way::Bot(bot) => bot.reach(self).await,
            }
        })
    }
}
