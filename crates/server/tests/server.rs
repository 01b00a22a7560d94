//! The server around an engine of its own: what it bears, and what it does not.

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

#[path = "server/bounds.rs"]
mod bounds;
#[path = "server/rests.rs"]
mod rests;
#[path = "server/slow.rs"]
mod slow;
#[path = "server/sockets.rs"]
mod sockets;
#[path = "server/support.rs"]
mod support;
#[path = "server/webhooks.rs"]
mod webhooks;
