//! A provider behind HTTP: one request, one reply, no second try.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use signoff_core::Timestamp;
use signoff_net::header::HeaderMap;
use signoff_net::{Client, Method, NetError, Policy, Request, Response, Secret, Url};

use crate::assembly::Sink;
use crate::failure;
use crate::protocol::{Protocol, Settings, Stream};
use crate::provider::{BoxFuture, ModelError, ModelIdentity, ModelReply, ModelRequest, Provider};
use crate::retry_after;

/// How much of an error's body is read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Where a provider gets the time from.
pub(crate) type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A client that is made when it is first needed: reading the machine's certificates takes a while,
/// and most commands of a program never ask a model.
pub(crate) struct LazyClient {
    policy: Policy,
    made: OnceLock<Result<Client, NetError>>,
}

impl LazyClient {
    pub(crate) fn new(policy: Policy) -> Self {
        Self { policy, made: OnceLock::new() }
    }

    fn get(&self) -> &Result<Client, NetError> {
        self.made.get_or_init(|| Client::new(self.policy.clone()))
    }
}

/// A server that speaks a protocol.
pub(crate) struct Http {
    pub(crate) alias: String,
    pub(crate) protocol: Protocol,
    pub(crate) settings: Settings,
    pub(crate) client: LazyClient,
    pub(crate) url: Url,
    /// All headers, the key among them and marked as sensitive.
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<Secret>,
    pub(crate) key_env: Option<String>,
    pub(crate) now: Now,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("alias", &self.alias)
            .field("protocol", &self.protocol)
            .field("model", &self.settings.model)
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

impl Provider for Http {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: Sink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move { self.ask(request, sink).await.map_err(|error| self.scrubbed(error)) })
    }

    fn identity(&self) -> Option<ModelIdentity> {
        let port = self.url.port_or_known_default().unwrap_or_default();
        Some(ModelIdentity {
            provider: self.protocol.provider(),
            model: Some(self.settings.model.as_str().into()),
            server: self.url.host_str().map(|host| (host.to_owned(), port)),
        })
    }
}

impl Http {
    async fn ask(&self, request: &ModelRequest, sink: Sink<'_>) -> Result<ModelReply, ModelError> {
        if let (None, Some(env)) = (&self.key, &self.key_env) {
            return Err(failure::no_key(&self.alias, env));
        }
        let body = self.protocol.body(request, &self.settings);
        let outgoing = Request {
            headers: self.headers.clone(),
            body: body.to_string().into(),
            ..Request::new(Method::POST, self.url.clone())
        };
        let sent = match self.client.get() {
            Ok(client) => client.send(outgoing).await,
            Err(error) => Err(error.clone()),
        };
        let response = sent.map_err(|error| failure::network(&error))?;
        if !response.status().is_success() {
            return Err(self.failed(response).await);
        }
        let media = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
        if media.starts_with("application/json") {
            return self.whole(request, response, sink).await;
        }
        if media.starts_with("text/html") {
            return Err(failure::malformed(&"it is a web page"));
        }
        self.stream(request, response, sink).await
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        mut response: Response,
        sink: Sink<'_>,
    ) -> Result<ModelReply, ModelError> {
        let mut stream = Stream::new(self.protocol.reader(request), sink);
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => stream.push(&chunk)?,
                Ok(None) => return stream.finish(),
                Err(error) => {
                    // Some servers break the connection instead of ending it. If all is there, all is well.
                    return match stream.finish() {
                        Ok(reply) => Ok(reply),
                        Err(_) => Err(failure::network(&error)),
                    };
                }
            }
        }
    }

    async fn whole(
        &self,
        request: &ModelRequest,
        response: Response,
        sink: Sink<'_>,
    ) -> Result<ModelReply, ModelError> {
        let body = response.bytes().await.map_err(|error| failure::network(&error))?;
        let body: Value = serde_json::from_slice(&body)
            .map_err(|_| failure::malformed(&"it says it is JSON and is not"))?;
        let mut reader = self.protocol.reader(request);
        reader.whole(&body, sink)?;
        reader.finish()
    }

    async fn failed(&self, response: Response) -> ModelError {
        let status = response.status();
        let wait = response
            .header("retry-after-ms")
            .and_then(|ms| ms.trim().parse().ok().map(std::time::Duration::from_millis))
            .or_else(|| retry_after::parse(response.header("retry-after")?, (self.now)()));
        let body = response.beginning(MAX_ERROR_BYTES).await;
        ModelError { retry_after: wait, ..failure::status(status, &body, self.key_env.as_deref()) }
    }

    /// The error without the key, should the server have quoted it.
    fn scrubbed(&self, mut error: ModelError) -> ModelError {
        if let Some(key) = &self.key {
            error.info.message = key.scrub(&error.info.message);
            error.info.hint = error.info.hint.map(|hint| key.scrub(&hint));
        }
        error
    }
}
