//! Runs as OpenTelemetry traces.
//!
//! A run may wait for days and go on in another process, so no span can be held open in memory. Spans are
//! made of journal entries instead: when the entry is committed that ends something, everything about it is
//! known. Their ids follow from the run and the place in it (`id`), so that every process that drives a
//! part of a run adds to the same trace, and a span that is sent twice is the same span.
//!
//! `reader` makes spans of a journal, `watch` reads the journals of runs that this process drives, `export`
//! sends. No SDK: those time code that runs, and would bring a second HTTP stack. What people and models
//! say, arguments, results and error messages are never part of a span.

mod config;
mod export;
mod id;
mod otlp;
mod reader;
mod span;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use config::{Config, ConfigError, variable};
use signoff_runtime::Engine;
use tokio::sync::{mpsc, watch as signal};
use tokio::task::JoinHandle;

/// How many spans may wait to be sent; more are dropped.
const QUEUE: usize = 2048;
/// How long the last spans are given when it is over.
const LAST_WORD: Duration = Duration::from_secs(3);

/// What became of spans so far.
#[derive(Debug, Default)]
pub struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl Counts {
    /// Spans that were taken by whoever collects them.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Spans that were not: there were too many, or nobody took them. What was missed because it could not be
    /// read in time counts too.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn add_sent(&self, spans: usize) {
        self.sent.fetch_add(spans as u64, Ordering::Relaxed);
    }

    fn add_dropped(&self, spans: u64) {
        self.dropped.fetch_add(spans, Ordering::Relaxed);
    }
}

/// Traces of the runs that an engine drives, from when this is made until it is finished.
#[derive(Debug)]
pub struct Traces {
    stop: signal::Sender<bool>,
    watching: JoinHandle<()>,
    sending: JoinHandle<()>,
}

impl Traces {
    /// Sends the spans of what `engine` commits from now on. Nothing in a run ever waits for that.
    pub fn start(engine: &Engine, config: Config, counts: Arc<Counts>) -> Self {
        let (stop, stopping) = signal::channel(false);
        let (spans, queue) = mpsc::channel(QUEUE);
        let watch = watch::Watch::new(engine.clone(), spans, Arc::clone(&counts));
        let export = export::Export::new(config, queue, counts, stopping.clone());
        let watching = tokio::spawn(watch.run(engine.watch(), stopping));
        Self { stop, watching, sending: tokio::spawn(export.run()) }
    }

    /// Sends what is left, for a moment, and ends.
    pub async fn finish(self) {
        self.stop.send_replace(true);
        let Self { mut watching, mut sending, .. } = self;
        let ended = async {
            let _ = (&mut watching).await;
            let _ = (&mut sending).await;
        };
        if tokio::time::timeout(LAST_WORD, ended).await.is_err() {
            tracing::warn!("the last spans could not be sent in time");
        }
        watching.abort();
        sending.abort();
    }
}
