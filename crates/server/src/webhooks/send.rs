//! One attempt at sending.

use std::time::Duration;

use signoff_core::{Name, Timestamp};
use signoff_net::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use signoff_net::{Method, NetError, Request, Response, StatusCode};
use signoff_runtime::{Clock as _, SystemClock, new_id};

use super::audited::Audited;
use super::channel::{BoxFuture, Channel, Desk, Filter, News, Outcome};
use super::config::Webhook;
use super::event::Message;

/// How long an attempt may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of an answer is read, in bytes.
pub(super) const MAX_ANSWER: u64 = 64 * 1024;

impl Channel for Webhook {
    fn name(&self) -> &Name {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "webhook"
    }

    fn filter(&self) -> &Filter {
        &self.filter
    }

    fn reached(&self, _: &str) -> Vec<String> {
        self.url.host_str().map(str::to_owned).into_iter().collect()
    }

    fn tell<'a>(&'a self, news: &'a News, desk: &'a Desk) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let message = Message::plain(news);
            outcome(self.post(&message, desk.now()).await)
        })
    }

    fn tell_audited<'a>(&'a self, audited: &'a Audited, desk: &'a Desk) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let message = Message::audited(audited);
            outcome(self.post(&message, desk.now()).await)
        })
    }

    fn reach(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            match self.ping(&new_id(), SystemClock.now()).await {
                Ok(200..=299) => Ok(()),
                Ok(status) => Err(format!("it answers {status}")),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

impl Webhook {
    /// Sends a message once.
    async fn post(&self, message: &Message, now: Timestamp) -> Result<StatusCode, NetError> {
        let seconds = now.0.div_euclid(1000);
        let signature = self.key.sign(&message.id, seconds, message.body.as_bytes());
        let mut request = Request::new(Method::POST, self.url.clone());
        request.body = message.body.clone().into();
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in [
            ("webhook-id", message.id.clone()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signature),
        ] {
            // All of them are plain ASCII.
            if let Ok(value) = HeaderValue::from_str(&value) {
                request.headers.insert(HeaderName::from_static(name), value);
            }
        }
        let response = self.client.send(request).await?;
        let status = response.status();
        read_away(response).await;
        Ok(status)
    }

    /// Sends an event that says nothing, once, and gives the status it is answered with.
    pub async fn ping(&self, unique: &str, now: Timestamp) -> Result<u16, NetError> {
        let status = self.post(&Message::ping(unique, now), now).await?;
        Ok(status.as_u16())
    }
}

/// What an answer to a POST means.
pub(super) fn outcome(answer: Result<StatusCode, NetError>) -> Outcome {
    match answer {
        Ok(status) if status.is_success() => Outcome::Taken(None),
        Ok(StatusCode::GONE) => Outcome::Gone("it answers 410 Gone".to_owned()),
        Ok(status) => Outcome::Later(format!("it answers {status}")),
        Err(error) => Outcome::Later(error.to_string()),
    }
}

/// Reads what is answered, so that the connection can be used again. Whatever it is, the status counts.
pub(super) async fn read_away(mut response: Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}
