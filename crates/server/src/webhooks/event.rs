//! An event as it is sent.

use serde_json::{Value, json};
use signoff_core::Timestamp;
use signoff_core::text::digest;
use signoff_core::visible::{Secrets, masked};
use signoff_store::{RequestEvent, Store, StoreError};

use crate::shape;

/// What is sent: an id that is the same however often it is sent, and the body.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) body: String,
}

impl Message {
    fn new(id: String, kind: &str, at: Timestamp, data: &Value) -> Self {
        let body = json!({ "type": kind, "id": id, "at": at.rfc3339(), "data": data });
        Self { id, body: body.to_string() }
    }

    /// One that says nothing, to see whether it arrives.
    pub(super) fn ping(unique: &str, at: Timestamp) -> Self {
        Self::new(format!("evt_{unique}"), "ping", at, &json!({}))
    }

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
        let data = json!({ "request": request });
        let kind = format!("request.{}", event.what.as_str());
        Ok(Some(Self::new(id(event), &kind, event.at, &data)))
    }
}

/// Follows from the event, so that whoever delivers it calls it the same.
pub(super) fn id(event: &RequestEvent) -> String {
    let RequestEvent { no, at, what, request, .. } = event;
    let what = what.as_str();
    format!("evt_{}", digest(&format!("{request} {what} {no} {}", at.0), 32))
}
