//! Who may come in, and as whom. The one place that decides it.

use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use signoff_core::Actor;

use crate::app::App;
use crate::error::{ApiError, Problem};

/// Decides who comes in.
pub(crate) trait Access: Send + Sync + Debug {
    /// Who makes this request, or why it is refused.
    fn admit(&self, request: &Parts) -> Result<Caller, ApiError>;
}

/// Who makes a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// In whose name decisions are taken and runs started.
    pub(crate) actor: Actor,
    /// Whose runs these are. Keys of one tenant mean nothing to another.
    pub(crate) tenant: Arc<str>,
}

/// Open to programs on this machine. Web pages are programs too, of other people: a page must have
/// come from here, and a name must mean this machine, so that no page can point its own name here.
#[derive(Debug)]
pub(crate) struct Loopback {
    port: u16,
    caller: Caller,
}

impl Loopback {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let caller = Caller { actor: Actor::local(), tenant: "local".into() };
        Self { port: address.port(), caller }
    }

    fn host<'a>(&self, uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, ApiError> {
        let refused = |what: String| {
            let hint = format!("ask for localhost:{} or 127.0.0.1:{}", self.port, self.port);
            ApiError::new(Problem::HostRefused, what).hint(hint)
        };
        let host = match (uri.authority(), headers.get(header::HOST)) {
            (Some(authority), _) => authority.as_str(),
            (None, Some(host)) => host.to_str().map_err(|_| refused("Host is not text".into()))?,
            (None, None) => return Err(refused("there is no Host".into())),
        };
        let (name, port) = split(host);
        if is_loopback(name) && port.unwrap_or(80) == self.port {
            Ok(host)
        } else {
            Err(refused("this server does not go by the name in `Host`".into()))
        }
    }
}

impl Access for Loopback {
    fn admit(&self, request: &Parts) -> Result<Caller, ApiError> {
        let headers = &request.headers;
        let host = self.host(&request.uri, headers)?;
        let refused = |what: &str| {
            ApiError::new(Problem::OriginRefused, what)
                .hint("only pages that come from this server may use it")
        };
        if let Some(origin) = headers.get(header::ORIGIN) {
            let own = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.strip_prefix("http://"))
                .is_some_and(|origin| origin.eq_ignore_ascii_case(host));
            if !own {
                return Err(refused("the request comes from a page of another origin"));
            }
        }
        let site = headers.get(HeaderName::from_static("sec-fetch-site"));
        let foreign = site.is_some_and(|site| site != "same-origin" && site != "none");
        if foreign && request.method != Method::GET && request.method != Method::HEAD {
            return Err(refused("the request comes from a page of another site"));
        }
        Ok(self.caller.clone())
    }
}

/// Name and port of an authority. A name that is an address of version 6 keeps its brackets.
fn split(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port.parse().unwrap_or(0))),
        _ => (host, None),
    }
}

fn is_loopback(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(name);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Lets a request in, with its caller, or answers it.
pub(crate) async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match app.access.admit(&parts) {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(error) => error.into_response(),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| ApiError::internal(&"a route is outside of the access check"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(method: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri("/v1/runs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Loopback::new(([127, 0, 0, 1], 8484).into()).admit(&parts).is_ok()
    }

    #[test]
    fn only_names_of_this_machine_with_this_port_come_in() {
        for good in
            ["localhost:8484", "LOCALHOST:8484", "127.0.0.1:8484", "[::1]:8484", "127.9.9.9:8484"]
        {
            assert!(admitted("GET", &[("host", good)]), "{good}");
        }
        for bad in [
            "",
            "localhost",
            "localhost:80",
            "localhost:84840",
            "127.0.0.1.evil.test:8484",
            "evil.test:8484",
            "0.0.0.0:8484",
            "10.0.0.1:8484",
            "[::1]",
            "[::2]:8484",
            "localhost:8484:8484",
            "localhost.evil.test:8484",
            "127.0.0.1:8484@evil.test",
        ] {
            assert!(!admitted("GET", &[("host", bad)]), "{bad}");
        }
        assert!(!admitted("GET", &[]));
    }

    #[test]
    fn pages_of_others_are_refused() {
        let host = ("host", "localhost:8484");
        assert!(admitted("POST", &[host, ("origin", "http://localhost:8484")]));
        for bad in [
            "null",
            "https://localhost:8484",
            "http://localhost:3000",
            "http://evil.test",
            "http://127.0.0.1:8484",
        ] {
            assert!(!admitted("GET", &[host, ("origin", bad)]), "{bad}");
        }
        assert!(admitted("GET", &[host, ("sec-fetch-site", "cross-site")]), "a link is followed");
        for bad in ["cross-site", "same-site"] {
            assert!(!admitted("POST", &[host, ("sec-fetch-site", bad)]), "{bad}");
        }
        assert!(admitted("POST", &[host, ("sec-fetch-site", "none")]));
    }
}
