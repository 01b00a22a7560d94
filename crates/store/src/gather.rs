//! Decides which commands share a transaction.
//!
//! Whoever was answered by the last commit often has the next command ready a moment later. Without
//! patience such callers fall into two halves, each waiting for the other's commit. A wait that is
//! short beside a commit lets them go together, with half the commits.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// How many commands share a transaction at most.
const MAX_BATCH: usize = 1024;
/// With fewer at once, there is nobody to wait for.
const MIN_CROWD: usize = 4;
/// A wait is this part of what a commit takes; there are at most two.
const PART: u32 = 16;
/// A shorter wait costs more than it brings.
const MIN_WAIT: Duration = Duration::from_micros(50);
/// So many batches go without waiting after a wait was in vain.
const PAUSE: u32 = 16;

/// Gathers commands, and learns from what it sees how long that may take.
#[derive(Debug, Default)]
pub(crate) struct Gatherer {
    last_batch: usize,
    commit_takes: Duration,
    pause: u32,
}

impl Gatherer {
    /// Waits for commands and takes all there are. False when there will be no more.
    pub(crate) fn gather<T>(&mut self, queue: &Receiver<T>, batch: &mut Vec<T>) -> bool {
        let Ok(first) = queue.recv() else { return false };
        batch.push(first);
        take(queue, batch);
        self.wait_for_more(queue, batch);
        self.last_batch = batch.len();
        true
    }

    /// Takes note of how long the batch took.
    pub(crate) fn committed(&mut self, since: Instant) {
        self.commit_takes = (self.commit_takes * 7 + since.elapsed()) / 8;
    }

    fn wait_for_more<T>(&mut self, queue: &Receiver<T>, batch: &mut Vec<T>) {
        let wait = self.commit_takes / PART;
        if batch.len() < MIN_CROWD || wait < MIN_WAIT {
            return;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        let there = batch.len();
        let expected = (there + self.last_batch).min(MAX_BATCH);
        for _ in 0..2 {
            if batch.len() < expected {
                std::thread::sleep(wait);
                take(queue, batch);
            }
        }
        if (batch.len() - there) * 4 < self.last_batch.min(there) {
            self.pause = PAUSE;
        }
    }
}

fn take<T>(queue: &Receiver<T>, batch: &mut Vec<T>) {
    batch.extend(queue.try_iter().take(MAX_BATCH - batch.len()));
}
