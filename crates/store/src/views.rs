//! Who has opened which request. The audit says it once for each person and version, however often they look.

use serde_json::json;
use signoff_core::Actor;
use signoff_core::id::{Name, RequestId};
use signoff_core::time::Timestamp;

/// Somebody opened a request.
#[derive(Clone, Debug)]
pub struct View {
    /// Which one.
    pub request: RequestId,
    /// Its version, as they saw it.
    pub version: u32,
    /// Who.
    pub by: Actor,
    /// The link they opened it by.
    pub link: Option<Name>,
    /// Now.
    pub at: Timestamp,
}

impl View {
    /// What the audit says of it.
    pub(crate) fn said(&self) -> String {
        let said = json!({ "decision": "viewed", "version": self.version }).to_string();
        crate::links::by_link(said, self.link.as_ref())
    }
}
