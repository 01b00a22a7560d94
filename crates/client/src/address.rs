//! Where a server is, and how its paths are written.

use std::fmt::Write as _;

use serde_json::Value;
use signoff_net::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use signoff_net::{Method, Secret, Url};

use crate::error::ClientError;

/// Where a server is and how to come in. The token is shown by nothing.
#[derive(Clone, Debug)]
pub struct Address {
    pub(crate) base: Url,
    pub(crate) token: Option<Secret>,
}

impl Address {
    /// Reads an address. A password in it is a token: `http://me:TOKEN@host:8484`.
    pub fn new(text: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address(text.to_owned());
        let mut base: Url = text.trim_end_matches('/').parse().map_err(|_| wrong())?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(wrong());
        }
        let inside = base.password().map(ToOwned::to_owned);
        base.set_username("").and_then(|()| base.set_password(None)).map_err(|()| wrong())?;
        base.set_query(None);
        base.set_fragment(None);
        let token = token.map(ToOwned::to_owned).or(inside).filter(|it| !it.trim().is_empty());
        Ok(Self { base, token: token.map(|it| Secret::new(&it)) })
    }

    /// The address without the token.
    pub fn shown(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    pub(crate) fn at(&self, path: &str) -> Result<Url, ClientError> {
        let whole = format!("{}{path}", self.shown());
        whole.parse().map_err(|_| ClientError::Address(whole))
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<signoff_net::Request, ClientError> {
        let mut request = signoff_net::Request::new(method, self.at(path)?);
        if let Some(token) = &self.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
                .map_err(|_| ClientError::strange("the token is not text that can be sent"))?;
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        if let Some(body) = body {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = body.to_string().into();
        }
        Ok(request)
    }
}

/// Text as one part of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_token_to_itself() {
        let address = Address::new("http://me:sgn_secret@host:8484/", None).unwrap();
        assert_eq!(address.shown(), "http://host:8484");
        assert!(!format!("{address:?}").contains("sgn_secret"));
        let request = address.request(Method::GET, "/v1/session", None).unwrap();
        assert_eq!(request.headers[AUTHORIZATION], "Bearer sgn_secret");
        assert_eq!(request.url.as_str(), "http://host:8484/v1/session");
        let other = Address::new("https://host/base", Some("t")).unwrap();
        assert_eq!(other.at("/x").unwrap().as_str(), "https://host/base/x");
        for wrong in ["", "host:8484", "ftp://host", "nonsense"] {
            assert!(matches!(Address::new(wrong, None), Err(ClientError::Address(_))), "{wrong}");
        }
    }

    #[test]
    fn text_is_one_part_of_a_path() {
        assert_eq!(segment("req_1-2.x"), "req_1-2.x");
        assert_eq!(segment("a/../b?c é"), "a%2F..%2Fb%3Fc%20%C3%A9");
    }
}
