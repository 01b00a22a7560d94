//! Names and origins. Web pages are programs of other people: a page must have come from here, or from where the
//! operator said, and on a machine's own address a name must mean this machine, so that no page can point its own
//! name here.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};

use crate::error::{ApiError, Problem};

/// Whose pages may ask.
#[derive(Debug)]
pub(super) struct Origins {
    /// The port, if the server is for this machine only.
    loopback: Option<u16>,
    /// Other origins, as browsers write them.
    allowed: Vec<String>,
}

impl Origins {
    pub(super) fn new(loopback: Option<u16>, allowed: &[String]) -> Self {
        let plain = |origin: &String| origin.trim_end_matches('/').to_ascii_lowercase();
        Self { loopback, allowed: allowed.iter().map(plain).collect() }
    }

    /// The origin of a request that comes from a page of an allowed other origin.
    pub(super) fn foreign(&self, request: &Parts) -> Option<HeaderValue> {
        let origin = request.headers.get(header::ORIGIN)?;
        self.is_allowed(origin).then(|| origin.clone())
    }

    fn is_allowed(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|it| self.allowed.iter().any(|own| it.eq_ignore_ascii_case(own)))
    }

    /// Refuses pages of others, and names of others.
    pub(super) fn check(&self, request: &Parts) -> Result<(), ApiError> {
        let headers = &request.headers;
        let host = self.host(&request.uri, headers)?;
        let refused = |what: &str| {
            ApiError::new(Problem::OriginRefused, what)
                .hint("only pages that come from this server may use it; or see --origin")
        };
        if let Some(origin) = headers.get(header::ORIGIN) {
            if self.is_allowed(origin) {
                return Ok(());
            }
            if !self.is_own(origin, host) {
                return Err(refused("the request comes from a page of another origin"));
            }
        }
        let site = headers.get(HeaderName::from_static("sec-fetch-site"));
        let foreign = site.is_some_and(|site| site != "same-origin" && site != "none");
        if foreign && request.method != Method::GET && request.method != Method::HEAD {
            return Err(refused("the request comes from a page of another site"));
        }
        Ok(())
    }

    fn is_own(&self, origin: &HeaderValue, host: &str) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let own = |scheme: &str| {
            origin.strip_prefix(scheme).is_some_and(|origin| origin.eq_ignore_ascii_case(host))
        };
        // What stands before a server for others may speak TLS for it.
        own("http://") || (self.loopback.is_none() && own("https://"))
    }

    fn host<'a>(&self, uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, ApiError> {
        let refused = |what: &str| {
            let error = ApiError::new(Problem::HostRefused, what);
            match self.loopback {
                Some(port) => error.hint(format!("ask for localhost:{port} or 127.0.0.1:{port}")),
                None => error,
            }
        };
        let host = match (uri.authority(), headers.get(header::HOST)) {
            (Some(authority), _) => authority.as_str(),
            (None, Some(host)) => host.to_str().map_err(|_| refused("Host is not text"))?,
            (None, None) => return Err(refused("there is no Host")),
        };
        let Some(own) = self.loopback else { return Ok(host) };
        let (name, port) = split(host);
        if is_loopback(name) && port.unwrap_or(80) == own {
            Ok(host)
        } else {
            Err(refused("this server does not go by the name in `Host`"))
        }
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

#[cfg(test)]
mod tests {
    use axum::extract::Request;

    use super::*;

    fn admitted(origins: &Origins, method: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri("/v1/runs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        origins.check(&parts).is_ok()
    }

    fn loopback() -> Origins {
        Origins::new(Some(8484), &["https://desk.test/".to_owned()])
    }

    #[test]
    fn only_names_of_this_machine_with_this_port_come_in() {
        let admitted = |host| admitted(&loopback(), "GET", &[("host", host)]);
        for good in
            ["localhost:8484", "LOCALHOST:8484", "127.0.0.1:8484", "[::1]:8484", "127.9.9.9:8484"]
        {
            assert!(admitted(good), "{good}");
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
            assert!(!admitted(bad), "{bad}");
        }
        assert!(!super::tests::admitted(&loopback(), "GET", &[]));
    }

    #[test]
    fn pages_of_others_are_refused() {
        let host = ("host", "localhost:8484");
        let admitted = |method, headers: &[_]| admitted(&loopback(), method, headers);
        assert!(admitted("POST", &[host, ("origin", "http://localhost:8484")]));
        assert!(admitted("POST", &[host, ("origin", "https://desk.test")]));
        for bad in [
            "null",
            "https://localhost:8484",
            "http://localhost:3000",
            "http://evil.test",
            "http://desk.test",
            "https://desk.test.evil.test",
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

    #[test]
    fn a_server_for_others_goes_by_any_name() {
        let open = Origins::new(None, &[]);
        let host = ("host", "signoff.test");
        assert!(admitted(&open, "POST", &[host]));
        assert!(admitted(&open, "POST", &[host, ("origin", "https://signoff.test")]));
        assert!(!admitted(&open, "GET", &[host, ("origin", "https://evil.test")]));
        assert!(!admitted(&open, "GET", &[]));
    }
}
