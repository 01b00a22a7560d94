//! How far the inbox was read, and which requests have to be looked at again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use signoff_core::request::RequestStatus;
use signoff_core::{RequestId, RunId};
use signoff_store::{Ends, RequestFilter, Store, StoreError};

use super::inbox::{Change, What};

/// How much is read at once.
const PAGE: usize = 64;
/// How many requests that wait are remembered, to see when they are withdrawn elsewhere.
const MAX_KNOWN: usize = 10_000;
/// How many of them are looked at again at once.
const AGAIN: usize = 256;

/// What the one who looks for all listeners has on the desk.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// None, while nobody listens.
    read: Option<Read>,
    /// Requests that wait, with a number that grows: the oldest go when there are too many.
    known: BTreeMap<RequestId, u64>,
    order: VecDeque<(u64, RequestId)>,
    next: u64,
    /// Those that may have been withdrawn.
    doubts: BTreeSet<RequestId>,
    /// Where looking at all of them again has come to, while it is under way.
    again: Option<Bound<RequestId>>,
    /// Whether to begin again after that.
    once_more: bool,
}

/// What may have been withdrawn.
#[derive(Debug)]
pub(super) enum Doubt {
    Request(RequestId),
    /// What this run asked.
    Run(RunId),
    /// Anything.
    All,
}

/// How far the inbox was read.
#[derive(Debug)]
struct Read {
    ends: Ends,
    /// Requests after that end that were told already.
    beyond: BTreeSet<RequestId>,
    before: Before,
}

/// How far what waited before anybody listened was read.
#[derive(Debug)]
enum Before {
    /// From here on it has to be.
    From(Option<String>),
    /// All of it is known, or as much as is kept.
    Known,
}

impl Desk {
    /// Begins here, unless it has begun.
    pub(super) fn open(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        if self.read.is_none() {
            let ends = store.ends()?;
            self.read = Some(Read { ends, beyond: BTreeSet::new(), before: Before::From(None) });
        }
        Ok(())
    }

    /// Something may have been withdrawn.
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        match doubt {
            Doubt::Request(id) => {
                self.doubts.insert(id);
            }
            Doubt::Run(run) => {
                let own = |id: &RequestId| id.split().is_some_and(|(of, _)| of == run);
                let of_run = self.known.range(run.request(0)..).map(|(id, _)| id);
                let found: Vec<RequestId> = of_run.take_while(|id| own(id)).cloned().collect();
                self.doubts.extend(found);
            }
            Doubt::All => self.doubt_all(),
        }
    }

    /// All that are known may have been withdrawn.
    pub(super) fn doubt_all(&mut self) {
        // A round that is under way goes on, or with many of them the last would never be looked at.
        if self.again.is_some() {
            self.once_more = true;
        } else {
            self.again = Some(Bound::Unbounded);
        }
    }

    /// Whether there is something to look at even if nothing has changed.
    pub(super) fn has_doubts(&self) -> bool {
        self.again.is_some()
            || !self.doubts.is_empty()
            || matches!(&self.read, Some(Read { before: Before::From(_), .. }))
    }

    fn know(&mut self, id: RequestId) {
        if self.known.contains_key(&id) {
            return;
        }
        self.next += 1;
        self.known.insert(id.clone(), self.next);
        self.order.push_back((self.next, id));
        while self.known.len() > MAX_KNOWN || self.order.len() > 2 * MAX_KNOWN {
            let Some((number, id)) = self.order.pop_front() else { return };
            if self.known.get(&id) == Some(&number) {
                self.known.remove(&id);
            }
        }
    }

    /// Tells what is new; if `whole`, also what takes longer to find out.
    pub(super) fn look(
        &mut self,
        store: &dyn Store,
        whole: bool,
        told: impl Fn(Change),
    ) -> Result<(), StoreError> {
        self.asked(store, &told)?;
        self.noted(store, &told)?;
        self.decided(store, &told)?;
        self.in_doubt(store, &told)?;
        if !whole {
            return Ok(());
        }
        self.before(store)?;
        self.again(store, &told)
    }

    /// New requests, in the order of the inbox.
    fn asked(&mut self, store: &dyn Store, told: &impl Fn(Change)) -> Result<(), StoreError> {
        loop {
            let Some(read) = &mut self.read else { return Ok(()) };
            // Read first: what is asked in between is on the page and remembered as told.
            let end = store.ends()?.requests;
            if end == read.ends.requests {
                return Ok(());
            }
            let page =
                store.requests(&RequestFilter::default(), Some(&read.ends.requests), PAGE)?;
            let before = std::mem::take(&mut read.beyond);
            let last = page.next.is_none();
            read.ends.requests = page.next.unwrap_or(end);
            if last {
                read.beyond = page.items.iter().map(|request| request.id.clone()).collect();
            }
            for request in page.items {
                // One that waits no more was decided meanwhile, or came along with a fork.
                if request.status == RequestStatus::Pending && !before.contains(&request.id) {
                    self.know(request.id.clone());
                    told(Change::new(What::Asked, request));
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Claims and comments, in the order of the notes.
    fn noted(&mut self, store: &dyn Store, told: &impl Fn(Change)) -> Result<(), StoreError> {
        let Some(read) = &mut self.read else { return Ok(()) };
        loop {
            let lines = store.noted(read.ends.notes, PAGE)?;
            let whole = lines.len() == PAGE;
            for line in lines {
                if let Some(request) = store.request(&line.request)? {
                    told(Change::noted(request, line.note));
                }
                read.ends.notes = line.no;
            }
            if !whole {
                return Ok(());
            }
        }
    }

    /// Decisions and expiries, in the order of the audit.
    fn decided(&mut self, store: &dyn Store, told: &impl Fn(Change)) -> Result<(), StoreError> {
        let Some(read) = &mut self.read else { return Ok(()) };
        loop {
            let lines = store.audit(None, read.ends.audit, PAGE)?;
            let whole = lines.len() == PAGE;
            for line in lines {
                if line.ends_request()
                    && let Some(request) = store.request(&line.request)?
                {
                    let what = match request.status {
                        RequestStatus::Expired => What::Expired,
                        RequestStatus::Cancelled => What::Cancelled,
                        _ => What::Decided,
                    };
                    self.known.remove(&line.request);
                    self.doubts.remove(&line.request);
                    told(Change::new(what, request));
                }
                read.ends.audit = line.no;
            }
            if !whole {
                return Ok(());
            }
        }
    }

    /// Requests that were withdrawn here.
    fn in_doubt(&mut self, store: &dyn Store, told: &impl Fn(Change)) -> Result<(), StoreError> {
        while let Some(id) = self.doubts.first().cloned() {
            self.check(store, &id, told)?;
            self.doubts.remove(&id);
        }
        Ok(())
    }

    fn check(
        &mut self,
        store: &dyn Store,
        id: &RequestId,
        told: &impl Fn(Change),
    ) -> Result<(), StoreError> {
        match store.request(id)? {
            Some(request) if request.status == RequestStatus::Pending => {}
            found => {
                self.known.remove(id);
                if let Some(request) = found.filter(|it| it.status == RequestStatus::Cancelled) {
                    told(Change::new(What::Cancelled, request));
                }
            }
        }
        Ok(())
    }

    /// Learns what waited before anybody listened, a page at a time.
    fn before(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let Some(Read { before: Before::From(cursor), .. }) = &self.read else { return Ok(()) };
        let pending =
            RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
        let page = store.requests(&pending, cursor.as_deref(), AGAIN)?;
        if let Some(read) = &mut self.read {
            read.before = match page.next {
                Some(next) if self.known.len() < MAX_KNOWN => Before::From(Some(next)),
                _ => Before::Known,
            };
        }
        page.items.into_iter().for_each(|request| self.know(request.id));
        Ok(())
    }

    /// Looks at some of those that are known, for what other processes withdrew.
    fn again(&mut self, store: &dyn Store, told: &impl Fn(Change)) -> Result<(), StoreError> {
        let Some(from) = self.again.clone() else { return Ok(()) };
        let some = self.known.range((from, Bound::Unbounded)).map(|(id, _)| id);
        let some: Vec<RequestId> = some.take(AGAIN).cloned().collect();
        for id in &some {
            self.check(store, id, told)?;
        }
        self.again = match some.last() {
            Some(last) if some.len() == AGAIN => Some(Bound::Excluded(last.clone())),
            _ => std::mem::take(&mut self.once_more).then_some(Bound::Unbounded),
        };
        Ok(())
    }
}
