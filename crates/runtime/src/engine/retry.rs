//! Trying again: a fork from just before what went wrong.

use signoff_core::decision::Then;
use signoff_core::journal::{Entry, Event, Outcome};
use signoff_core::{Actor, Decision, RunId, Seq};

use super::{Engine, EngineError, ForkRun, Started};

impl Engine {
    /// Makes a new run of one that failed or was stopped. It shares everything up to just before that; what
    /// other executors did after it is done again, as after any fork.
    pub async fn retry(
        &self,
        run: &RunId,
        by: Actor,
        reason: Option<String>,
    ) -> Result<Started, EngineError> {
        let head = self.view(run)?.record.head;
        let entries = self.store().load(run, Some(head))?.entries;
        let at = place(&entries).ok_or_else(|| EngineError::NotFailed(run.clone()))?;
        self.fork(ForkRun { run: run.clone(), at, decision: None, by, reason }).await
    }
}

/// The last entry before what ended a run badly.
fn place(entries: &[Entry]) -> Option<Seq> {
    let end = entries.last()?;
    let stopped = match &end.event {
        Event::RunFailed { .. } => false,
        Event::RunCancelled { .. } => true,
        _ => return None,
    };
    // A person may have ended it with an answer: then that is asked again.
    let answer = entries.iter().rposition(|entry| match &entry.event {
        Event::Decided { decision, .. } => ends(decision),
        _ => false,
    });
    let failed = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Failed { activation, .. } => Some((entry.seq, *activation)),
        _ => None,
    });
    let error = failed.filter(|_| !stopped).and_then(|(_, whose)| {
        let effect = entries.iter().rposition(|entry| {
            matches!(&entry.event, Event::Effect { activation, outcome: Outcome::Err(_), .. } if *activation == whose)
        })?;
        Some(before_intent(entries, effect))
    });
    let found =
        answer.max(error).and_then(|index| entries.get(index)).map(|entry| match entry.event {
            // A fork at a decision is just before it.
            Event::Decided { .. } => entry.seq,
            _ => entry.seq - 1,
        });
    let plain = || {
        let last = entries.iter().rev().find(|entry| {
            !matches!(
                entry.event,
                Event::RunFailed { .. }
                    | Event::RunCancelled { .. }
                    | Event::Failed { .. }
                    | Event::Withdrawn { .. }
            )
        });
        last.map(|entry| entry.seq)
    };
    found.or_else(plain)
}

/// Where the effect at `index` began to be told: at its intent, if that was journaled.
fn before_intent(entries: &[Entry], index: usize) -> usize {
    let Some(Event::Effect { activation, key, .. }) = entries.get(index).map(|entry| &entry.event)
    else {
        return index;
    };
    let intent = entries.iter().take(index).rposition(|entry| {
        matches!(&entry.event, Event::Intent { activation: whose, key: of, .. } if whose == activation && of == key)
    });
    intent.unwrap_or(index)
}

fn ends(decision: &Decision) -> bool {
    matches!(decision, Decision::Abort { .. } | Decision::Reject { then: Then::Stop, .. })
}
