//! What people and programs outside were told while it all went on.

use std::sync::Arc;

use signoff_core::journal::Entry;
use signoff_core::request::Request;
use signoff_core::{Actor, Decision, RequestId, RunId};

/// What people and programs outside were told.
#[derive(Debug, Default)]
pub struct Log {
    pub started: Vec<RunId>,
    pub told: Vec<Told>,
    pub shown: Vec<Shown>,
}

impl Log {
    /// How many answers came too late.
    pub fn too_late(&self) -> usize {
        self.told.iter().filter(|told| matches!(told.outcome, Outcome::TooLate(_))).count()
    }
}

/// What somebody who watched a process was shown of a run, as durable.
#[derive(Debug)]
pub struct Shown {
    /// In which process.
    pub by: usize,
    pub run: RunId,
    pub entries: Arc<[Entry]>,
}

/// What came of somebody's answer, as far as they were told.
#[derive(Debug)]
pub struct Told {
    pub request: RequestId,
    pub decision: Decision,
    pub by: Actor,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    /// It was taken.
    Taken,
    /// It had been taken before.
    Stands,
    /// Something else had been decided.
    TooLate(Box<Request>),
}
