//! An action that a gate with `ask: audit` is about: nobody is asked, and it is told.

use serde_json::{Value, json};
use signoff_core::Timestamp;
use signoff_core::journal::Event;
use signoff_core::visible::{Secrets, masked};
use signoff_store::{RequestEvent, Store, StoreError};

use super::event::id;
use super::words::cut;

/// The longest name, in characters.
const NAME: usize = 150;

/// What was done, or denied, without secrets.
#[derive(Clone, Debug)]
pub struct Audited {
    /// The same however often it is told.
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) action: Value,
}

impl Audited {
    /// What is said of `event`; none, if there is no such run any more.
    pub(super) fn of(
        store: &dyn Store,
        event: &RequestEvent,
        secrets: &Secrets,
    ) -> Result<Option<Self>, StoreError> {
        let Some((run, number)) = event.audited() else { return Ok(None) };
        let Some(record) = store.run(&run)? else { return Ok(None) };
        let found = store.entries(&run, number.saturating_sub(1), 1)?;
        let Some(Event::Gated(gated)) = found.first().map(|entry| &entry.event) else {
            return Ok(None);
        };
        let action = json!({
            "run": run,
            "entry": number,
            "workflow": record.workflow,
            "tenant": record.tenant,
            "tool": gated.tool,
            "outcome": gated.outcome.as_str(),
            "reasons": gated.reasons,
            "approved": gated.approved,
            "digest": gated.digest,
            "policy": gated.policy,
            "action": gated.action,
        });
        // It leaves the house, the arguments included.
        let action = masked(&action, secrets);
        Ok(Some(Self { id: id(event), at: event.at, action }))
    }

    /// All of it in a line, for people.
    pub(super) fn line(&self) -> String {
        let word = |value: &Value| cut(value.as_str().unwrap_or_default(), NAME);
        let action = &self.action;
        let (workflow, tool) = (word(&action["workflow"]), word(&action["tool"]));
        let who = word(&action["action"]["agent"]);
        match action["outcome"].as_str() {
            Some("deny") => format!("{workflow}: {who} may not call {tool}"),
            _ => format!("{workflow}: {who} calls {tool}"),
        }
    }

    /// The gates that want it told, by name.
    pub(super) fn gates(&self) -> String {
        let reasons = self.action["reasons"].as_array().into_iter().flatten();
        let gates = reasons.filter(|reason| reason["criterion"] == "audit");
        let names: Vec<&str> = gates.filter_map(|reason| reason["gate"].as_str()).collect();
        cut(&names.join(", "), NAME)
    }
}
