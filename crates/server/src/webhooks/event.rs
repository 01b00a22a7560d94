//! An event as webhooks are sent it.

use serde_json::{Value, json};
use signoff_core::Timestamp;
use signoff_core::text::digest;
use signoff_store::RequestEvent;

use super::audited::Audited;
use super::channel::News;

/// What is sent, under which id.
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

    /// An action that nobody is asked about.
    pub(super) fn audited(audited: &Audited) -> Self {
        let data = json!({ "action": audited.action });
        Self::new(audited.id.clone(), "action.audited", audited.at, &data)
    }

    /// The news as they are.
    pub(super) fn plain(news: &News) -> Self {
        let kind = format!("request.{}", news.what.as_str());
        Self::new(news.id.clone(), &kind, news.at, &json!({ "request": news.request }))
    }
}

/// Follows from the event, so that whoever delivers it calls it the same.
pub(super) fn id(event: &RequestEvent) -> String {
    let RequestEvent { no, at, what, request, .. } = event;
    let what = what.as_str();
    format!("evt_{}", digest(&format!("{request} {what} {no} {}", at.0), 32))
}
