//! What people set for all runs of a tenant: its policy, and decisions that are remembered.

use signoff_core::Actor;
use signoff_core::id::{Name, Tenant};
use signoff_core::time::Timestamp;

/// A policy that was set, or taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRecord {
    /// Grows with each change.
    pub version: u64,
    /// The policy as JSON; none if it was taken back.
    pub body: Option<String>,
    /// Who set it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// A policy to set. The same again changes nothing.
#[derive(Clone, Debug)]
pub struct PutPolicy {
    /// Whose.
    pub tenant: Tenant,
    /// The policy as JSON; none takes it back.
    pub body: Option<String>,
    /// The version it is meant to replace, if that matters; 0 for none.
    pub replaces: Option<u64>,
    /// By whom.
    pub by: Actor,
    /// Now.
    pub at: Timestamp,
}

/// What came of setting a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyPut {
    /// It is set, or was so before.
    Done(PolicyRecord),
    /// Another one was set meanwhile. Nothing changed.
    Stale(Option<PolicyRecord>),
}

/// A remembered decision to take back.
#[derive(Clone, Debug)]
pub struct EndGrant {
    /// Whose.
    pub tenant: Tenant,
    /// Which.
    pub id: Name,
    /// By whom.
    pub by: Actor,
    /// Now.
    pub at: Timestamp,
}

impl PutPolicy {
    /// The policy after `now`; or what stands, if nothing is to change.
    pub(crate) fn after(&self, now: Option<PolicyRecord>) -> Result<PolicyRecord, PolicyPut> {
        let version = now.as_ref().map_or(0, |now| now.version);
        if self.replaces.is_some_and(|seen| seen != version) {
            return Err(PolicyPut::Stale(now));
        }
        match now {
            Some(now) if now.body == self.body => Err(PolicyPut::Done(now)),
            _ => Ok(PolicyRecord {
                version: version + 1,
                body: self.body.clone(),
                by: self.by.clone(),
                at: self.at,
            }),
        }
    }
}
