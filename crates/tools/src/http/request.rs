//! What an agent asks for, made into a request.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use signoff_net::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use signoff_net::{Method, Request, Url};

use crate::builtin::{arguments, head};
use crate::tool::ToolError;

/// Headers that belong to the connection, to us or to the operator.
const REFUSED: [&str; 18] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
];
/// Headers that may follow a redirect to somewhere else.
const HARMLESS: [&str; 3] = ["accept", "accept-language", "user-agent"];
/// How much of a body is shown beforehand, in bytes of JSON.
const SHOWN: usize = 64 * 1024;
/// What tells a server that two attempts are one request.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    head: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Any {
    method: String,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    json: Option<Value>,
}

/// A request that an agent wants, before anything of the operator's is added.
#[derive(Debug)]
pub(super) struct Wanted {
    method: Method,
    pub(super) url: Url,
    headers: HeaderMap,
    body: String,
}

impl Wanted {
    pub(super) fn get(given: &Value) -> Result<Self, ToolError> {
        let wanted: Get = arguments(given)?;
        let method = if wanted.head { Method::HEAD } else { Method::GET };
        let (url, headers) = (url(&wanted.url)?, headers(&wanted.headers)?);
        Ok(Self { method, url, headers, body: String::new() })
    }

    pub(super) fn any(given: &Value) -> Result<Self, ToolError> {
        let wanted: Any = arguments(given)?;
        let bad = |why: String| ToolError::new("bad_arguments", why);
        let method = wanted
            .method
            .parse()
            .map_err(|_| bad(format!("`{}` is not a method", wanted.method)))?;
        let mut headers = headers(&wanted.headers)?;
        let body = match (wanted.body, wanted.json) {
            (Some(_), Some(_)) => return Err(bad("give either `body` or `json`".to_owned())),
            (Some(body), None) => body,
            (None, Some(value)) => {
                let json = HeaderValue::from_static("application/json");
                headers.entry(CONTENT_TYPE).or_insert(json);
                value.to_string()
            }
            (None, None) => String::new(),
        };
        Ok(Self { method, url: url(&wanted.url)?, headers, body })
    }

    /// Lets a server that knows how see a second attempt at this call for what it is.
    pub(super) fn mark(&mut self, idempotency_key: &str) {
        if matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return;
        }
        let mut key = String::new();
        for byte in Sha256::digest(idempotency_key.as_bytes()).iter().take(16) {
            // Writing to a string cannot fail.
            let _ = write!(key, "{byte:02x}");
        }
        if let Ok(key) = HeaderValue::from_str(&key) {
            self.headers.entry(IDEMPOTENCY_KEY).or_insert(key);
        }
    }

    /// Goes where a redirect says. What an agent set for one host is not for another.
    pub(super) fn go_on(&mut self, to: Url) {
        if to.origin() != self.url.origin() {
            let kept = self.headers.iter().filter(|(name, _)| HARMLESS.contains(&name.as_str()));
            self.headers = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        }
        self.url = to;
    }

    pub(super) fn request(&self) -> Request {
        Request {
            method: self.method.clone(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: Bytes::from(self.body.clone()),
        }
    }

    /// For a person to see before it is sent.
    pub(super) fn shown(&self) -> Value {
        let mut detail = format!("{} {}\n", self.method, self.url);
        for (name, value) in &self.headers {
            let value = value.to_str().unwrap_or("…");
            let _ = writeln!(detail, "{name}: {value}");
        }
        let body = head(&self.body, SHOWN);
        let _ = write!(detail, "\n{body}");
        if body.len() < self.body.len() {
            let _ = write!(detail, "\n… {} bytes more …", self.body.len() - body.len());
        }
        let host = self.url.host_str().unwrap_or_default();
        json!({ "summary": format!("{} {host}{}", self.method, self.url.path()), "detail": detail })
    }
}

fn url(text: &str) -> Result<Url, ToolError> {
    Url::parse(text)
        .map_err(|error| ToolError::new("bad_url", format!("this is not an address: {error}")))
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, ToolError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let bad = |why: &str| ToolError::new("bad_header", format!("the header `{name}` {why}"));
        let name: HeaderName = name.parse().map_err(|_| bad("has no valid name"))?;
        if REFUSED.contains(&name.as_str()) {
            return Err(bad("cannot be set here: it belongs to the connection or to the operator"));
        }
        let value =
            HeaderValue::from_str(value).map_err(|_| bad("has a value that cannot be sent"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}
