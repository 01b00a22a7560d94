//! Real servers, and servers that misbehave. Node and Python must be there: they run the servers.

#![allow(clippy::unwrap_used)] // helpers of tests are tests as well

mod durable;
mod everything;
mod examples;
mod faults;
mod questions;
mod support;
