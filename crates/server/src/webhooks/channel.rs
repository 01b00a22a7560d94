//! What all who are told of requests have in common: a name, what they want to hear, words of their own, and a way to them.
//!
//! The store knows how far each of them was told; `deliver.rs` sends, repeats and gives up. So a channel is a rendering and a
//! transport, and nothing else.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use signoff_core::visible::{Secrets, masked};
use signoff_core::{Name, Request, Tenant, Timestamp};
use signoff_store::{Happened, Posted, RequestEvent, Store, StoreError};

use super::audited::Audited;
use super::event::id;
use crate::app::App;
use crate::shape;

/// A future that a trait object can return.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What happened to a request, and how that stands now, without secrets.
#[derive(Clone, Debug)]
pub struct News {
    /// The same however often it is told.
    pub(super) id: String,
    pub(super) what: Happened,
    pub(super) at: Timestamp,
    /// As clients see it, and without secrets: this may leave the house.
    pub(super) request: Value,
    /// As it is, to see who may decide it.
    pub(super) whole: Arc<Request>,
}

impl News {
    /// What is said of `event`, with the request as it stands; none, if there is no such request any more.
    pub(super) fn of(
        store: &dyn Store,
        event: &RequestEvent,
        secrets: &Secrets,
    ) -> Result<Option<Self>, StoreError> {
        let Some(request) = store.request(&event.request)? else { return Ok(None) };
        let notes = store.notes(&event.request)?;
        // It leaves the house, the proposal included.
        let shown = masked(&shape::request_with_notes(&request, &notes), secrets);
        let (id, whole) = (id(event), Arc::new(request));
        Ok(Some(Self { id, what: event.what, at: event.at, request: shown, whole }))
    }
}

/// What channels may use of the server.
#[derive(Clone, Debug)]
pub struct Desk {
    pub(super) app: App,
}

impl Desk {
    /// Reads from the store, away from the threads that serve connections.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(self.app.engine.store());
        let done = tokio::task::spawn_blocking(move || read(&*store)).await;
        done.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.app.engine.clock().now()
    }
}

/// What came of telling somebody.
#[derive(Debug)]
pub enum Outcome {
    /// It was taken. What it is known by there is kept, if there is something.
    Taken(Option<Posted>),
    /// Some of those who are to be told were; the others are next.
    Partly,
    /// It was not taken, and may be later.
    Later(String),
    /// It was not taken, and never will be.
    Refused(String),
    /// Nothing is wanted there any more.
    Gone(String),
}

/// Somebody who is told what happens to requests.
pub trait Channel: Send + Sync + std::fmt::Debug {
    /// What it is known by, to the store as well.
    fn name(&self) -> &Name;

    /// What kind it is.
    fn kind(&self) -> &'static str;

    /// What it wants to hear.
    fn filter(&self) -> &Filter;

    /// Who or where was reached with an event that was taken, for the audit: nothing that opens anything, and no addresses.
    fn reached(&self, event: &str) -> Vec<String>;

    /// Tells some news once, in its own words.
    fn tell<'a>(&'a self, news: &'a News, desk: &'a Desk) -> BoxFuture<'a, Outcome>;

    /// Tells once of an action that nobody is asked about.
    fn tell_audited<'a>(&'a self, audited: &'a Audited, desk: &'a Desk) -> BoxFuture<'a, Outcome>;

    /// Whether it can be reached and lets us in; if not, why. Says as little as it can.
    fn reach(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// Which news somebody wants.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub(super) events: Option<Vec<Happened>>,
    pub(super) tenants: Option<Vec<Tenant>>,
}

impl Filter {
    pub(super) fn wants(&self, event: &RequestEvent) -> bool {
        self.events.as_ref().is_none_or(|events| events.contains(&event.what))
            && self.tenants.as_ref().is_none_or(|tenants| tenants.contains(&event.tenant))
    }
}
