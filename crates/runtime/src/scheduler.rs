//! Finds work: runs that are ready and nobody drives, things that are due, changes by other processes.

use std::time::Duration;

use signoff_core::{Span, Timestamp};
use signoff_store::{Scope, StoreError};

use crate::engine::Engine;

/// How often another process's changes are looked for.
const LOOK_EVERY: Span = Span(100);
/// How many quiet looks until leases that ran out are looked for.
const LEASES_EVERY: u32 = 10;
/// How many runs are claimed, and due things fired, at once.
const BATCH: usize = 64;

impl Engine {
    /// Looks once: fires what is due, claims what is ready in `scope` and drives it in the
    /// background. Returns how many runs were claimed.
    pub async fn look_for_work(&self, scope: &Scope) -> Result<usize, StoreError> {
        self.look(scope, self.inner.clock.now()).await
    }

    /// The same, where of leases of others those count as over that were at `free_at`.
    async fn look(&self, scope: &Scope, free_at: Timestamp) -> Result<usize, StoreError> {
        let engine = &self.inner;
        let now = engine.clock.now();
        while engine.roster.fire_due(BATCH).await? == BATCH {}
        engine.keep_own(now).await?;
        let leases = engine.roster.find_free_at(scope.clone(), free_at, BATCH).await?;
        let found = leases.len();
        for lease in leases {
            engine.spawn(lease);
        }
        Ok(found)
    }

    /// Keeps looking, until the future is dropped or the store fails.
    pub async fn schedule(&self, scope: Scope) -> Result<(), StoreError> {
        let mut seen = None;
        for look in 0_u32.. {
            let changes = self.inner.roster.changes()?;
            let by_others = seen.replace(changes) != Some(changes);
            if by_others {
                self.inner.nudge_active();
            }
            if by_others || look.is_multiple_of(LEASES_EVERY) || self.inner.roster.is_due()? {
                self.look(&scope, self.inner.roster.judge()).await?;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(LOOK_EVERY.0)) => {}
                () = self.inner.changed.notified() => {}
            }
        }
        Ok(())
    }
}
