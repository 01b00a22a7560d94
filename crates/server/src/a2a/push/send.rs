//! One attempt at telling somebody something.

use std::time::Duration;

use serde_json::Value;
use signoff_a2a::wire::PushConfig;
use signoff_net::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use signoff_net::{Client, Method, NetError, Policy, Private, Request, StatusCode, Url};

/// How long an attempt may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer is read, in bytes.
const MAX_ANSWER: u64 = 64 * 1024;
/// By this a receiver knows that it was meant.
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// What came of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Taken,
    /// It may be taken later.
    Later(String),
    /// It will never be.
    Never(String),
}

/// The client that tells them. Clients of ours name the addresses, so none of this machine or network is reached
/// unless the operator says so, and no redirect is followed.
pub(super) fn client(allow_private: bool) -> Result<Client, NetError> {
    Client::new(Policy {
        private: if allow_private { Private::Allow } else { Private::Refuse },
        plain_http: allow_private,
        connect_timeout: TIMEOUT,
        first_byte_timeout: TIMEOUT,
        idle_timeout: TIMEOUT,
        total_timeout: TIMEOUT,
        max_response_bytes: MAX_ANSWER,
        ..Policy::guarded()
    })
}

/// Tells once.
pub(super) async fn send(client: &Client, config: &PushConfig, event: &Value) -> Sent {
    let Ok(url) = Url::parse(&config.url) else {
        return Sent::Never("its address is not a URL".to_owned());
    };
    let mut request = Request::new(Method::POST, url);
    request.body = event.to_string().into();
    let headers = &mut request.headers;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let how = config.authentication.as_ref().filter(|how| !how.scheme.is_empty());
    let how = how.map(|how| {
        let credentials = how.credentials.as_deref().unwrap_or_default();
        format!("{} {credentials}", how.scheme).trim().to_owned()
    });
    for (name, value) in [(AUTHORIZATION, how), (TOKEN, config.token.clone())] {
        // What is in them was checked when it was taken.
        if let Some(mut value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    match client.send(request).await {
        Ok(mut response) => {
            let status = response.status();
            // Read, so that the connection can be used again.
            while let Ok(Some(_)) = response.chunk().await {}
            match status {
                status if status.is_success() => Sent::Taken,
                StatusCode::GONE => Sent::Never("it answers 410 Gone".to_owned()),
                status if status.is_redirection() => {
                    Sent::Never(format!("it answers {status}, and no redirect is followed"))
                }
                status => Sent::Later(format!("it answers {status}")),
            }
        }
        Err(error @ NetError::Refused { .. }) => Sent::Never(error.to_string()),
        Err(error) => Sent::Later(error.to_string()),
    }
}
