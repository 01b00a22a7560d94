//! The audit's hash chain: each line is bound to all lines before it.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RequestId, Tenant};

use crate::AuditEntry;

/// What the audit says of a request that nobody answered in time.
pub(crate) const EXPIRED: &str = r#"{"decision":"expired"}"#;

/// Who lets requests expire.
pub(crate) fn clock_actor() -> Actor {
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

    fn chained_to(&self, before: &str) -> String {
        // JSON keeps the fields apart, whatever they contain.
        let line =
            serde_json::json!([before, self.no, self.at, self.by, self.request, self.decision]);
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
