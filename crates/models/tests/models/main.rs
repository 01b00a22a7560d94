//! Providers from outside: over real HTTP, against a server that misbehaves.

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

mod budget;
mod config;
mod decode;
mod fallbacks;
mod faults;
mod patience;
mod secrets;
mod support;
mod wire;
mod workflow;
