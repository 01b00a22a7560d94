//! What can be wrong with a store on purpose, to see whether the checks notice.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use signoff_core::journal::{Entry, Input};
use signoff_core::request::RequestStatus;
use signoff_core::{RequestId, Span, Timestamp};
use signoff_store::{
    Append, BoxFuture, Decide, Decided, MemoryStore, NodeId, RequestFilter, Store as _, StoreError,
};

use super::disk::{Disk, now};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Nothing.
    No,
    /// An append is taken whoever makes it and whatever it expects.
    Fence,
    /// A decision is taken even if the request is not pending any more.
    Decide,
    /// A change is acknowledged before it is on the disk.
    Sync,
    /// A deadline is acted on without a claim to it: the request is taken from the people only later.
    Timer,
    /// An append is answered before it is made, so that watchers are shown what may never be.
    Event,
}

/// After so many changes the disk has them all.
const SYNC_EVERY: u32 = 12;

/// What is wrong with a disk, and what that takes to remember.
#[derive(Debug)]
pub struct Planted {
    broken: Broken,
    synced: Mutex<(MemoryStore, u32)>,
    /// Which process has acted on which deadline.
    fired: Mutex<BTreeSet<(usize, RequestId)>>,
}

impl Planted {
    pub fn new(broken: Broken) -> Self {
        Self { broken, synced: Mutex::default(), fired: Mutex::default() }
    }

    /// Something was written.
    pub fn written(&self, store: &MemoryStore) {
        if self.broken == Broken::Sync {
            let mut synced = self.synced.lock().unwrap();
            synced.1 += 1;
            if synced.1.is_multiple_of(SYNC_EVERY) {
                synced.0 = store.copy();
            }
        }
    }

    /// The power is gone: what was not on the disk is not there any more.
    pub fn forget_unsynced(&self, store: &MemoryStore) {
        if self.broken == Broken::Sync {
            store.go_back_to(&self.synced.lock().unwrap().0);
        }
    }

    /// The answer to an append.
    pub fn maybe_too_early(
        &self,
        answer: BoxFuture<'static, Result<(), StoreError>>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        if self.broken == Broken::Event { Box::pin(std::future::ready(Ok(()))) } else { answer }
    }
}

impl Disk {
    fn broken(&self) -> Broken {
        self.planted.broken
    }

    pub fn append(&self, append: Append) -> Result<(), StoreError> {
        let answer = now(self.store.append(append.clone()));
        let Err(StoreError::Fenced { run }) = answer else { return answer };
        self.fenced.fetch_add(1, Ordering::Relaxed);
        if self.broken() != Broken::Fence {
            return Err(StoreError::Fenced { run });
        }
        let force: NodeId = "force".into();
        let head = self.store.run(&run)?.map_or(0, |record| record.head);
        let claimed = now(self.store.claim_run(&run, &force, Timestamp(i64::MAX), Span(1)))?;
        let Some(lease) = claimed else { return Err(StoreError::Fenced { run }) };
        now(self.store.renew(vec![lease.clone()], Timestamp(0)))?;
        let entries =
            (head + 1..).zip(append.entries).map(|(seq, entry)| Entry { seq, ..entry }).collect();
        now(self.store.append(Append { lease, expected: head, entries, ..append }))
    }

    pub fn decide(&self, decide: Decide) -> Result<Decided, StoreError> {
        let standing = self.store.request(&decide.request)?;
        match standing {
            Some(request)
                if self.broken() == Broken::Decide && request.status == RequestStatus::Decided =>
            {
                let (run, number) = decide
                    .request
                    .split()
                    .ok_or_else(|| StoreError::UnknownRequest(decide.request.clone()))?;
                let Decide { decision, by, at, sent, .. } = decide;
                let input = Input::Decided { request: number, decision, by, sent };
                now(self.store.deliver(&run, input, at))?;
                let head = self.store.load(&run, None)?.record.head;
                Ok(Decided::Taken { lease: None, head })
            }
            _ => now(self.store.decide(decide)),
        }
    }

    /// Fires what is due. Without a claim: a node acts on a deadline at its first look, and marks the request at its
    /// second.
    pub fn fire_due(&self, node: usize, at: Timestamp, limit: usize) -> Result<usize, StoreError> {
        if self.broken() == Broken::Timer {
            let pending =
                RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
            let mut first = 0;
            for request in self.store.requests(&pending, None, 1000)?.items {
                let due = request.body.expires_at.is_some_and(|deadline| deadline <= at);
                let new = (node, request.id.clone());
                if due && self.planted.fired.lock().unwrap().insert(new) {
                    let number = request.id.split().map_or(0, |(_, number)| number);
                    now(self.store.deliver(&request.run, Input::Expired { request: number }, at))?;
                    first += 1;
                }
            }
            if first > 0 {
                return Ok(0);
            }
        }
        now(self.store.fire_due(at, limit))
    }
}
