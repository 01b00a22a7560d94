//! Decoders as fuzz targets: each takes any bytes, and may answer with an error, but never panic, hang or grow without
//! bound. [`drive`] feeds one with changed seeds for a while, on stable Rust; `cargo-fuzz` can call the same functions.
//!
//! For tests only. Decoders inside the server are reached over the network instead: `cli/tests/upkeep/wire.rs`.

mod driver;
mod files;
mod targets;

pub use driver::{Driven, drive};
pub use targets::{TARGETS, Target};
