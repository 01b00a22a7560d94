//! Where the conversation stands, and since when.

use super::Chat;

/// Where the conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is under way.
    Idle,
    /// A run is at work.
    Running,
    /// It waits for a person.
    Awaiting,
    /// It was answered, and has not moved yet.
    Continuing,
}

impl Phase {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Awaiting => "awaiting an answer",
            Self::Continuing => "continuing",
        }
    }
}

impl Chat {
    /// It stands there from now on.
    pub(super) fn turn_to(&mut self, phase: Phase) {
        // What was answered goes on: it is the same run that is at work.
        let works = |phase| matches!(phase, Phase::Running | Phase::Continuing);
        if self.phase != phase && !(works(self.phase) && works(phase)) {
            self.since = self.now;
        }
        self.phase = phase;
    }
}
