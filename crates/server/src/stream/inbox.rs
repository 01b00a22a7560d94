//! The inbox as it changes, for any number of listeners.
//!
//! One task looks for all of them. What is new is found by order: requests by that of the inbox,
//! decisions and expiries by that of the audit, so each is told once and nothing has to be remembered.
//! What this process commits makes it look at once; what others do is found a little later. Only that a
//! request was withdrawn stands in no order: those that are known to wait are looked at again in turn.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::extract::ws::Utf8Bytes;
use serde_json::{Value, json};
use signoff_core::journal::{Entry, Event};
use signoff_core::{Request, RunId, Tenant};
use signoff_runtime::Engine;
use signoff_store::Note;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::desk::{Desk, Doubt};
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::shape;

/// How many changes a listener may be behind before it has to read the inbox again.
const BEHIND: usize = 64;
/// How often the store is looked at for what other processes did.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Such a look may take one part in so many of the time.
const LOOK_SHARE: u32 = 20;

/// How many doubts are kept one by one.
const MAX_DOUBTS: usize = 4096;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Asked,
    Decided,
    Expired,
    /// The run ended or went on without it.
    Cancelled,
    /// Somebody looks after it, or no more, or said something about it.
    Noted,
}

/// A change of the inbox, with the request as it stands.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) what: What,
    pub(crate) request: Request,
    /// What was noted on it just now.
    note: Option<Note>,
    /// As it goes out in our own words, written once for all listeners.
    text: OnceLock<Utf8Bytes>,
}

impl Change {
    pub(super) fn new(what: What, request: Request) -> Self {
        Self { what, request, note: None, text: OnceLock::new() }
    }

    pub(super) fn noted(request: Request, note: Note) -> Self {
        Self { note: Some(note), ..Self::new(What::Noted, request) }
    }

    /// The change as clients see it.
    fn json(&self) -> Value {
        let note = self.note.as_ref().map(shape::note);
        let what = match (self.what, &note) {
            (What::Asked, _) => "asked",
            (What::Decided, _) => "decided",
            (What::Expired, _) => "expired",
            (What::Cancelled, _) => "cancelled",
            (What::Noted, note) => {
                note.as_ref().and_then(|note| note["what"].as_str()).unwrap_or("noted")
            }
        };
        let request = shape::request(&self.request);
        let mut change = json!({ "type": "request", "change": what, "request": request });
        if let Some(note) = note {
            change["note"] = note;
        }
        change
    }

    /// The same as text.
    pub(crate) fn text(&self) -> Utf8Bytes {
        self.text.get_or_init(|| self.json().to_string().into()).clone()
    }
}

/// Tells those who listen what changes in the inbox.
#[derive(Debug)]
pub(crate) struct Inbox {
    engine: Engine,
    changes: broadcast::Sender<Arc<Change>>,
    /// There is something to look for right now.
    soon: Notify,
    /// What may have been withdrawn; kept apart, so that nobody waits for a look to end.
    doubts: Mutex<Vec<Doubt>>,
    desk: Mutex<Desk>,
}

/// A place among the listeners.
#[derive(Debug)]
pub(crate) struct Listener {
    changes: broadcast::Receiver<Arc<Change>>,
    /// Whose requests it hears of.
    tenant: Tenant,
    stopping: watch::Receiver<bool>,
}

/// What a listener hears.
#[derive(Debug)]
pub(crate) enum Heard {
    Change(Arc<Change>),
    /// Some were missed: read the inbox again.
    Missed,
    /// The server stops.
    Bye,
}

impl Listener {
    /// What comes next. May be dropped while it waits; nothing is lost by that.
    pub(crate) async fn next(&mut self) -> Heard {
        if *self.stopping.borrow() {
            return Heard::Bye;
        }
        loop {
            let heard = tokio::select! {
                heard = self.changes.recv() => heard,
                _ = self.stopping.wait_for(|stop| *stop) => return Heard::Bye,
            };
            match heard {
                Ok(change) if change.request.tenant != self.tenant => {}
                Ok(change) => return Heard::Change(change),
                Err(RecvError::Lagged(_)) => return Heard::Missed,
                Err(RecvError::Closed) => return Heard::Bye,
            }
        }
    }
}

impl Inbox {
    pub(crate) fn new(engine: Engine) -> Arc<Self> {
        Arc::new(Self {
            engine,
            changes: broadcast::Sender::new(BEHIND),
            soon: Notify::new(),
            doubts: Mutex::default(),
            desk: Mutex::default(),
        })
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn doubts(&self) -> MutexGuard<'_, Vec<Doubt>> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_heard(&self) -> bool {
        self.changes.receiver_count() > 0
    }

    /// What changes from now on: whoever reads the inbox after this has no gap between the two.
    pub(crate) async fn listen(app: &App, caller: &Caller) -> Result<Listener, ApiError> {
        let changes = app.inbox.changes.subscribe();
        let inbox = Arc::clone(&app.inbox);
        // It is opened for all, whoever comes first.
        app.read(move |_| Ok(inbox.desk().open(&**inbox.engine.store())?)).await?;
        app.inbox.soon.notify_one();
        let tenant = caller.tenant.clone();
        Ok(Listener { changes, tenant, stopping: app.stopping.clone() })
    }

    /// Something was decided here, or may have been.
    pub(crate) fn look_soon(&self) {
        if self.is_heard() {
            self.soon.notify_one();
        }
    }

    /// These entries were committed by this process.
    pub(super) fn committed(&self, run: &RunId, entries: &[Entry]) {
        if !self.is_heard() {
            return;
        }
        let mut news = false;
        let doubt = |doubt: Doubt| {
            let mut doubts = self.doubts();
            if doubts.len() < MAX_DOUBTS {
                doubts.push(doubt);
            } else {
                *doubts = vec![Doubt::All];
            }
        };
        for entry in entries {
            match &entry.event {
                Event::Asked { .. } | Event::Decided { .. } | Event::Expired { .. } => {}
                // Where somebody's decision is why, the audit says so.
                Event::Withdrawn { reason: Some(_), .. } => {}
                Event::Withdrawn { request, .. } => {
                    doubt(Doubt::Request(run.request(*request)));
                }
                // Whatever it still asked is taken back.
                event if event.ends_run() => doubt(Doubt::Run(run.clone())),
                _ => continue,
            }
            news = true;
        }
        if news {
            self.soon.notify_one();
        }
    }

    /// What this process committed was missed.
    pub(super) fn missed(&self) {
        *self.doubts() = vec![Doubt::All];
        self.look_soon();
    }

    /// Looks for what is new, until the future is dropped. Nothing is done while nobody listens.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut seen = None;
        let mut due = Instant::now();
        loop {
            if self.close_if_unheard() {
                seen = None;
                self.soon.notified().await;
                continue;
            }
            let called = tokio::time::timeout_at(due, self.soon.notified()).await.is_ok();
            let whole = Instant::now() >= due;
            let changes = self.engine.store().changes().ok();
            let moved = changes.is_none() || changes != seen;
            if whole && moved {
                self.desk().doubt_all();
            }
            if !called && !moved && !self.desk().has_doubts() {
                due = Instant::now() + LOOK_EVERY;
                continue;
            }
            let (inbox, since) = (Arc::clone(&self), Instant::now());
            let looked = tokio::task::spawn_blocking(move || inbox.look(whole)).await;
            let took = since.elapsed();
            if whole {
                // What cannot be read now is looked for again.
                seen = changes.filter(|_| looked.is_ok_and(|read| read));
                due = Instant::now() + LOOK_EVERY.max(took * LOOK_SHARE);
            }
            // Being called all the time must not mean to look all the time.
            tokio::time::sleep(took).await;
        }
    }

    /// Forgets everything when nobody listens. Whoever begins to listen right now has been counted
    /// before it opens the desk.
    fn close_if_unheard(&self) -> bool {
        let mut desk = self.desk();
        let unheard = !self.is_heard();
        if unheard {
            *desk = Desk::default();
            self.doubts().clear();
        }
        unheard
    }

    /// Tells what is new. Whether all could be read.
    fn look(&self, whole: bool) -> bool {
        let told = |change: Change| {
            // An error means that the last listener is just leaving.
            let _ = self.changes.send(Arc::new(change));
        };
        let doubts = std::mem::take(&mut *self.doubts());
        let mut desk = self.desk();
        for doubt in doubts {
            desk.doubt(doubt);
        }
        let looked = desk.look(&**self.engine.store(), whole, told);
        if let Err(error) = &looked {
            tracing::warn!(%error, "the inbox cannot be read");
        }
        looked.is_ok()
    }
}
