//! Links by which people decide. Nothing is kept of one but what the audit says: a link carries what it is for, signed.

use serde_json::{Value, json};
use signoff_core::Actor;
use signoff_core::id::{Name, RequestId};
use signoff_core::time::Timestamp;

/// A link that was made.
#[derive(Clone, Debug)]
pub struct AddLink {
    /// On which request.
    pub request: RequestId,
    /// What the link is known by in the audit. It opens nothing.
    pub id: Name,
    /// Who decides with it.
    pub person: Actor,
    /// Until when it counts.
    pub until: Timestamp,
    /// Who made it.
    pub by: Actor,
    /// Now.
    pub at: Timestamp,
}

impl AddLink {
    /// What the audit says of it.
    pub(crate) fn said(&self) -> String {
        let until = self.until.rfc3339();
        json!({ "decision": "linked", "link": self.id, "for": self.person, "until": until })
            .to_string()
    }
}

/// What the audit says of something that was decided: that, and the link it came by.
pub(crate) fn by_link(decision: String, link: Option<&Name>) -> String {
    let Some(link) = link else { return decision };
    match serde_json::from_str(&decision) {
        Ok(Value::Object(mut said)) => {
            said.insert("link".to_owned(), json!(link));
            Value::Object(said).to_string()
        }
        _ => decision,
    }
}
