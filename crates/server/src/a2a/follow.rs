//! Following a task as it goes on.

use std::collections::VecDeque;
use std::time::Duration;

use signoff_a2a::wire::{Event, Task, TaskState};
use signoff_core::{RequestNo, RunId};
use tokio::time::Instant;

use super::fault::{Fault, broken};
use super::load;
use super::project::{Fold, Viewer};
use crate::app::App;
use crate::stream::{Next, Rest, Tail, Told, resting};

/// How long nothing happens before it is looked whether the run rests: at first, and at most. What this process drives
/// says so by itself.
const SOON: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(2);

/// How far a task is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until it is over, waits for somebody, or was paused: for whoever waits for one answer.
    Rest,
    /// Until it is over or waits for an answer of this client. What others must allow is waited for.
    Question,
    /// Until it is over.
    End,
}

/// A task that is followed.
#[derive(Debug)]
pub(crate) struct Follow {
    app: App,
    run: RunId,
    tail: Tail,
    fold: Fold,
    until: Until,
    /// The decisions that must be in the journal before anything is told.
    first: Vec<RequestNo>,
    /// Whether the task was told.
    begun: bool,
    ready: VecDeque<Event>,
    patience: Duration,
    asked_since: Option<Instant>,
    over: bool,
}

impl Follow {
    /// Follows a run that is about to be created.
    pub(super) fn of_new(app: &App, run: RunId, viewer: Viewer, until: Until) -> Self {
        let tail = Tail::of_new(app, run.clone());
        Self::at(app, run.clone(), tail, Fold::new(run, viewer), until)
    }

    /// Follows a task from how it stands now.
    pub(super) fn from_here(app: &App, run: RunId, fold: Fold, until: Until) -> Self {
        let tail = Tail::new(app, run.clone(), fold.seen());
        let mut follow = Self::at(app, run, tail, fold, until);
        follow.begin();
        follow
    }

    /// Follows a task that is about to be [answered](Self::answered).
    pub(super) fn from_answer(app: &App, run: RunId, fold: Fold, until: Until) -> Self {
        let tail = Tail::new(app, run.clone(), fold.seen());
        Self::at(app, run, tail, fold, until)
    }

    fn at(app: &App, run: RunId, tail: Tail, fold: Fold, until: Until) -> Self {
        Self {
            app: App::clone(app),
            run,
            tail,
            fold,
            until,
            first: Vec::new(),
            begun: false,
            ready: VecDeque::new(),
            patience: SOON,
            asked_since: None,
            over: false,
        }
    }

    /// Tells the task from where the journal has the decisions on these requests.
    pub(super) fn answered(&mut self, first: Vec<RequestNo>) {
        self.first = first;
        self.begin();
    }

    /// The run it is.
    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    /// The task as far as it was followed.
    pub(crate) fn task(&self) -> &Task {
        self.fold.task()
    }

    pub(crate) fn fold(&self) -> &Fold {
        &self.fold
    }

    /// How far it is followed.
    pub(crate) fn until(&self) -> Until {
        self.until
    }

    /// What comes next; none at the end, or when the server stops. May be dropped while it waits; nothing is lost by
    /// that.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Fault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.over {
                return Ok(None);
            }
            self.go_on().await?;
        }
    }

    /// Goes on to the end.
    pub(crate) async fn run_out(&mut self) -> Result<(), Fault> {
        while self.next().await?.is_some() {}
        Ok(())
    }

    async fn go_on(&mut self) -> Result<(), Fault> {
        let Ok(next) = tokio::time::timeout(self.patience, self.tail.next_or_quiet()).await else {
            self.patience = LATE.min(self.patience * 2);
            return self.look().await;
        };
        match next? {
            Next::Told(Told::Entry(entry)) => {
                self.patience = SOON;
                let events = self.fold.take(&entry).map_err(|error| broken(&error))?;
                self.tell(events);
            }
            Next::Told(Told::Delta { .. } | Told::Restart { .. }) => {}
            Next::Told(Told::End | Told::Bye) => self.over = true,
            Next::Quiet { parked: true } if !self.fold.has_parts() => {
                let asks = self.fold.state() == TaskState::InputRequired;
                if asks && self.begun && self.until != Until::End {
                    self.over = true;
                } else {
                    self.look().await?;
                }
            }
            Next::Quiet { .. } => self.look().await?,
        }
        Ok(())
    }

    fn tell(&mut self, events: Vec<Event>) {
        if self.begun {
            self.ready.extend(events);
        }
        self.begin();
        self.asked_since = match self.fold.state() {
            TaskState::InputRequired => self.asked_since.or_else(|| Some(Instant::now())),
            _ => None,
        };
        self.over = self.fold.state().is_terminal();
    }

    /// Tells the task first, as soon as it has come to where it is to be told from.
    fn begin(&mut self) {
        let there = self.fold.seen() > 0 && self.first.iter().all(|no| self.fold.has_decided(*no));
        if !self.begun && (there || self.fold.state().is_terminal()) {
            self.begun = true;
            self.ready.push_back(Event::Task(Box::new(self.fold.task().clone())));
            self.over = self.fold.state().is_terminal();
        }
    }

    /// Looks what the parts of the run ask, and whether it rests.
    async fn look(&mut self) -> Result<(), Fault> {
        let (run, seen) = (self.run.clone(), self.fold.seen());
        let has_parts = self.fold.has_parts();
        let read = self.app.read(move |engine| {
            let rest = resting(engine, &run, seen)?;
            let parts = if has_parts { load::parts(engine, &run) } else { Ok(Vec::new()) };
            Ok((rest, parts))
        });
        let (rest, parts) = read.await?;
        for (_, request) in parts? {
            let events = self.fold.part(&request);
            if !events.is_empty() {
                self.tell(events);
            }
        }
        if !self.begun || self.until == Until::End {
            return Ok(());
        }
        let asks = self.fold.state() == TaskState::InputRequired;
        self.over |= match rest {
            Some(Rest::Waiting(_)) => asks || self.until == Until::Rest,
            Some(Rest::Paused) => self.until == Until::Rest,
            // Something else still works; whoever is asked need not wait for that.
            Some(Rest::Asleep) | None => {
                asks && self.asked_since.is_some_and(|since| since.elapsed() >= LATE)
            }
        };
        Ok(())
    }
}
