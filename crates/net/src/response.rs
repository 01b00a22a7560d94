//! A response that is read piece by piece and never beyond its limits.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};
use tokio::time::{Instant, timeout};

use crate::error::NetError;
use crate::policy::Policy;

/// A response. Dropping it closes the exchange.
#[derive(Debug)]
pub struct Response {
    inner: reqwest::Response,
    host: String,
    idle: Duration,
    deadline: Instant,
    total: Duration,
    connect: Duration,
    read: u64,
    limit: u64,
}

impl Response {
    pub(crate) fn new(
        inner: reqwest::Response,
        host: String,
        policy: &Policy,
        deadline: Instant,
    ) -> Self {
        Self {
            inner,
            host,
            idle: policy.idle_timeout,
            deadline,
            total: policy.total_timeout,
            connect: policy.connect_timeout,
            read: 0,
            limit: policy.max_response_bytes,
        }
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.inner.status()
    }

    /// Its headers.
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// A header as text, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Where it came from, after redirects.
    pub fn url(&self) -> &Url {
        self.inner.url()
    }

    /// The next piece of the body, or `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (limit, phase, named) = if left < self.idle {
            (left, "the whole exchange", self.total)
        } else {
            (self.idle, "the next piece of the response", self.idle)
        };
        let chunk = match timeout(limit, self.inner.chunk()).await {
            Ok(chunk) => chunk
                .map_err(|error| NetError::from_client(&self.host, &error, self.connect, true))?,
            Err(_) => {
                return Err(NetError::Timeout { host: self.host.clone(), phase, limit: named });
            }
        };
        if let Some(chunk) = &chunk {
            self.read = self.read.saturating_add(chunk.len() as u64);
            if self.read > self.limit {
                return Err(NetError::TooLarge { host: self.host.clone(), limit: self.limit });
            }
        }
        Ok(chunk)
    }

    /// The whole body.
    pub async fn bytes(mut self) -> Result<Vec<u8>, NetError> {
        if self.inner.content_length().is_some_and(|length| length > self.limit) {
            return Err(NetError::TooLarge { host: self.host, limit: self.limit });
        }
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// The beginning of the body, `most` bytes or less, whatever happens to the rest.
    pub async fn beginning(mut self, most: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < most {
            match self.chunk().await {
                Ok(Some(chunk)) => all.extend_from_slice(&chunk),
                _ => break,
            }
        }
        all.truncate(most);
        all
    }
}
