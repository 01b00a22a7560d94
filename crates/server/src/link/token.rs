//! What stands in a link: what it is for, and a signature over that.

use serde::{Deserialize, Serialize};
use signoff_core::{Actor, DecisionKind, Name, RequestId, Timestamp};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::{Key, MAX_TOKEN};

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
        assert_eq!(Key::new("other").open::<Link>(&token), None);
        for place in 0..token.len() {
            for other in [b'A', b'B', b'.', b'='] {
                let mut altered = token.clone().into_bytes();
                altered[place] = other;
                let altered = String::from_utf8(altered).unwrap();
                assert!(altered == token || key.open::<Link>(&altered).is_none(), "{altered}");
            }
        }
        // What one link says with the signature of another.
        let other = key.sign(&link("eve")).unwrap();
        let (said, signature) =
            (other.split('.').next().unwrap(), token.split('.').nth(1).unwrap());
        for wrong in [&format!("{said}.{signature}"), said, "", ".", &format!("{said}.")] {
            assert_eq!(key.open::<Link>(wrong), None, "{wrong}");
        }
        assert_eq!(key.open::<Link>(&key.sign(&link(&"b".repeat(MAX_TOKEN))).unwrap()), None);
    }
}
