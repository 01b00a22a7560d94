//! The engine in processes of its own that are killed, raced and stopped, with every effect counted
//! in a file outside them.

// What goes wrong here fails a test, and what is printed says how it went.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "processes/crash.rs"]
mod crash;
#[path = "processes/races.rs"]
mod races;
#[path = "processes/stale.rs"]
mod stale;
#[path = "processes/support.rs"]
mod support;
