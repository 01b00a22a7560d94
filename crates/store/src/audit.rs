//! The audit's hash chain: each line is bound to all lines before it.

use std::fmt::Write as _;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use signoff_core::Name;
use signoff_core::journal::{Event, Gated, Input, Outcome};
use signoff_core::policy::{self, Grant};
use signoff_core::time::Timestamp;
use signoff_core::visible::{Secrets, masked};
use signoff_core::{Actor, DecisionKind, RequestBody, RequestId, Tenant, Unanswered};

use crate::{AuditEntry, Noted, PolicyRecord};

/// What the audit says of a request that is asked: of which kind it is, who asks, and what binds it. `stored` is the
/// request as it is kept. What is asked is only bound: it may be anything.
pub(crate) fn requested(body: &RequestBody, stored: &str) -> String {
    let mut said = json!({
        "decision": "requested", "kind": body.kind, "agent": body.agent_path,
        "sha256": hex_sha256(stored.as_bytes()),
    });
    if let Some(at) = body.expires_at {
        said["expires_at"] = at.rfc3339().into();
    }
    // Of a call, or of a step that makes one. Others may put there what they like.
    let shown = [&body.context["digest"], &body.context["action"]["digest"]];
    let mut digests = shown.into_iter().filter_map(Value::as_str);
    if let Some(digest) = digests.find(|text| is_digest(text)) {
        said["digest"] = digest.into();
    }
    said.to_string()
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What it says of a request that nobody answered in time.
pub(crate) const EXPIRED: &str = r#"{"decision":"expired"}"#;

/// What it says of one that others are asked now, which nobody answered in time.
pub(crate) fn escalated(body: &RequestBody) -> Option<String> {
    let stage = body.context["stage"].as_u64().unwrap_or(0) + 1;
    let said = json!({ "decision": "escalated", "stage": stage }).to_string();
    (body.on_timeout == Some(Unanswered::Escalate)).then_some(said)
}

/// What it says of one that people were reminded of.
pub(crate) const REMINDED: &str = r#"{"decision":"reminded"}"#;

/// What it says of one that a decision on another left no place for.
pub(crate) fn withdrawn(reason: &str) -> String {
    json!({ "decision": "withdrawn", "reason": reason }).to_string()
}

/// What lines about a tenant's policy are about.
pub(crate) const POLICY: &str = "policy";

/// What it says of a policy that was set or taken back.
pub(crate) fn policy_set(record: &PolicyRecord) -> String {
    let digest = record.body.as_ref().map(|body| hex_sha256(body.as_bytes()));
    let said = json!({
        "decision": "policy_set", "version": record.version, "sha256": digest,
    });
    said.to_string()
}

/// What it says of something that was noted on a request; none, if there is a line of its own for that. What people write
/// is only bound: it may be anything.
pub(crate) fn noted(what: &Noted) -> Option<String> {
    let said = match what {
        Noted::Claimed => json!({ "decision": "claimed" }),
        Noted::Released => json!({ "decision": "released" }),
        Noted::Assigned { to } => json!({ "decision": "assigned", "to": to }),
        Noted::Deferred { until, .. } => {
            json!({ "decision": "deferred", "until": until.rfc3339() })
        }
        Noted::Commented { text } => {
            json!({ "decision": "commented", "sha256": hex_sha256(text.as_bytes()) })
        }
        Noted::Voted { .. } | Noted::Reminded | Noted::Reopened => return None,
    };
    Some(said.to_string())
}

/// What it says of somebody who stops a run, or lets it go on; and who that is.
pub(crate) fn steered(input: &Input) -> Option<(Actor, String)> {
    let (what, by, reason) = match input {
        Input::Cancel { by, reason } => ("run_cancelled", by, reason.as_deref()),
        Input::Pause { by, reason } => ("run_paused", by, reason.as_deref()),
        Input::Resume { by } => ("run_resumed", by, None),
        _ => return None,
    };
    let mut said = json!({ "decision": what });
    if let Some(reason) = reason {
        said["reason"] = reason.into();
    }
    Some((by.clone(), masked(&said, &Secrets::default()).to_string()))
}

/// What it says of a vote.
pub(crate) fn voted(recorded: &Value, roles: &[Name]) -> String {
    let mut said = json!({ "what": "voted" });
    if let (Value::Object(said), Value::Object(recorded)) = (&mut said, recorded) {
        said.extend(recorded.clone());
        if !roles.is_empty() {
            said.insert("roles".to_owned(), json!(roles));
        }
    }
    said.to_string()
}

/// What it says of a decision that is remembered.
pub(crate) fn granted(grant: &Grant) -> String {
    let said = json!({ "decision": "remembered", "grant": grant });
    masked(&said, &Secrets::default()).to_string()
}

/// What it says of one that was taken back.
pub(crate) fn ended() -> String {
    r#"{"decision":"forgotten"}"#.to_owned()
}

/// What it says of an action that gates judged: what they let pass or denied, that somebody is asked, that an approval is
/// used up.
pub(crate) fn judged(gated: &Gated) -> Option<String> {
    if gated.reasons.is_empty() {
        return None;
    }
    let decision = match gated.outcome {
        policy::Outcome::Ask => "asked",
        outcome if gated.approved.is_empty() => outcome.as_str(),
        _ => "consumed",
    };
    let said = json!({
        "decision": decision, "tool": gated.tool, "digest": gated.digest,
        "reasons": gated.reasons, "approved": gated.approved, "policy": gated.policy,
    });
    Some(said.to_string())
}

/// What it says of a call that gates let pass and that has ended: what came of it is only bound.
pub(crate) fn executed(event: &Event) -> Option<String> {
    let Event::Effect { activation, key, outcome, took, audited: Some(audited), .. } = event else {
        return None;
    };
    let (result, given, error) = match outcome {
        Outcome::Ok(value) => ("ok", Some(value.to_string()), None),
        Outcome::Reply(reply) => ("ok", serde_json::to_string(reply).ok(), None),
        Outcome::Err(error) => ("error", None, Some(&error.code)),
    };
    let mut said = json!({
        "decision": "executed", "tool": audited.tool, "digest": audited.digest,
        "activation": activation, "key": key,
        "result": if audited.marked { "marked" } else { result },
    });
    if let Some(code) = error {
        said["error"] = json!(code);
    }
    if let Some(given) = given {
        said["sha256"] = hex_sha256(given.as_bytes()).into();
    }
    said["took_ms"] = json!(took);
    Some(said.to_string())
}

/// What it says of a run that goes on in another store.
pub(crate) const MOVED_OUT: &str = r#"{"decision":"moved_out"}"#;

/// What it says of a run that comes from another store.
pub(crate) fn taken_in(entries: usize) -> String {
    json!({ "decision": "taken_in", "entries": entries }).to_string()
}

/// Who judges by rules.
pub(crate) fn policy_actor() -> Actor {
    Actor::new("policy")
}

/// Who lets requests expire, and does what runs do by themselves.
pub(crate) fn system_actor() -> Actor {
    Actor::new("system")
}

impl AuditEntry {
    /// The line after `last`, with its hash.
    pub(crate) fn next(
        last: Option<(u64, &str)>,
        at: Timestamp,
        by: Actor,
        request: RequestId,
        tenant: Tenant,
        decision: String,
    ) -> Self {
        let (no, before) = last.unwrap_or((0, ""));
        let mut entry = Self { no: no + 1, at, by, request, tenant, decision, hash: String::new() };
        entry.hash = entry.chained_to(before);
        entry
    }

    /// Whether this line is unchanged and follows the line whose hash is `before`. The first line
    /// follows the empty text.
    pub fn follows(&self, before: &str) -> bool {
        self.hash == self.chained_to(before)
    }

    /// Whether it tells of the end of a request: a decision, an expiry, or that another decision left no place for it. Other
    /// lines are about what was asked and done, votes, what is remembered, policies, and what people did besides deciding.
    pub fn ends_request(&self) -> bool {
        #[derive(Deserialize)]
        struct Line {
            what: Option<IgnoredAny>,
            #[serde(rename = "decision")]
            _end: End,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum End {
            Decided(#[expect(dead_code, reason = "only whether it is one")] DecisionKind),
            Undecided(#[expect(dead_code, reason = "only whether it is one")] Undecided),
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Undecided {
            Expired,
            Withdrawn,
        }
        serde_json::from_str::<Line>(&self.decision).is_ok_and(|line| line.what.is_none())
    }

    fn chained_to(&self, before: &str) -> String {
        // JSON keeps the fields apart, whatever they contain.
        let line = json!([before, self.no, self.at, self.by, self.request, self.decision]);
        hex_sha256(line.to_string().as_bytes())
    }
}

/// SHA-256 in hexadecimal.
pub fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(said: &str) -> bool {
        let (by, tenant) = (system_actor(), Tenant::local());
        AuditEntry::next(None, Timestamp(1), by, "req_a_1".into(), tenant, said.to_owned())
            .ends_request()
    }

    #[test]
    fn only_decisions_expiries_and_withdrawals_end_a_request() {
        for word in ["respond", "approve", "edit", "reject", "revise", "redo", "retry", "skip"] {
            assert!(ends(&format!(r#"{{"decision":"{word}","waited_ms":3,"channel":"http"}}"#)));
        }
        for said in [r#"{"decision":"abort"}"#, r#"{"decision":"rollback"}"#, EXPIRED] {
            assert!(ends(said), "{said}");
        }
        assert!(ends(&withdrawn("another was rejected")));
        // What is told of a gate, of a call and of a vote is no end, and neither is what later versions may tell.
        for word in ["asked", "requested", "executed", "consumed", "allow", "deny", "viewed", "new"]
        {
            assert!(!ends(&format!(r#"{{"decision":"{word}"}}"#)), "{word}");
        }
        assert!(!ends(r#"{"what":"voted","decision":"approve"}"#));
        assert!(!ends("no JSON") && !ends("{}") && !ends(r#"{"decision":["approve"]}"#));
    }
}
