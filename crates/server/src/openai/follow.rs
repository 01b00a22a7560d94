//! Following a response to its end.

use std::time::Duration;

use serde_json::Value;
use signoff_core::journal::Entry;
use signoff_core::{Event, Request, RunId, Seq};
use signoff_runtime::Engine;
use signoff_store::{RunFilter, RunRecord};

use super::fault::Fault;
use super::id::ResponseId;
use super::object::Ending;
use super::stretch::{Of, Stretch};
use crate::app::App;
use crate::error::ApiError;
use crate::stream::{Next, Rest, Tail, Told, resting};

/// How many entries are read at once.
const PAGE: usize = 500;
/// How long nothing happens before it is looked whether the run rests: at first, and at most. What this process drives
/// says so by itself.
const SOON: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(2);

/// A run that was listened to since before it moved.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) of: Of,
    pub(super) tail: Tail,
    /// Its entries so far, from the first.
    pub(super) taken: Vec<Entry>,
}

/// A response that is followed.
#[derive(Debug)]
pub(super) struct Follow {
    app: App,
    tail: Tail,
    pub(super) stretch: Stretch,
    patience: Duration,
    /// Whether it came to the response's end.
    pub(super) over: bool,
}

impl Follow {
    /// Follows a response that [is there](known).
    pub(super) fn new(app: &App, id: ResponseId, record: RunRecord) -> Self {
        let tail = Tail::new(app, id.run.clone(), 0);
        let stretch = Stretch::new(id, record.into());
        Self { app: App::clone(app), tail, stretch, patience: SOON, over: false }
    }

    /// Follows a response that has just begun.
    pub(super) fn begun(app: &App, id: ResponseId, heard: Heard) -> Result<Self, ApiError> {
        let Heard { of, tail, taken } = heard;
        let stretch = Stretch::new(id, of);
        let mut follow = Self { app: App::clone(app), tail, stretch, patience: SOON, over: false };
        taken.iter().try_for_each(|entry| follow.take(entry))?;
        Ok(follow)
    }

    /// The events that come next; none at the end, or when the server stops (then it is not `over`). May be
    /// dropped while it waits; nothing is lost by that.
    pub(super) async fn next(&mut self) -> Result<Vec<Value>, ApiError> {
        loop {
            let has_some = !self.stretch.events.waiting.is_empty();
            if self.over || (has_some && !self.tail.has_more()) {
                return Ok(std::mem::take(&mut self.stretch.events.waiting));
            }
            let next = tokio::time::timeout(self.patience, self.tail.next_or_quiet()).await;
            match next {
                Err(_) => {
                    self.patience = LATE.min(self.patience * 2);
                    self.look().await?;
                }
                Ok(next) => match next? {
                    Next::Told(Told::Entry(entry)) => self.take(&entry)?,
                    Next::Told(Told::Delta { .. } | Told::Restart { .. }) => {}
                    Next::Told(Told::End) => self.over = true,
                    Next::Told(Told::Bye) => return Ok(Vec::new()),
                    Next::Quiet { parked: true } if self.stretch.waits() => {
                        self.stretch.end(Ending::Waiting, &[]);
                        self.over = true;
                    }
                    Next::Quiet { .. } => self.look().await?,
                },
            }
        }
    }

    fn take(&mut self, entry: &Entry) -> Result<(), ApiError> {
        self.stretch.take(entry).map_err(|error| ApiError::internal(&error))?;
        self.over = self.stretch.ending().is_some();
        self.patience = SOON;
        Ok(())
    }

    /// Looks whether the run rests.
    async fn look(&mut self) -> Result<(), ApiError> {
        let (run, seen) = (self.stretch.id().run.clone(), self.stretch.seen());
        let rest = self.app.read(move |engine| at_rest(engine, &run, seen)).await?;
        if let Some((ending, parts)) = rest {
            self.stretch.end(ending, &parts);
            self.over = true;
        }
        Ok(())
    }

    /// Goes on to the end, or to when the server stops.
    pub(super) async fn run_out(&mut self) -> Result<(), ApiError> {
        while !self.next().await?.is_empty() {}
        Ok(())
    }
}

/// How a response ends whose run rests, with nothing after entry `seen`, and what waits.
fn at_rest(
    engine: &Engine,
    run: &RunId,
    seen: Seq,
) -> Result<Option<(Ending, Vec<Request>)>, ApiError> {
    Ok(match resting(engine, run, seen)? {
        Some(Rest::Paused) => Some((Ending::Paused, Vec::new())),
        Some(Rest::Waiting(pending)) => Some((Ending::Waiting, pending)),
        Some(Rest::Asleep) | None => None,
    })
}

/// The run of a response, if there is such a response.
pub(super) fn known(engine: &Engine, id: &ResponseId) -> Result<RunRecord, Fault> {
    let unknown = || Fault::unknown_response(&id.to_string());
    let store = engine.store();
    let record = store.run(&id.run)?.ok_or_else(unknown)?;
    if id.manner.notice().is_some() {
        return if id.last <= record.head { Ok(record) } else { Err(unknown()) };
    }
    let at = |seq: Seq| -> Result<Option<Event>, Fault> {
        let found = store.entries(&id.run, seq - 1, 1)?;
        Ok(found.into_iter().next().map(|entry| entry.event))
    };
    let begins = match at(id.first)? {
        Some(Event::Started(_)) => id.last == id.first,
        Some(
            Event::Decided { .. }
            | Event::Expired { .. }
            | Event::TimerFired { .. }
            | Event::ChildEnded { .. },
        ) => true,
        // What a part of it was given will reach it next.
        None => id.first == record.head + 1 && !record.status.is_over(),
        // While a part was given something the run itself may have moved.
        _ => {
            let tree = RunFilter { root: Some(id.run.clone()), ..RunFilter::default() };
            store.runs(&tree, None, 2)?.items.len() > 1
        }
    };
    let brought = id.last == id.first || matches!(at(id.last)?, Some(Event::Decided { .. }));
    if begins && brought { Ok(record) } else { Err(unknown()) }
}

/// A response as it stands now.
pub(super) fn as_it_stands(engine: &Engine, id: &ResponseId) -> Result<Stretch, Fault> {
    let mut stretch = Stretch::new(id.clone(), known(engine, id)?.into());
    loop {
        let entries = engine.store().entries(&id.run, stretch.seen(), PAGE)?;
        for entry in &entries {
            stretch.take(entry).map_err(|error| ApiError::internal(&error))?;
        }
        if entries.len() < PAGE || stretch.ending().is_some() {
            break;
        }
    }
    if stretch.ending().is_none()
        && let Some((ending, parts)) = at_rest(engine, &id.run, stretch.seen())?
    {
        stretch.end(ending, &parts);
    }
    Ok(stretch)
}
