//! How far a run has come, and what people said: kept in its journal, each once and in order.

use signoff_core::feedback::{Feedback, FeedbackScope, Given, Timing};
use signoff_core::journal::{Entered, Event, StepEnd};
use signoff_core::state::{CONTROL, PLANNING, Progress};
use signoff_core::{Actor, RunState};

use super::{Context, next};

impl Context {
    /// Says that a phase begins, or a step of a plan.
    pub(crate) fn enter(&self, phase: &str, step: Option<(u32, &str)>) {
        self.marked(|_| {
            Event::Entered(Entered {
                activation: self.activation,
                phase: phase.into(),
                step: step.map(|(n, _)| n),
                title: step.map(|(_, title)| title.to_owned()),
            })
        });
    }

    /// Says what became of a step.
    pub(crate) fn step_ended(&self, step: u32, how: StepEnd) {
        self.marked(|_| Event::StepEnded { activation: self.activation, step, how });
    }

    /// Says that what a step had changed is undone.
    pub(super) fn rolled_back(&self, step: u32) {
        self.marked(|_| Event::RolledBack { activation: self.activation, step });
    }

    /// Keeps what a person said when asked. What is about a phase is about planning.
    pub(crate) fn keep(
        &self,
        scope: FeedbackScope,
        step: Option<u32>,
        timing: Timing,
        author: Actor,
        text: String,
    ) {
        self.marked(|state| Event::Feedback {
            activation: Some(self.activation),
            given: Box::new(Given {
                n: state.progress.last_feedback + 1,
                scope,
                phase: match scope {
                    FeedbackScope::Run => None,
                    FeedbackScope::Phase => Some(PLANNING.into()),
                    FeedbackScope::Step => Some(CONTROL.into()),
                },
                step,
                timing,
                author,
                agents: Vec::new(),
                expires: None,
                text,
            }),
        });
    }

    /// What people said that counts by the time of the journal's last entry, whatever the clock says. Not for deciding
    /// what to do: that must be the same on every start.
    pub(crate) fn feedback(&self) -> Vec<Feedback> {
        let state = &self.cell.lock().state;
        state.progress.counting(state.updated_at).cloned().collect()
    }

    /// How far the run has come.
    pub(super) fn progress(&self) -> Progress {
        self.cell.lock().state.progress.clone()
    }

    fn marked(&self, event: impl FnOnce(&RunState) -> Event) {
        let n = next(&self.order.marked);
        let now = self.cell.engine.clock.now();
        let mut inner = self.cell.lock();
        let marks = inner.state.open.get(&self.activation).map_or(0, |open| open.marks);
        if n >= marks {
            let event = event(&inner.state);
            inner.emit(now, event);
        }
    }
}
