//! A bot of Slack: it posts a card, and changes that card when its request is settled, wherever that was.
//!
//! | what happens | what is called |
//! |---|---|
//! | somebody is asked | `chat.postMessage`; what the message is known by is kept with the note that it was told |
//! | people are reminded, or it is put off or back | `chat.postMessage` in the thread of the card |
//! | it is settled | `chat.update` of the card, which nobody can act on any more; then it is forgotten |
//!
//! A server that dies after Slack took a card and before that was noted posts the card again, and only the second one is
//! changed later. Slack has no way to say "only once".

use serde_json::{Map, Value, json};
use signoff_net::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use signoff_net::{Method, Request, Secret, StatusCode, Url};
use signoff_store::{Happened, Posted};

use super::{Slack, SlackConfig, card};
use crate::webhooks::audited::Audited;
use crate::webhooks::channel::{Desk, News, Outcome};
use crate::webhooks::channels::secret;
use crate::webhooks::config::secure;
use crate::webhooks::send::MAX_ANSWER;

/// Where the API is.
const API: &str = "https://slack.com/api";
/// The longest name of a channel, in bytes.
const MAX_CHANNEL: usize = 100;
/// Errors that are the message's own fault: it will never be taken.
const NEVER: [&str; 8] = [
    "invalid_arguments",
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_metadata_format",
    "invalid_metadata_schema",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
];
/// Errors that say that a card cannot be changed any more.
const FIXED: [&str; 5] = [
    "cant_update_message",
    "edit_window_closed",
    "message_not_found",
    "is_inactive",
    "update_failed",
];

/// A bot.
#[derive(Clone)]
pub(super) struct Bot {
    api: Url,
    token: Secret,
    channel: String,
}

/// Why Slack did not take something.
enum Refused {
    Later(String),
    /// The word Slack has for it.
    Word(String),
}

impl Refused {
    fn outcome(self) -> Outcome {
        match self {
            Self::Later(problem) => Outcome::Later(problem),
            Self::Word(word) => {
                let problem = format!("it answers `{word}`");
                let never = NEVER.contains(&word.as_str());
                if never { Outcome::Refused(problem) } else { Outcome::Later(problem) }
            }
        }
    }
}

impl Bot {
    /// Where it posts.
    pub(super) fn channel(&self) -> &str {
        &self.channel
    }

    pub(super) fn new(
        config: &SlackConfig,
        env: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let variable = config.token_env.as_deref().unwrap_or_default();
        let token = Secret::new(&secret("token_env", variable, env)?);
        let Some(channel) = config.channel.clone() else {
            return Err("channel: a bot must be told where it posts".to_owned());
        };
        if channel.is_empty() || channel.len() > MAX_CHANNEL || channel.contains('/') {
            return Err("channel: it is the id of a channel, such as C024BE91L".to_owned());
        }
        let api = config.api.as_deref().unwrap_or(API).trim_end_matches('/');
        // So that the name of a method takes the place of nothing.
        let api = secure(&format!("{api}/"), config.allow_private);
        Ok(Self { api: api.map_err(|why| format!("api: {why}"))?, token, channel })
    }

    /// Tells some news: a new card, a word below it, or the card as it is now.
    pub(super) async fn tell(&self, slack: &Slack, news: &News, desk: &Desk) -> Outcome {
        let (name, id) = (slack.name.clone(), news.whole.id.clone());
        let known = match desk.read(move |store| store.posted(&name, &id)).await {
            Ok(known) => known.and_then(|reference| Card::read(&reference)),
            Err(error) => return Outcome::Later(error.to_string()),
        };
        let keep = |reference: Option<String>| {
            Outcome::Taken(Some(Posted { request: news.whole.id.clone(), reference }))
        };
        let settled = news.request["status"] != "pending";
        let told = match (&known, news.what) {
            (Some(card), what) if settled && what != Happened::Requested => {
                match self.update(slack, news, card).await {
                    Err(Refused::Word(word)) if FIXED.contains(&word.as_str()) => {
                        self.post(slack, slack.card(news), news, None).await
                    }
                    other => other,
                }
            }
            (Some(card), what) if what != Happened::Requested => {
                self.post(slack, card::word(news), news, Some(card)).await
            }
            _ => self.post(slack, slack.card(news), news, None).await,
        };
        match told {
            // What comes after its end, or without a card, is not changed again.
            Ok(_) if settled && news.what != Happened::Requested => keep(None),
            Ok(card) if known.is_none() || news.what == Happened::Requested => {
                keep(card.map(|card| card.written()))
            }
            Ok(_) => Outcome::Taken(None),
            Err(refused) => refused.outcome(),
        }
    }

    /// Tells of an action in a message of its own, which is never changed.
    pub(super) async fn tell_audited(
        &self,
        slack: &Slack,
        said: Value,
        audited: &Audited,
    ) -> Outcome {
        let run = &audited.action["run"];
        let place = place(&self.channel, "signoff_action", &audited.id, "run", run);
        match self.call(slack, "chat.postMessage", &with(said, place)).await {
            Ok(_) => Outcome::Taken(None),
            Err(refused) => refused.outcome(),
        }
    }

    /// Whether the token counts.
    pub(super) async fn reach(&self, slack: &Slack) -> Result<(), String> {
        match self.call(slack, "auth.test", &json!({})).await {
            Ok(_) => Ok(()),
            Err(Refused::Later(problem)) => Err(problem),
            Err(Refused::Word(word)) => Err(format!("it answers `{word}`")),
        }
    }

    async fn post(
        &self,
        slack: &Slack,
        said: Value,
        news: &News,
        below: Option<&Card>,
    ) -> Result<Option<Card>, Refused> {
        let channel = below.map_or(&self.channel, |card| &card.channel);
        let request = json!(news.whole.id);
        let place = place(channel, "signoff_request", &news.id, "request", &request);
        let mut body = with(said, place);
        if let Some(card) = below {
            body["thread_ts"] = card.ts.as_str().into();
            body["reply_broadcast"] = (news.what == Happened::Reminded).into();
        }
        let answer = self.call(slack, "chat.postMessage", &body).await?;
        Ok(Card::answered(&answer))
    }

    async fn update(
        &self,
        slack: &Slack,
        news: &News,
        card: &Card,
    ) -> Result<Option<Card>, Refused> {
        let place = json!({ "channel": card.channel, "ts": card.ts });
        self.call(slack, "chat.update", &with(slack.card(news), place)).await?;
        Ok(None)
    }

    /// Calls a method of the API, and gives its answer.
    async fn call(&self, slack: &Slack, method: &str, body: &Value) -> Result<Value, Refused> {
        let later = |problem: &dyn std::fmt::Display| Refused::Later(problem.to_string());
        let url = self.api.join(method).map_err(|error| later(&error))?;
        let mut request = Request::new(Method::POST, url);
        request.body = body.to_string().into();
        let json = HeaderValue::from_static("application/json; charset=utf-8");
        request.headers.insert(CONTENT_TYPE, json);
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token.expose()));
        let mut bearer = bearer.map_err(|_| later(&"the token cannot be sent in a header"))?;
        bearer.set_sensitive(true);
        request.headers.insert(AUTHORIZATION, bearer);
        let response = slack.client.send(request).await.map_err(|error| later(&error))?;
        let status = response.status();
        let most = usize::try_from(MAX_ANSWER).unwrap_or(usize::MAX);
        let answer = response.beginning(most).await;
        if status != StatusCode::OK {
            return Err(later(&format!("it answers {status}")));
        }
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        match (answer["ok"].as_bool(), answer["error"].as_str()) {
            (Some(true), _) => Ok(answer),
            (Some(false), Some(word)) => Err(Refused::Word(word.chars().take(64).collect())),
            _ => Err(later(&"what it answers is not what Slack answers")),
        }
    }
}

/// What a card is known by.
struct Card {
    channel: String,
    ts: String,
}

impl Card {
    fn read(reference: &str) -> Option<Self> {
        let (channel, ts) = reference.split_once('/')?;
        Some(Self { channel: channel.to_owned(), ts: ts.to_owned() })
    }

    /// The card that Slack says it has posted.
    fn answered(answer: &Value) -> Option<Self> {
        let word = |name: &str| answer[name].as_str().map(str::to_owned);
        Some(Self { channel: word("channel")?, ts: word("ts")? })
            .filter(|card| card.channel.len() <= MAX_CHANNEL && card.ts.len() <= MAX_CHANNEL)
    }

    fn written(&self) -> String {
        format!("{}/{}", self.channel, self.ts)
    }
}

/// Where a message goes, and what it is about, so that whoever reads the chat can tell one that came twice.
fn place(channel: &str, kind: &str, event: &str, what: &str, id: &Value) -> Value {
    json!({
        "channel": channel,
        "unfurl_links": false,
        "unfurl_media": false,
        "metadata": { "event_type": kind, "event_payload": { "event": event, what: id } },
    })
}

/// What is said, and where.
fn with(said: Value, place: Value) -> Value {
    let mut all = Map::new();
    for part in [place, said] {
        if let Value::Object(fields) = part {
            all.extend(fields);
        }
    }
    Value::Object(all)
}
