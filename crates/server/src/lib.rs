//! Runs and requests over HTTP.
//!
//! [`Server`] puts one port before an [`Engine`](signoff_runtime::Engine). The native API is in `api`; other
//! dialects come beside it and share the streams (`stream`), the shapes (`shape`), the errors (`error`)
//! and the question who may come in (`access`). Nothing here has state of its own: what a client is
//! told is in the store, and any process that has the store can tell it.

mod a2a;
mod access;
mod ag_ui;
mod api;
mod app;
mod bridge;
mod devui;
mod error;
mod extract;
mod http;
mod idempotency;
mod link;
mod markdown;
mod mcp;
mod metrics;
mod openai;
mod openapi;
mod pages;
mod patient;
mod process;
mod sealed;
mod serve;
mod shape;
mod stream;
mod views;
mod web;
mod webhooks;
mod ws;

pub use a2a::{CardKey, Receivers};
pub use app::CONNECTIONS;
pub use devui::{Page, PageError};
pub use mcp::{McpSettings, Stdio};
pub use openapi::document as openapi;
pub use process::allow_connections;
pub use serve::{ServeError, Server, Settings};
pub use webhooks::{
    Channel, ChannelConfig, MailConfig, MailTls, SlackConfig, Webhook, WebhookConfig, WebhookEvent,
};
