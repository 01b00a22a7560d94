//! Real nodes on a real database, killed, stopped and cut off under load, and a check of what their clients saw.
//!
//! Each conversation acts twice in the world and asks a person twice. Every start and every answer is sent to two nodes, the
//! second answer being another one. When all is over, what clients were told is held against what the journals say.
//!
//! For tests only; what goes wrong here fails one, so it panics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]
#![allow(clippy::print_stdout)] // what it has to say is for people

mod check;
mod client;
mod conversation;
mod disk;
mod faults;
mod history;
mod nodes;
mod peer;
mod report;
mod run;
mod takeover;

pub use check::{Verdict, check};
pub use disk::full_disk;
pub use faults::Plan;
pub use history::{Acted, Answer, Asked, Found, History, Outcome};
pub use report::Report;
pub use run::run;
