//! Test support: processes to stop and kill, effects counted in a file outside them, and runs held
//! against everything that must be true of one that was interrupted.
//!
//! For tests only; what goes wrong here fails one, so it panics.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod answers;
pub mod chance;
pub mod ledger;
pub mod peers;
pub mod process;
pub mod record;
pub mod workflows;

pub use chance::Chance;
pub use ledger::{Done, Ledger};
pub use process::{Ended, Process};
pub use record::Record;
pub use signoff_model_server as model_server;
pub use signoff_test_postgres as postgres;
