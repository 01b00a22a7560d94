//! What is kept of somebody who is told: where to, in which version, and with whose eyes the task is seen.

use serde::{Deserialize, Serialize};
use signoff_a2a::wire::PushConfig;
use signoff_core::{Actor, Name, Timestamp};
use signoff_store::Push;

use super::super::fault::{Fault, broken};
use super::super::project::Viewer;
use super::super::version::Version;
use crate::access::Caller;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) config: PushConfig,
    old: bool,
    actor: Actor,
    roles: Vec<Name>,
    /// Since when they want to be told.
    pub(super) since: Timestamp,
}

impl Kept {
    pub(super) fn new(
        config: &PushConfig,
        version: Version,
        caller: &Caller,
        since: Timestamp,
    ) -> Self {
        Self {
            config: config.clone(),
            old: version == Version::Old,
            actor: caller.actor.clone(),
            roles: caller.roles.to_vec(),
            since,
        }
    }

    pub(super) fn read(push: &Push) -> Result<Self, Fault> {
        serde_json::from_str(&push.body).map_err(|error| broken(&error))
    }

    pub(super) fn write(&self) -> Result<String, Fault> {
        serde_json::to_string(self).map_err(|error| broken(&error))
    }

    pub(super) fn version(&self) -> Version {
        if self.old { Version::Old } else { Version::New }
    }

    pub(super) fn viewer(&self) -> Viewer {
        Viewer { actor: self.actor.clone(), roles: self.roles.clone().into() }
    }
}
