//! Following a response to its end.

use std::time::Duration;

use serde_json::Value;
use signoff_core::{Event, Request, RunId, Seq};
use signoff_runtime::Engine;
use signoff_store::{RunFilter, RunRecord};

use super::fault::Fault;
use super::id::ResponseId;
use super::object::Ending;
use super::stretch::Stretch;
use crate::app::App;
use crate::error::ApiError;
use crate::stream::{Rest, Tail, Told, resting};

/// How many entries are read at once.
const PAGE: usize = 500;
/// How long nothing happens before it is looked whether the run rests: at first, and at most.
const SOON: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_secs(2);

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
        let stretch = Stretch::new(id, record);
        Self { app: App::clone(app), tail, stretch, patience: SOON, over: false }
    }

    /// The next event; none at the end, or when the server stops (then it is not `over`). May be
    /// dropped while it waits; nothing is lost by that.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, ApiError> {
        loop {
            if let Some(event) = self.stretch.events.waiting.pop_front() {
                return Ok(Some(event));
            }
            if self.over {
                return Ok(None);
            }
            let told = tokio::time::timeout(self.patience, self.tail.next()).await;
            let Ok(told) = told else {
                self.look().await?;
                continue;
            };
            match told? {
                Told::Entry(entry) => {
                    self.stretch.take(&entry).map_err(|error| ApiError::internal(&error))?;
                    self.over = self.stretch.ending().is_some();
                    self.patience = SOON;
                }
                Told::Delta { .. } | Told::Restart { .. } => {}
                Told::End => self.over = true,
                Told::Bye => return Ok(None),
            }
        }
    }

    /// Looks whether the run rests.
    async fn look(&mut self) -> Result<(), ApiError> {
        self.patience = LATE.min(self.patience * 2);
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
        while self.next().await?.is_some() {}
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
    let mut stretch = Stretch::new(id.clone(), known(engine, id)?);
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
