//! The real binary, as a person or a script uses it.

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

#[path = "cli/check.rs"]
mod check;
#[path = "cli/event_planner.rs"]
mod event_planner;
#[path = "cli/inbox.rs"]
mod inbox;
#[path = "cli/journal.rs"]
mod journal;
#[path = "cli/looks.rs"]
mod looks;
#[path = "cli/money.rs"]
mod money;
#[path = "cli/remote.rs"]
mod remote;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/support_handoff.rs"]
mod support_handoff;
