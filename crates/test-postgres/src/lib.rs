//! A PostgreSQL server for the length of a test: in a temporary folder, reached by a socket in it, gone with the process
//! that started it, however that ends.
//!
//! For tests only; what goes wrong here fails one, so it panics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

mod programs;
mod server;

pub use server::Server;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The address of an empty database, on a server that all tests of this process share.
pub fn fresh() -> String {
    static SHARED: OnceLock<Server> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let server = SHARED.get_or_init(Server::start);
    server.create(&format!("test{}", COUNT.fetch_add(1, Ordering::SeqCst)))
}
