//! A2A over gRPC.
//!
//! The protocol says of each message how it is written as JSON, and everything else of ours speaks that. So this
//! binding knows no message by name: what comes in becomes the JSON of the same meaning, is carried out by whoever
//! implements [`Operations`], and what comes of it becomes a message again. The descriptors it goes by are made of
//! `proto/a2a.proto` when this crate is built.

mod answer;
mod codec;
mod fault;
mod method;

pub use answer::{Answers, Operations, answer, refuse};
pub use fault::Fault;
pub use method::{Method, Methods, Unreadable};

/// What every method of the service begins with.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";
