//! Model providers behind one interface.

mod provider;
mod scripted;

pub use provider::{BoxFuture, Delta, ModelError, ModelReply, ModelRequest, Provider, Usage};
pub use scripted::{ScriptError, Scripted};
