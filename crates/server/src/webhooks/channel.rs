//! What all who are told of requests have in common: a name, what they want to hear, words of their own, and a way to them.
//!
//! The store knows how far each of them was told; `deliver.rs` sends, repeats and gives up. So a channel is a rendering and a
//! transport, and nothing else.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use signoff_core::visible::{Secrets, masked};
use signoff_core::{Name, Tenant, Timestamp};
use signoff_net::{NetError, StatusCode};
use signoff_store::{Happened, RequestEvent, Store, StoreError};

use super::event::id;
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
    pub(super) request: Value,
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
        let request = masked(&shape::request_with_notes(&request, &notes), secrets);
        Ok(Some(Self { id: id(event), what: event.what, at: event.at, request }))
    }
}

/// A message in the words of a channel.
#[derive(Clone, Debug)]
pub struct Message {
    pub(super) id: String,
    pub(super) body: String,
}

/// Somebody who is told what happens to requests.
pub trait Channel: Send + Sync + std::fmt::Debug {
    /// What it is known by, to the store as well.
    fn name(&self) -> &Name;

    /// What it wants to hear.
    fn filter(&self) -> &Filter;

    /// Some news in its words.
    fn word(&self, news: &News) -> Message;

    /// Sends a message once, and gives the status it is answered with.
    fn send<'a>(
        &'a self,
        message: &'a Message,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<StatusCode, NetError>>;
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
