//! What stands in a link: what it is for, and a signature over that.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use signoff_core::{Actor, DecisionKind, Name, RequestId, Timestamp};

/// The longest token that is looked at, in bytes.
const MAX_TOKEN: usize = 2048;

/// What a link is for. Its names are short, because it stands in a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Link {
    #[serde(rename = "r")]
    pub(super) request: RequestId,
    /// The version of the request that it is for.
    #[serde(rename = "v")]
    pub(super) version: u32,
    /// Who decides with it.
    #[serde(rename = "p")]
    pub(super) person: Actor,
    /// What they may decide.
    #[serde(rename = "d")]
    pub(super) decisions: Vec<DecisionKind>,
    /// Until when.
    #[serde(rename = "u")]
    pub(super) until: Timestamp,
    /// What the audit knows it by; no two links have the same.
    #[serde(rename = "n")]
    pub(super) id: Name,
}

/// Signs links. What it is made of is shown by nothing.
pub(crate) struct Key(hmac::Key);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    pub(crate) fn new(secret: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
    }

    /// The token of a link.
    pub(super) fn sign(&self, link: &Link) -> Result<String, serde_json::Error> {
        let said = BASE64.encode(serde_json::to_vec(link)?);
        let signature = BASE64.encode(hmac::sign(&self.0, said.as_bytes()));
        Ok(format!("{said}.{signature}"))
    }

    /// The link of a token, if it was signed here.
    pub(super) fn open(&self, token: &str) -> Option<Link> {
        let (said, signature) = token.split_once('.').filter(|_| token.len() <= MAX_TOKEN)?;
        let signature = BASE64.decode(signature).ok()?;
        // Takes as long for any wrong signature.
        hmac::verify(&self.0, said.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&BASE64.decode(said).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_here_is_opened() {
        let key = Key::new("secret");
        let kinds = vec![DecisionKind::Approve, DecisionKind::Reject];
        let link = |person: &str| {
            let (request, person) = (RequestId::new("req_1_1"), Actor::new(person));
            let (decisions, until) = (kinds.clone(), Timestamp(7));
            Link { request, version: 3, person, decisions, until, id: "x".into() }
        };
        let token = key.sign(&link("bob")).unwrap();
        assert_eq!(key.open(&token), Some(link("bob")));
        assert!(token.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it)));
        assert_eq!(Key::new("other").open(&token), None);
        for place in 0..token.len() {
            for other in [b'A', b'B', b'.', b'='] {
                let mut altered = token.clone().into_bytes();
                altered[place] = other;
                let altered = String::from_utf8(altered).unwrap();
                assert!(altered == token || key.open(&altered).is_none(), "{altered}");
            }
        }
        // What one link says with the signature of another.
        let other = key.sign(&link("eve")).unwrap();
        let (said, signature) =
            (other.split('.').next().unwrap(), token.split('.').nth(1).unwrap());
        for wrong in [&format!("{said}.{signature}"), said, "", ".", &format!("{said}.")] {
            assert_eq!(key.open(wrong), None, "{wrong}");
        }
        assert_eq!(key.open(&key.sign(&link(&"b".repeat(MAX_TOKEN))).unwrap()), None);
    }
}
