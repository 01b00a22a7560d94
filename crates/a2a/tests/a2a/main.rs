//! Real agents, and agents that misbehave. Python must be there: it runs the real ones.

#![allow(clippy::unwrap_used)] // helpers of tests are tests as well

mod answers;
mod cards;
mod fake;
mod faults;
mod sdk;
mod secrets;
mod several;
mod support;
