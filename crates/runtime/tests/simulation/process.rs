//! One process: an engine, a clock of its own, and a runtime that moves when it is told to.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use signoff_core::Timestamp;
use signoff_runtime::{Clock, Engine, LiveEvent};
use tokio::runtime::Runtime;

use super::history::{Log, Shown};

/// The clock of one process: a clock they share, which may jump, and its own error.
#[derive(Debug)]
pub struct SkewedClock {
    pub shared: Arc<AtomicI64>,
    pub error: i64,
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.shared.load(Ordering::SeqCst) + self.error)
    }
}

pub struct Process {
    pub id: usize,
    pub engine: Engine,
    pub runtime: Runtime,
    /// The steps it has left to live, if its end is near.
    pub doomed: Option<u32>,
    /// It is stopped for so many steps.
    pub stopped: Option<Stopped>,
}

/// A process that does nothing for a while.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub left: u32,
    /// What it has asked of the store does not arrive either.
    pub cut_off: bool,
}

impl Process {
    pub fn new(id: usize, engine: Engine) -> Self {
        Self { id, engine, runtime: paused_runtime(), doomed: None, stopped: None }
    }

    /// Lets its tasks run for a moment.
    pub fn turn(&self, moments: usize) {
        self.runtime.block_on(async {
            for _ in 0..moments {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Lets time pass for its timers, which is not the time of day.
    pub fn pass(&self, millis: u64) {
        self.runtime.block_on(tokio::time::advance(Duration::from_millis(millis)));
    }

    /// Somebody watches what it says is durable.
    pub fn watched_by(&self, log: &Arc<Mutex<Log>>) {
        let (by, log, mut watch) = (self.id, Arc::clone(log), self.engine.watch());
        self.runtime.spawn(async move {
            while let Ok(live) = watch.recv().await {
                if let LiveEvent::Committed(entries) = live.event {
                    log.lock().unwrap().shown.push(Shown { by, run: live.run, entries });
                }
            }
        });
    }
}

/// A runtime whose time stands still unless it is told, or has nothing else to do.
pub fn paused_runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}
