//! The real binary on a terminal, against the real server.

#![cfg(unix)] // terminals and signals of a Unix system
#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

#[path = "terminal/chat.rs"]
mod chat;
#[path = "terminal/garbage.rs"]
mod garbage;
#[path = "terminal/inbox.rs"]
mod inbox;
#[path = "terminal/people.rs"]
mod people;
#[path = "terminal/plain.rs"]
mod plain;
#[path = "terminal/run.rs"]
mod run;
#[path = "terminal/support.rs"]
mod support;
#[path = "terminal/typing.rs"]
mod typing;
