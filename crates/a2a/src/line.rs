//! One exchange with an agent, in whichever words it understands.

use std::time::Duration;

use serde_json::Value;
use signoff_core::text::clean;
use signoff_net::header::{HeaderValue, IF_NONE_MATCH};
use signoff_net::sse::Decoder;
use signoff_net::{Client, Method, NetError, Policy, Request, Response, Secret, StatusCode};
use tokio::time::timeout;

use crate::card::{Interface, Tongue};
use crate::config::Place;
use crate::failure::{Failure, MAX_SAID};
use crate::wire::Told;
use crate::wish::{EVENTS, Wish, request};

/// The largest answer, in bytes.
const MAX_BODY: u64 = 8 * 1024 * 1024;
/// The largest event of a stream, in bytes.
const MAX_EVENT: usize = 4 * 1024 * 1024;
/// How much of a refusal is read, in bytes.
const MAX_REFUSAL: usize = 64 * 1024;
/// The longest mark of a card, in bytes.
const MAX_MARK: usize = 256;
/// How long an agent may take to say that it has a message. Some finish the task first.
const TAKING: Duration = Duration::from_mins(5);
/// How long everything else may take.
const LOOKING: Duration = Duration::from_secs(30);
/// The codes of the protocol that mean something to us.
const TASK_NOT_FOUND: i64 = -32001;
const VERSION_NOT_SUPPORTED: i64 = -32009;

/// A client for agents that the operator named.
pub(crate) fn client() -> Result<Client, NetError> {
    Client::new(Policy {
        first_byte_timeout: TAKING,
        idle_timeout: Duration::from_mins(2),
        total_timeout: TAKING + Duration::from_mins(1),
        max_response_bytes: MAX_BODY,
        ..Policy::configured()
    })
}

/// What came of reading a card.
#[derive(Debug)]
pub(crate) enum CardRead {
    /// It, and the mark by which it is known again.
    New(Value, Option<String>),
    /// It is the one that was known.
    Same,
}

/// The way to an agent.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) http: &'a Client,
    pub(crate) place: &'a Place,
}

impl Line<'_> {
    /// The agent's card, unless it is still the one that this mark belongs to.
    pub(crate) async fn card(&self, etag: Option<&str>) -> Result<CardRead, Failure> {
        let mut request = Request::new(Method::GET, self.place.card.clone());
        if let Some(mark) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            request.headers.insert(IF_NONE_MATCH, mark);
        }
        let read = async {
            let (response, secrets) = self.send(request).await?;
            if response.status() == StatusCode::NOT_MODIFIED {
                return Ok(CardRead::Same);
            }
            let response = success(response, &secrets).await?;
            let mark = response.header("etag").filter(|mark| mark.len() <= MAX_MARK);
            let mark = mark.map(str::to_owned);
            let body = whole(response, &secrets).await?;
            let card = serde_json::from_str(&body).map_err(|_| Failure::Card {
                problem: "it is not JSON".to_owned(),
                hint: "look whether `url` leads to an A2A agent",
            })?;
            Ok(CardRead::New(card, mark))
        };
        within(LOOKING, read).await
    }

    /// Has a wish fulfilled.
    pub(crate) async fn ask(&self, at: &Interface, wish: Wish<'_>) -> Result<Told, Failure> {
        let limit = if matches!(wish, Wish::Send(_)) { TAKING } else { LOOKING };
        let asked = async {
            let (response, secrets) = self.exchange(request(at, wish)).await?;
            let body = whole(response, &secrets).await?;
            let answer: Value = serde_json::from_str(&body)
                .map_err(|_| Failure::Protocol("that is not JSON".to_owned()))?;
            Told::read(result(at.tongue, answer)?)
                .ok_or_else(|| Failure::Protocol("that is neither a task nor a message".to_owned()))
        };
        within(limit, asked).await
    }

    /// Listens until the task does not go on by itself, as `rests` sees it. False, if the stream ended
    /// before.
    pub(crate) async fn listen(
        &self,
        at: &Interface,
        task: &str,
        rests: impl Fn(&Told) -> bool,
    ) -> Result<bool, Failure> {
        let (mut response, _) = self.exchange(request(at, Wish::Subscribe { task })).await?;
        if !response.header("content-type").is_some_and(|kind| kind.starts_with(EVENTS)) {
            return Ok(false);
        }
        let mut events = Decoder::new(MAX_EVENT);
        while let Some(piece) = response.chunk().await? {
            let read = events.push(&piece);
            for event in read.map_err(|problem| Failure::Protocol(problem.to_string()))? {
                let Ok(value) = serde_json::from_str(&event.data) else { continue };
                let Ok(value) = result(at.tongue, value) else { return Ok(false) };
                if Told::read(value).is_some_and(|told| rests(&told)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Sends a request with the agent's headers; what comes back is a success.
    async fn exchange(&self, request: Request) -> Result<(Response, Vec<Secret>), Failure> {
        let (response, secrets) = self.send(request).await?;
        Ok((success(response, &secrets).await?, secrets))
    }

    async fn send(&self, mut request: Request) -> Result<(Response, Vec<Secret>), Failure> {
        let (headers, secrets) = self.place.headers()?;
        request.headers.extend(headers);
        Ok((self.http.send(request).await?, secrets))
    }
}

/// The response, if it is a success.
async fn success(response: Response, secrets: &[Secret]) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let said = response.beginning(MAX_REFUSAL).await;
    let said = scrubbed(&String::from_utf8_lossy(&said), secrets);
    Err(refusal(status, &said))
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(limit, work).await.unwrap_or_else(|_| {
        let problem = format!("no answer within {} s", limit.as_secs());
        Err(Failure::Unavailable { problem, arrived: true })
    })
}

/// The body as text, without our keys, should it quote them.
async fn whole(response: Response, secrets: &[Secret]) -> Result<String, Failure> {
    let kind = response.header("content-type").unwrap_or_default().to_owned();
    if !kind.contains("json") {
        let kind = clean(&kind, 100);
        return Err(Failure::Protocol(format!("it sent `{kind}` in place of JSON")));
    }
    let body = String::from_utf8(response.bytes().await?)
        .map_err(|_| Failure::Protocol("that is not text".to_owned()))?;
    Ok(scrubbed(&body, secrets))
}

fn scrubbed(text: &str, secrets: &[Secret]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| secret.scrub(&text))
}

/// What a response means that is no success.
fn refusal(status: StatusCode, said: &str) -> Failure {
    let answer: Value = serde_json::from_str(said).unwrap_or_default();
    let words = answer["error"]["message"].as_str().map(|words| clean(words, MAX_SAID));
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Failure::Auth(format!("it refuses our credentials (HTTP {})", status.as_u16()));
    }
    // JSON-RPC errors may come with any status.
    if let Some(code) = answer["error"]["code"].as_i64().filter(|code| *code < 0) {
        return protocol_error(code, words.as_deref());
    }
    let mut details = answer["error"]["details"].as_array().into_iter().flatten();
    if details.any(|detail| detail["reason"] == "TASK_NOT_FOUND") {
        return Failure::TaskLost;
    }
    if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
        let problem = format!("HTTP {}", status.as_u16());
        return Failure::Unavailable { problem, arrived: status != StatusCode::TOO_MANY_REQUESTS };
    }
    match words {
        Some(words) => Failure::Refused(format!("{words} (HTTP {})", status.as_u16())),
        None if status == StatusCode::NOT_FOUND => {
            Failure::Protocol("there is nothing at this address (HTTP 404)".to_owned())
        }
        None => Failure::Refused(format!("HTTP {}", status.as_u16())),
    }
}

fn protocol_error(code: i64, words: Option<&str>) -> Failure {
    match code {
        TASK_NOT_FOUND => Failure::TaskLost,
        VERSION_NOT_SUPPORTED => Failure::Card {
            problem: "it offers a version that it does not speak".to_owned(),
            hint: "update the agent",
        },
        // Its own trouble, which may pass.
        -32603 => Failure::Protocol(format!("{} ({code})", words.unwrap_or("an internal error"))),
        _ => Failure::Refused(format!("{} ({code})", words.unwrap_or("it does not say why"))),
    }
}

/// What is in an answer, or why there is nothing.
fn result(tongue: Tongue, mut answer: Value) -> Result<Value, Failure> {
    if tongue == Tongue::Http {
        return Ok(answer);
    }
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let words = error["message"].as_str().map(|words| clean(words, MAX_SAID));
        return Err(protocol_error(error["code"].as_i64().unwrap_or(0), words.as_deref()));
    }
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(Failure::Protocol("there is neither a result nor an error".to_owned())),
    }
}
