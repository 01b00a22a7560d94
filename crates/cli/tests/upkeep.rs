//! What operators do, and what strangers try: the real binary, on SQLite and on PostgreSQL.

#![cfg(unix)] // signals and paths of a Unix system
#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

#[path = "upkeep/bombs.rs"]
mod bombs;
#[path = "upkeep/canary.rs"]
mod canary;
#[path = "upkeep/doctor.rs"]
mod doctor;
#[path = "upkeep/exchange.rs"]
mod exchange;
#[path = "upkeep/forged.rs"]
mod forged;
#[path = "upkeep/kept.rs"]
mod kept;
#[path = "upkeep/migrate.rs"]
mod migrate;
#[path = "upkeep/previous.rs"]
mod previous;
#[path = "upkeep/prune.rs"]
mod prune;
#[path = "serve/support.rs"]
#[allow(dead_code)] // it serves the tests of the server too
mod support;
#[path = "upkeep/ways_out.rs"]
mod ways_out;
#[path = "upkeep/wire.rs"]
mod wire;
