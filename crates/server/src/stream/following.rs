//! A run from somewhere to where it rests, for dialects whose answers end there.

use std::time::Duration;

use signoff_core::{RunId, Seq};
use tokio::time::Instant;

use super::{Next, Rest, Tail, Told, resting};
use crate::app::App;
use crate::error::ApiError;

/// How long nothing happens before it is looked whether the run rests: at first, and at most. What this process drives
/// says so by itself.
const SOON: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(2);

/// A run that is followed.
#[derive(Debug)]
pub(crate) struct Following {
    app: App,
    run: RunId,
    tail: Box<Tail>,
    /// The last entry that was told.
    seen: Seq,
    patience: Duration,
    quiet_since: Instant,
}

/// What happens next.
#[derive(Debug)]
pub(crate) enum Step {
    Told(Told),
    /// Nothing moves. Asked again, it goes on looking.
    Rest(Rest),
}

impl Following {
    /// Follows `run` by a tail that begins with its first entry.
    pub(crate) fn new(app: &App, run: RunId, tail: Box<Tail>) -> Self {
        let app = App::clone(app);
        Self { app, run, tail, seen: 0, patience: SOON, quiet_since: Instant::now() }
    }

    /// The run.
    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    /// What comes next. What is told of parts of the run is only what their models are saying. May be dropped while it
    /// waits; nothing is lost by that.
    pub(crate) async fn next(&mut self) -> Result<Step, ApiError> {
        loop {
            let next = tokio::time::timeout(self.patience, self.tail.next_or_quiet()).await;
            let told = match next.unwrap_or(Ok(Next::Quiet { parked: false }))? {
                Next::Told(told) => told,
                Next::Quiet { .. } => match self.look().await? {
                    Some(rest) => return Ok(Step::Rest(rest)),
                    None => continue,
                },
            };
            match &told {
                Told::Entry(entry) => {
                    (self.seen, self.patience) = (entry.seq, SOON);
                    self.quiet_since = Instant::now();
                }
                Told::Delta { run, .. } if *run == self.run => self.quiet_since = Instant::now(),
                _ => {}
            }
            return Ok(Step::Told(told));
        }
    }

    /// Looks whether the run rests.
    async fn look(&mut self) -> Result<Option<Rest>, ApiError> {
        self.patience = LATE.min(self.patience * 2);
        let (run, seen) = (self.run.clone(), self.seen);
        let rest = self.app.read(move |engine| resting(engine, &run, seen)).await?;
        // A short sleep is not worth a word.
        let soon = self.quiet_since.elapsed() < LATE;
        Ok(rest.filter(|rest| !(soon && matches!(rest, Rest::Asleep))))
    }
}
