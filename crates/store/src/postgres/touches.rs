//! What a command reads and writes, as far as it matters which of two comes first.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use signoff_core::{ConversationId, RequestId, RunId, Tenant};

/// Commands that touch different things can be carried out together; those that touch the same, one after another.
#[derive(Debug, Default)]
pub(super) struct Touches {
    // Hashes: two things that share one only wait for each other without need.
    things: HashSet<u64>,
    everything: bool,
}

impl Touches {
    /// Commands on this run are carried out in their order.
    pub(super) fn run(&mut self, run: &RunId) {
        self.thing(("run", run.as_str()));
    }

    /// The run of a request.
    pub(super) fn request(&mut self, request: &RequestId) {
        if let Some((run, _)) = request.split() {
            self.run(&run);
        }
    }

    /// What is said about a conversation, and which run is its latest.
    pub(super) fn conversation(&mut self, tenant: &Tenant, id: &ConversationId) {
        self.thing(("conversation", tenant.as_str(), id.as_str()));
    }

    /// Nothing else is carried out together with it.
    pub(super) fn everything(&mut self) {
        self.everything = true;
    }

    fn thing(&mut self, thing: impl std::hash::Hash) {
        let mut hasher = DefaultHasher::new();
        thing.hash(&mut hasher);
        self.things.insert(hasher.finish());
    }

    /// Takes on what another command touches. False, and nothing changes, if the two cannot go together.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        if self.everything || other.everything || !self.things.is_disjoint(&other.things) {
            return false;
        }
        self.things.extend(&other.things);
        true
    }
}
