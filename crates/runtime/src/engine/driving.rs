//! What this process drives: taking runs, telling their drivers, keeping their leases, and handing them over.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use signoff_core::{RunId, Timestamp};
use signoff_store::{Lease, StoreError};

use super::{AtHand, EngineInner, lock};
use crate::cell::RunCell;
use crate::driver::DriveEnd;

impl EngineInner {
    pub(crate) async fn claim_run(&self, run: &RunId) -> Option<Lease> {
        self.roster.take(run).await.ok().flatten()
    }

    /// Drives a run in a task of its own.
    pub(crate) fn spawn(self: &Arc<Self>, lease: Lease) {
        self.spawn_with(lease, None);
    }

    /// The same for a run that may be at hand.
    pub(crate) fn spawn_with(self: &Arc<Self>, lease: Lease, at_hand: Option<Box<AtHand>>) {
        let engine = Arc::clone(self);
        engine.driving.fetch_add(1, Ordering::AcqRel);
        tokio::spawn(async move {
            let _driving = Driving(Arc::clone(&engine));
            let run = lease.run.clone();
            let end = match at_hand {
                Some(at_hand) => engine.drive_at_hand(lease, *at_hand).await,
                None => engine.drive(lease).await,
            };
            match end {
                DriveEnd::Rests(status) => tracing::debug!(%run, %status, "a run rests"),
                DriveEnd::Lost(error) => tracing::info!(%run, %error, "a run was lost to others"),
                DriveEnd::HandedOver => tracing::debug!(%run, "a run was handed over"),
                DriveEnd::Unable(error) => {
                    tracing::warn!(%run, %error, "a run cannot be driven here");
                }
            }
        });
    }

    /// Tells whoever drives a run that there is something for it; drives it here, if nobody does.
    pub(crate) async fn nudge(self: &Arc<Self>, run: &RunId) {
        let cell = lock(&self.active).get(run).cloned();
        match cell {
            Some(cell) => cell.nudge(),
            None => {
                if let Some(lease) = self.claim_run(run).await {
                    self.spawn(lease);
                }
            }
        }
    }

    /// What is driven here, always in the same order: what is simulated must come again as it was.
    fn cells(&self) -> Vec<Arc<RunCell>> {
        let mut cells: Vec<_> = lock(&self.active).values().cloned().collect();
        cells.sort_by(|a, b| a.id.cmp(&b.id));
        cells
    }

    /// Renews the leases of what is driven here, if time has made a leap: a machine that slept must
    /// not take its own work for somebody else's.
    pub(crate) async fn keep_own(&self, now: Timestamp) -> Result<(), StoreError> {
        let before = self.looked_at.swap(now.0, Ordering::AcqRel);
        if now < Timestamp(before).plus(self.roster.renew_every()) {
            return Ok(());
        }
        let leases: Vec<Lease> = self.cells().into_iter().map(|cell| cell.lease.clone()).collect();
        if !leases.is_empty() {
            self.roster.keep(leases).await?;
        }
        Ok(())
    }

    /// Lets every driver hand its run over as soon as it can.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        for cell in self.cells() {
            cell.driver.wake();
        }
    }

    /// Whether nothing new is begun here.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Tells the drivers of this process that another one has changed the store.
    pub(crate) fn nudge_active(&self) {
        for cell in self.cells() {
            cell.nudge();
        }
    }

    pub(crate) fn active(&self, cell: &Arc<RunCell>) {
        lock(&self.active).insert(cell.id.clone(), Arc::clone(cell));
    }

    pub(crate) fn inactive(&self, cell: &Arc<RunCell>) {
        let mut active = lock(&self.active);
        if active.get(&cell.id).is_some_and(|current| Arc::ptr_eq(current, cell)) {
            active.remove(&cell.id);
        }
    }
}

/// Counts a driver until it is dropped, however it ends.
struct Driving(Arc<EngineInner>);

impl Drop for Driving {
    fn drop(&mut self) {
        self.0.driving.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }
}
