//! Who drives a run, and when: the one place where that is asked for, kept and given back.
//!
//! Everything else in this crate drives what it is told to. Here it is the store that decides, by leases; whoever wants something
//! else to decide puts that here. Whatever it is, the fence of [`Store::append`] stays: it makes sure that a wrong answer costs
//! time and never a wrong journal.

use std::sync::Arc;

use signoff_core::{RunId, Span, Timestamp};
use signoff_store::{Claim, Lease, NodeId, Scope, Store, StoreError};

use crate::clock::Clock;
use crate::patience::Patience;

/// How long a run is somebody's without a sign of life. Renewed at a third of that, so two renewals may fail or be late; what
/// speaks for more and for less stands in docs/operations.md.
pub(crate) const LEASE: Span = Span::seconds(9);

/// Asks the store who drives what.
#[derive(Debug)]
pub(crate) struct Roster {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    node: NodeId,
    /// How long a lease lasts.
    ttl: Span,
    patience: Patience,
}

impl Roster {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        node: NodeId,
        ttl: Span,
    ) -> Self {
        Self { store, clock, node, ttl, patience: Patience::default() }
    }

    /// How often a lease has to be renewed.
    pub(crate) fn renew_every(&self) -> Span {
        Span(self.ttl.0 / 3)
    }

    /// Taken along with a change that makes a run ready: whoever makes the change drives it.
    pub(crate) fn claim(&self) -> Claim {
        Claim { node: Arc::clone(&self.node), until: self.clock.now().plus(self.ttl) }
    }

    /// Until when the lease of somebody else must have lasted to be over now.
    pub(crate) fn judge(&self) -> Timestamp {
        self.patience.judge(self.clock.now(), self.renew_every())
    }

    /// Runs that are ready and that nobody drives. They are ours now.
    pub(crate) async fn find(&self, scope: Scope, limit: usize) -> Result<Vec<Lease>, StoreError> {
        self.find_free_at(scope, self.clock.now(), limit).await
    }

    /// The same, of those that nobody drove at a point in time any more, which may have passed.
    pub(crate) async fn find_free_at(
        &self,
        scope: Scope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Lease>, StoreError> {
        let ttl = Span(self.ttl.0.saturating_add(self.clock.now().since(at).0));
        self.store.claim(scope, &self.node, at, ttl, limit).await
    }

    /// This run, if it is ready and nobody drives it.
    pub(crate) async fn take(&self, run: &RunId) -> Result<Option<Lease>, StoreError> {
        self.store.claim_run(run, &self.node, self.clock.now(), self.ttl).await
    }

    /// Keeps runs for longer. Those that are still ours.
    pub(crate) async fn keep(&self, leases: Vec<Lease>) -> Result<Vec<Lease>, StoreError> {
        self.store.renew(leases, self.clock.now().plus(self.ttl)).await
    }

    /// Lets somebody else have a run at once.
    pub(crate) async fn give_back(&self, lease: Lease) -> Result<(), StoreError> {
        self.store.release(lease).await
    }

    /// Makes runs ready for which something is due: a sleep, a deadline. How many things were.
    pub(crate) async fn fire_due(&self, limit: usize) -> Result<usize, StoreError> {
        self.store.fire_due(self.clock.now(), limit).await
    }

    /// Whether something is due.
    pub(crate) fn is_due(&self) -> Result<bool, StoreError> {
        Ok(self.store.next_due()?.is_some_and(|due| due <= self.clock.now()))
    }

    /// A number that is another one when somebody may have made a run ready.
    pub(crate) fn changes(&self) -> Result<u64, StoreError> {
        self.store.changes()
    }
}
