//! The client: a request goes out if the policy allows it, and comes back within its limits.

use std::net::IpAddr;
use std::sync::{Arc, Once};

use bytes::Bytes;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue, LOCATION,
    PROXY_AUTHORIZATION, TRANSFER_ENCODING,
};
use reqwest::{Method, StatusCode, Url, redirect};
use tokio::time::{Instant, timeout};

use crate::error::NetError;
use crate::policy::Policy;
use crate::resolver::{Guard, Lookup, SystemLookup, check};
use crate::response::Response;

/// What identifies us to others.
const USER_AGENT: &str = concat!("signoff/", env!("CARGO_PKG_VERSION"));

/// A request. Its `Debug` shows the host and no header, no query, no body.
#[derive(Clone)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// Where.
    pub url: Url,
    /// With which headers.
    pub headers: HeaderMap,
    /// With which body.
    pub body: Bytes,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Bytes::new() }
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host = self.url.host_str().unwrap_or_default();
        let mut shown = f.debug_struct("Request");
        shown.field("method", &self.method).field("host", &host).finish_non_exhaustive()
    }
}

/// The guarded client. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    inner: reqwest::Client,
    policy: Arc<Policy>,
}

impl Client {
    /// A client under `policy`.
    pub fn new(policy: Policy) -> Result<Self, NetError> {
        Self::with_lookup(policy, Arc::new(SystemLookup))
    }

    /// A client under `policy` that resolves names with `lookup`; what it finds is checked all the same.
    pub fn with_lookup(policy: Policy, lookup: Arc<dyn Lookup>) -> Result<Self, NetError> {
        install_crypto();
        let policy = Arc::new(policy);
        let guard = Arc::new(Guard { policy: Arc::clone(&policy), lookup });
        let built = builder(&guard).build();
        // A machine without a certificate store can still talk to its neighbours, and to the rest of
        // the world by the roots that came with us.
        let built = built.or_else(|_| builder(&guard).tls_certs_only(own_roots()).build());
        let inner = built.map_err(|_| NetError::Tls {
            host: "this machine".to_owned(),
            problem: "TLS cannot be set up".to_owned(),
        })?;
        Ok(Self { inner, policy })
    }

    /// The policy it holds to.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sends `request` and gives its response as soon as the head is there.
    pub async fn send(&self, mut request: Request) -> Result<Response, NetError> {
        let deadline = Instant::now() + self.policy.total_timeout;
        let mut redirects = 0;
        loop {
            let host = self.check(&request.url)?;
            let inner = self.exchange(&request, &host, deadline).await?;
            let Some(next) = redirected(&inner, &request.url) else {
                return Ok(Response::new(inner, host, &self.policy, deadline));
            };
            if self.policy.max_redirects == 0 {
                return Ok(Response::new(inner, host, &self.policy, deadline));
            }
            redirects += 1;
            if redirects > self.policy.max_redirects {
                let limit = self.policy.max_redirects;
                return Err(NetError::refused(
                    &host,
                    format!("it redirected more than {limit} times"),
                ));
            }
            request = follow(request, next, inner.status());
        }
    }

    async fn exchange(
        &self,
        request: &Request,
        host: &str,
        deadline: Instant,
    ) -> Result<reqwest::Response, NetError> {
        let policy = &self.policy;
        let sending = self
            .inner
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone())
            .body(request.body.clone())
            .send();
        let left = deadline.saturating_duration_since(Instant::now());
        let head = policy.first_byte_timeout.saturating_add(policy.connect_timeout);
        let (limit, phase, named) = if left < head {
            (left, "the whole exchange", policy.total_timeout)
        } else {
            (head, "the first byte of the response", policy.first_byte_timeout)
        };
        match timeout(limit, sending).await {
            Ok(sent) => sent.map_err(|error| {
                NetError::from_client(host, &error, policy.connect_timeout, false)
            }),
            Err(_) => Err(NetError::Timeout { host: host.to_owned(), phase, limit: named }),
        }
    }

    /// Whether the policy would let it go there, as far as can be known before a name is resolved.
    pub fn admit(&self, url: &Url) -> Result<(), NetError> {
        self.check(url).map(drop)
    }

    /// Checks what can be checked before a name is resolved, and gives the host's name for errors.
    fn check(&self, url: &Url) -> Result<String, NetError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        if !self.policy.allows_scheme(url.scheme()) {
            let reason = match url.scheme() {
                "http" => "it must be reached over https".to_owned(),
                other => format!("`{other}` is not a scheme that is used here"),
            };
            return Err(NetError::refused(&host, reason));
        }
        if host.is_empty() {
            return Err(NetError::refused("the URL", "it names no host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(NetError::refused(&host, "a URL must not carry a user name or password"));
        }
        // The client underneath never asks the resolver about an address.
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = literal.parse::<IpAddr>() {
            check(&self.policy, &host, address)?;
        }
        Ok(host)
    }
}

/// The crypto of every TLS connection, chosen once and not by whatever is linked in.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If the program has installed one of its own already, that one stays.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    });
}

fn own_roots() -> Vec<reqwest::Certificate> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .filter_map(|root| reqwest::Certificate::from_der(root).ok())
        .collect()
}

fn builder(guard: &Arc<Guard>) -> reqwest::ClientBuilder {
    let policy = &guard.policy;
    reqwest::Client::builder()
        .dns_resolver(Arc::clone(guard))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .user_agent(USER_AGENT)
        .connect_timeout(policy.connect_timeout)
        .http2_max_header_list_size(policy.max_header_bytes)
        // Who retries is decided where it is known whether that does harm.
        .retry(reqwest::retry::never())
}

/// Where a response sends us, if it does.
fn redirected(response: &reqwest::Response, from: &Url) -> Option<Url> {
    let follows = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let location = follows.then(|| response.headers().get(LOCATION))??;
    from.join(location.to_str().ok()?).ok()
}

/// The request that a redirect asks for. Credentials do not follow to another origin.
fn follow(mut request: Request, to: Url, status: StatusCode) -> Request {
    let keeps_method =
        matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
            || matches!(request.method, Method::GET | Method::HEAD);
    if !keeps_method {
        request.method = Method::GET;
        request.body = Bytes::new();
        for header in [CONTENT_TYPE, CONTENT_LENGTH, TRANSFER_ENCODING] {
            request.headers.remove(header);
        }
    }
    if request.url.origin() != to.origin() {
        for header in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
            request.headers.remove(header);
        }
        let sensitive: Vec<_> = request
            .headers
            .iter()
            .filter(|(_, value)| HeaderValue::is_sensitive(value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in sensitive {
            request.headers.remove(name);
        }
    }
    request.url = to;
    request
}
