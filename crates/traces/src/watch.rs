//! Reads the journals of the runs that this process drives.
//!
//! A run is read from its beginning when it is first seen here, forgotten when it comes to rest, and read
//! again when it wakes. Only what is committed from then on becomes spans: the rest was somebody else's.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use signoff_core::journal::Entry;
use signoff_core::{RunId, RunStatus, Seq};
use signoff_models::ModelIdentity;
use signoff_runtime::{AgentProfile, Engine, Live, LiveEvent};
use signoff_store::StoreError;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, watch as signal};

use crate::Counts;
use crate::reader::{Cast, SpanReader};
use crate::span::Span;

/// How many entries are read at once.
const PAGE: usize = 256;

impl Cast for Engine {
    fn agent(&self, version: &str, executor: &str) -> Option<AgentProfile> {
        self.definition(version).ok()?.agent(executor).cloned()
    }

    fn model(&self, alias: &str) -> Option<ModelIdentity> {
        Self::model(self, alias)
    }

    fn root(&self, run: &RunId) -> Option<RunId> {
        Some(self.store().run(run).ok()??.root)
    }
}

/// What is being done with what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// To know what is open.
    Learn,
    /// To send what ends.
    Tell,
}

/// Watches an engine and hands spans on.
pub(crate) struct Watch {
    engine: Engine,
    spans: mpsc::Sender<Span>,
    counts: Arc<Counts>,
    readers: BTreeMap<RunId, SpanReader>,
}

impl Watch {
    pub(crate) fn new(engine: Engine, spans: mpsc::Sender<Span>, counts: Arc<Counts>) -> Self {
        Self { engine, spans, counts, readers: BTreeMap::new() }
    }

    /// Watches until it is told to stop; what was committed by then is still read.
    pub(crate) async fn run(
        mut self,
        mut live: broadcast::Receiver<Live>,
        mut stopping: signal::Receiver<bool>,
    ) {
        loop {
            let heard = tokio::select! {
                biased;
                heard = live.recv() => heard,
                _ = stopping.wait_for(|stop| *stop) => break,
            };
            match heard {
                Ok(live) => self.hear(live).await,
                Err(RecvError::Lagged(missed)) => self.catch_up(missed).await,
                Err(RecvError::Closed) => return,
            }
        }
        loop {
            match live.try_recv() {
                Ok(live) => self.hear(live).await,
                Err(TryRecvError::Lagged(missed)) => self.catch_up(missed).await,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    async fn hear(&mut self, live: Live) {
        match live.event {
            LiveEvent::Committed(entries) => {
                if let Err(error) = self.committed(&live.run, &entries).await {
                    tracing::warn!(run = %live.run, %error, "a run cannot be read; its trace has a gap");
                    self.readers.remove(&live.run);
                }
            }
            LiveEvent::Quiet { .. } => {
                self.readers.remove(&live.run);
            }
            LiveEvent::Delta { .. } | LiveEvent::Restart { .. } => {}
        }
    }

    async fn committed(&mut self, run: &RunId, entries: &[Entry]) -> Result<(), StoreError> {
        let Some(first) = entries.first() else { return Ok(()) };
        let (mut reader, aim) = match self.readers.remove(run) {
            // Entries between were committed here and not heard of.
            Some(reader) => (reader, Aim::Tell),
            None => match self.begin(run, first.seq - 1).await? {
                Some(reader) => (reader, Aim::Learn),
                None => return Ok(()),
            },
        };
        self.read_up_to(run, &mut reader, first.seq - 1, aim).await?;
        for entry in entries.iter().filter(|entry| entry.seq > reader.seq()).collect::<Vec<_>>() {
            self.read(&mut reader, entry, Aim::Tell);
        }
        self.readers.insert(run.clone(), reader);
        Ok(())
    }

    /// A reader that knows the beginning of a run, as far as one page goes and not after `last`.
    async fn begin(&self, run: &RunId, last: Seq) -> Result<Option<SpanReader>, StoreError> {
        let (engine, run) = (self.engine.clone(), run.clone());
        let begin = move || {
            let page = engine.store().entries(&run, 0, PAGE)?;
            let Some((first, rest)) = page.split_first() else { return Ok(None) };
            let mut reader = SpanReader::begin(&run, first, &engine);
            for entry in rest.iter().filter(|entry| entry.seq <= last) {
                let _ = reader.as_mut().map(|reader| reader.read(entry, &engine));
            }
            Ok(reader)
        };
        away(begin).await
    }

    /// Reads what the store has between what was read and `last`.
    async fn read_up_to(
        &self,
        run: &RunId,
        reader: &mut SpanReader,
        last: Seq,
        aim: Aim,
    ) -> Result<(), StoreError> {
        while reader.seq() < last {
            let page = self.entries(run, reader.seq(), PAGE).await?;
            let mut wanted = page.iter().filter(|entry| entry.seq <= last).peekable();
            if wanted.peek().is_none() {
                return Ok(());
            }
            wanted.for_each(|entry| self.read(reader, entry, aim));
        }
        Ok(())
    }

    fn read(&self, reader: &mut SpanReader, entry: &Entry, aim: Aim) {
        for span in reader.read(entry, &self.engine) {
            // Nothing waits for whoever collects spans: what does not fit is gone.
            if aim == Aim::Tell && self.spans.try_send(span).is_err() {
                self.counts.add_dropped(1);
            }
        }
    }

    /// More happened than could be heard. What is known to be under way is read from the store; what began
    /// and ended meanwhile is lost.
    async fn catch_up(&mut self, missed: u64) {
        tracing::warn!(missed, "too much happens at once; traces have gaps");
        self.counts.add_dropped(missed);
        for (run, mut reader) in std::mem::take(&mut self.readers) {
            let read = self.read_up_to(&run, &mut reader, Seq::MAX, Aim::Tell).await;
            let store = Arc::clone(self.engine.store());
            let asked = run.clone();
            let found = away(move || store.run(&asked)).await;
            let moves = matches!(found, Ok(Some(record)) if record.status == RunStatus::Running);
            // It may have come to rest without being heard.
            if read.is_ok() && moves {
                self.readers.insert(run, reader);
            }
        }
    }

    async fn entries(
        &self,
        run: &RunId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let (store, run) = (Arc::clone(self.engine.store()), run.clone());
        away(move || store.entries(&run, after, limit)).await
    }
}

/// Reads the store, away from the threads that serve others.
async fn away<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))
}
