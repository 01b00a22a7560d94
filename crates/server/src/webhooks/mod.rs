//! Webhooks: what happens to requests, sent to those whom the operator named.
//!
//! The store keeps what happened and how far each webhook was told of it, so nothing depends on this process: it
//! delivers, notes that it did, and whoever comes after it goes on from there. An event may come twice, always with
//! the same id; it never comes before one that happened earlier.
//!
//! | the answer | what follows |
//! |---|---|
//! | 2xx | the next event |
//! | 410 | nothing more is sent until the server starts again |
//! | anything else, or none | the same event again, later and later; after a day it is given up |
//!
//! A chat and a mailbox are told in the same way (`channels.rs`): each is a rendering and a transport over the same table.

mod audited;
mod channel;
mod channels;
mod config;
mod deliver;
mod event;
mod mail;
pub(crate) mod retry;
mod send;
mod sign;
mod slack;
mod words;

pub use channel::Channel;
pub use channels::ChannelConfig;
pub use config::{Webhook, WebhookConfig, WebhookEvent};
pub(crate) use deliver::Delivery;
pub use mail::{MailConfig, MailTls};
pub use slack::SlackConfig;
