//! Model providers behind one interface.
//!
//! A [`Provider`] turns a [`ModelRequest`] into a reply. [`Scripted`] has its replies written down; the
//! others speak to a server: the Responses API, Chat Completions as many servers have it, and
//! Anthropic's Messages. Each of these is a module with two halves that know nothing of the network:
//! how a request is written, and how a stream is read. [`build`] puts one together from its
//! [`ProviderConfig`], with the key, the guarded client, retries and a limit on concurrent calls.

mod anthropic;
mod assembly;
pub mod budget;
mod chat;
mod config;
mod construct;
mod failure;
mod fallback;
mod http;
mod openai;
mod prices;
mod protocol;
mod provider;
mod render;
mod resilient;
mod retry_after;
mod scripted;
mod wire_name;

pub use budget::{Budget, Omitted, trim};
pub use config::{ConfigError, Effort, ProviderConfig, ProviderKind};
pub use construct::{Deps, ScriptReader, build};
pub use fallback::Fallbacks;
pub use prices::{Price, Priced};
pub use protocol::decode;
pub use provider::{
    BoxFuture, Delta, ModelError, ModelIdentity, ModelReply, ModelRequest, Provider, Usage,
};
pub use resilient::{Resilient, Retries};
pub use scripted::{ScriptError, Scripted};
pub use signoff_net::Secret;
