//! One listener's way through one journal.

use std::collections::VecDeque;

use signoff_core::journal::Entry;
use signoff_core::{Name, RunId, Seq};
use signoff_runtime::ModelCall;

use super::hub::Piece;
use super::{Hub, Subscription};
use crate::app::App;
use crate::error::ApiError;

/// How many entries are read at once, and so how many may wait for a slow listener.
const PAGE: usize = 64;

/// What a listener is told.
#[derive(Debug)]
pub(crate) enum Told {
    /// An entry. Each comes once, in order, without gaps.
    Entry(Box<Entry>),
    /// A model is saying this. It will be in an entry once it is whole; who had to read the store may have seen
    /// that entry before.
    Delta { run: RunId, agent: Name, text: std::sync::Arc<str>, call: ModelCall },
    /// What this agent's model was saying was cut off; it begins again.
    Restart { run: RunId, agent: Name, call: ModelCall },
    /// The server stops; go on elsewhere or later.
    Bye,
    /// The journal has no more entries, and never will.
    End,
}

/// What happens next.
#[derive(Debug)]
pub(crate) enum Next {
    Told(Told),
    /// The run or a part of it came to rest, or may have. `parked` means that the run did, and that all its entries
    /// were told.
    Quiet {
        parked: bool,
    },
}

/// Follows a journal from a position.
#[derive(Debug)]
pub(crate) struct Tail {
    app: App,
    run: RunId,
    /// The last entry that is told or waits to be.
    seen: Seq,
    pieces: Subscription,
    waiting: VecDeque<Entry>,
    /// Whether the store may have more than was seen.
    behind: bool,
    /// Whether the run may have come to rest unheard, because the store was read.
    quiet: bool,
    ended: bool,
}

impl Tail {
    /// Follows `run` from the entry after `after`.
    pub(crate) fn new(app: &App, run: RunId, after: Seq) -> Self {
        let pieces = Hub::listen(&app.hub, &run);
        Self {
            app: App::clone(app),
            run,
            seen: after,
            pieces,
            waiting: VecDeque::new(),
            behind: true,
            quiet: false,
            ended: false,
        }
    }

    /// Follows a run that is about to be created by this process: nothing of it is missed.
    pub(crate) fn of_new(app: &App, run: RunId) -> Self {
        Self { behind: false, ..Self::new(app, run, 0) }
    }

    /// Follows `run` from its beginning, with the first entries read right here, where the store may be read.
    pub(crate) fn read(app: &App, run: RunId) -> Result<Self, ApiError> {
        let mut tail = Self::new(app, run, 0);
        let entries = app.engine.store().entries(&tail.run, 0, PAGE)?;
        tail.found(entries);
        Ok(tail)
    }

    /// What comes next. May be dropped while it waits; nothing is lost by that.
    pub(crate) async fn next(&mut self) -> Result<Told, ApiError> {
        loop {
            if let Next::Told(told) = self.next_or_quiet().await? {
                return Ok(told);
            }
        }
    }

    /// The same, and when something comes to rest.
    pub(crate) async fn next_or_quiet(&mut self) -> Result<Next, ApiError> {
        let mut stopping = self.app.stopping.clone();
        let told = loop {
            if let Some(entry) = self.waiting.pop_front() {
                self.ended = entry.event.ends_run();
                break Told::Entry(Box::new(entry));
            }
            if self.ended {
                break Told::End;
            }
            if *stopping.borrow() {
                break Told::Bye;
            }
            if self.behind {
                self.catch_up().await?;
                continue;
            }
            if std::mem::take(&mut self.quiet) {
                return Ok(Next::Quiet { parked: false });
            }
            let piece = tokio::select! {
                piece = self.pieces.next() => piece,
                _ = stopping.wait_for(|stop| *stop) => break Told::Bye,
            };
            match piece {
                Piece::Entries(entries) => self.take(&entries),
                Piece::Delta { run, agent, text, call } => {
                    break Told::Delta { run, agent, text, call };
                }
                Piece::Restart { run, agent, call } => break Told::Restart { run, agent, call },
                Piece::Quiet { head } if head == Some(self.seen) => {
                    return Ok(Next::Quiet { parked: true });
                }
                Piece::Quiet { .. } | Piece::Look => self.behind = true,
            }
        };
        Ok(Next::Told(told))
    }

    /// Whether the next entry is at hand.
    pub(crate) fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes entries that were just committed, unless some before them were missed.
    fn take(&mut self, entries: &[Entry]) {
        match entries.first() {
            Some(first) if first.seq <= self.seen + 1 => {
                let seen = self.seen;
                self.waiting.extend(entries.iter().filter(|entry| entry.seq > seen).cloned());
                self.seen = self.waiting.back().map_or(seen, |last| last.seq);
            }
            _ => self.behind = true,
        }
    }

    /// Reads the next entries from the store.
    async fn catch_up(&mut self) -> Result<(), ApiError> {
        let (run, seen) = (self.run.clone(), self.seen);
        let entries =
            self.app.read(move |engine| Ok(engine.store().entries(&run, seen, PAGE)?)).await?;
        self.found(entries);
        Ok(())
    }

    fn found(&mut self, entries: Vec<Entry>) {
        (self.behind, self.quiet) = (entries.len() == PAGE, true);
        self.seen = entries.last().map_or(self.seen, |last| last.seq);
        self.waiting.extend(entries);
    }
}
