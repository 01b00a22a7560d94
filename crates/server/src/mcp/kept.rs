//! What a client keeps for us while it asks its own user: which question it is, signed, and bound to who asked it
//! with what. It counts for a while; that an answer counts once is the store's affair.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signoff_core::{Actor, RunId, Span, Tenant, Timestamp, text};

use crate::access::Caller;
use crate::sealed::Key;

/// How long it counts.
const COUNTS_FOR: Span = Span::seconds(7 * 24 * 60 * 60);

/// The question a client asks its user. Its names are short, because it goes back and forth.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    #[serde(rename = "r")]
    run: RunId,
    #[serde(rename = "t")]
    tenant: Tenant,
    #[serde(rename = "p")]
    person: Actor,
    /// What it was asked with.
    #[serde(rename = "d")]
    digest: String,
    #[serde(rename = "u")]
    until: Timestamp,
}

/// A digest of a call: what is kept counts for no other.
pub(super) fn digest(tool: &str, arguments: &Value) -> String {
    text::digest(&json!([tool, arguments]).to_string(), 64)
}

/// What the client keeps.
pub(super) fn seal(
    key: &Key,
    caller: &Caller,
    run: &RunId,
    digest: String,
    now: Timestamp,
) -> Option<String> {
    let kept = Kept {
        run: run.clone(),
        tenant: caller.tenant.clone(),
        person: caller.actor.clone(),
        digest,
        until: now.plus(COUNTS_FOR),
    };
    key.sign(&kept).ok()
}

/// The run that this caller keeps, if it comes back with the same call and in time.
pub(super) fn open(
    key: &Key,
    caller: &Caller,
    kept: &str,
    digest: &str,
    now: Timestamp,
) -> Option<RunId> {
    let kept: Kept = key.open(kept)?;
    let own = kept.tenant == caller.tenant && kept.person == caller.actor;
    (own && kept.digest == digest && now < kept.until).then_some(kept.run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_counts_for_one_call_of_one_caller_for_a_while() {
        let (key, now) = (Key::new("secret"), Timestamp(1_000));
        let caller = Caller::local();
        let run = RunId::from_unique("1");
        let call = digest("ask_human", &json!({ "question": "q" }));
        let kept = seal(&key, &caller, &run, call.clone(), now).unwrap();
        assert_eq!(open(&key, &caller, &kept, &call, now), Some(run));
        let other = Caller { actor: Actor::new("eve"), ..Caller::local() };
        assert_eq!(open(&key, &other, &kept, &call, now), None);
        let other = Caller { tenant: Tenant::new("b"), ..Caller::local() };
        assert_eq!(open(&key, &other, &kept, &call, now), None);
        let another = digest("ask_human", &json!({ "question": "p" }));
        assert_eq!(open(&key, &caller, &kept, &another, now), None);
        assert_eq!(open(&key, &caller, &kept, &call, now.plus(COUNTS_FOR)), None);
        assert_eq!(open(&Key::new("other"), &caller, &kept, &call, now), None);
        assert_eq!(open(&key, &caller, &format!("{kept}x"), &call, now), None);
    }
}
