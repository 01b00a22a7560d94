//! The planner and the fold, on any graph and in any order of events.

#![allow(clippy::unwrap_used)]

#[path = "planner/corrupt.rs"]
mod corrupt;
#[path = "planner/fold.rs"]
mod fold;
#[path = "planner/inputs.rs"]
mod inputs;
#[path = "planner/play.rs"]
mod play;
#[path = "planner/rules.rs"]
mod rules;
