//! A plan is made, people agree, it is carried out: planning, control, back to planning, feedback, presets.

#![allow(clippy::unwrap_used, clippy::needless_raw_string_hashes)] // tests

#[path = "phases/control.rs"]
mod control;
#[path = "phases/feedback.rs"]
mod feedback;
#[path = "phases/matrix.rs"]
mod matrix;
#[path = "phases/planning.rs"]
mod planning;
#[path = "phases/stage.rs"]
mod stage;
mod support;
