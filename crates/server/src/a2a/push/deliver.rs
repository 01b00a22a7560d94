//! Tells those who are to be told, for as long as the server runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use signoff_a2a::wire::Event;
use signoff_core::request::RequestStatus;
use signoff_core::{Request, RequestId, Span};
use signoff_net::{Client, NetError, Url};
use signoff_runtime::Engine;
use signoff_store::{MovePush, NextPush, Push, StoreError, TakePushes, Told};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::super::fault::{Fault, broken};
use super::super::follow::Until;
use super::super::load;
use super::super::project::Fold;
use super::super::version::Version;
use super::kept::Kept;
use super::send::{self, Sent};
use crate::metrics::Metrics;
use crate::webhooks::retry;

/// How many are told at once.
const AT_ONCE: usize = 32;
/// How long the right to tell somebody lasts. Longer than the attempts of one turn.
const LEASE: Span = Span::seconds(120);
/// How much of it is used before the rest is left to the next turn.
const TURN: Duration = Duration::from_secs(60);
/// How often the store is looked at for something new, and for those whose turn comes again.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long is waited after the store failed.
const PAUSE: Duration = Duration::from_secs(2);
/// How long is waited after the first failure, the second, and so on, in seconds.
const WAITS: [u64; 6] = [1, 2, 5, 10, 30, 60];

/// Those who may be told: which addresses can be reached.
#[derive(Clone, Debug)]
pub struct Receivers(Client);

impl Receivers {
    /// Anywhere in the world over TLS; with `allow_private` on this machine and in this network as well, and without
    /// TLS.
    pub fn new(allow_private: bool) -> Result<Self, NetError> {
        send::client(allow_private).map(Self)
    }

    /// Refuses an address that would never be reached.
    pub(super) fn admit(&self, url: &Url) -> Result<(), NetError> {
        self.0.admit(url)
    }
}

/// Tells those who are to be told.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    receivers: Receivers,
    engine: Engine,
    metrics: Arc<Metrics>,
}

/// Something that is to be told, and how far somebody has been told with it.
struct Step {
    events: Vec<Value>,
    told: Told,
}

impl Delivery {
    pub(crate) fn new(receivers: Receivers, engine: Engine, metrics: Arc<Metrics>) -> Self {
        Self { receivers, engine, metrics }
    }

    /// Tells them, until the future is dropped.
    pub(crate) async fn run(self) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            let changes = self.engine.store().changes().ok();
            // One place is enough to go on.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let limit = 1 + places.available_permits();
            drop(place);
            match self.take(limit).await {
                Ok(due) if due.is_empty() => self.news(changes).await,
                Ok(due) => {
                    for push in due {
                        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                        let delivery = self.clone();
                        tokio::spawn(async move {
                            delivery.turn(push).await;
                            drop(place);
                        });
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "nobody can be told of tasks; the store is waited for");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn take(&self, limit: usize) -> Result<Vec<Push>, StoreError> {
        let (node, now) = (self.engine.node().clone(), self.engine.clock().now());
        self.engine.store().take_pushes(TakePushes { node, now, ttl: LEASE, limit }).await
    }

    /// Waits until the store has changed, or somebody's turn may have come again.
    async fn news(&self, seen: Option<u64>) {
        let since = Instant::now();
        while since.elapsed() < LOOK_AGAIN {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.engine.store().changes().ok() != seen {
                return;
            }
        }
    }

    /// Tells one of them what there is.
    async fn turn(&self, push: Push) {
        let looked_at = self.engine.clock().now();
        let mut told = push.told.clone();
        let next = match self.tell(&push, &mut told).await {
            Ok(next) => next,
            Err(fault) => {
                let (run, problem) = (push.run.as_str(), fault.message);
                tracing::error!(run, problem, "somebody cannot be told of a task");
                self.failed(&push, &mut told, &problem)
            }
        };
        let (run, id, node) = (push.run, push.id, self.engine.node().clone());
        let moved = MovePush { run, id, node, told, looked_at, next };
        if let Err(error) = self.engine.store().move_push(moved).await {
            tracing::error!(%error, "it is not known how far somebody was told of a task");
        }
    }

    async fn tell(&self, push: &Push, told: &mut Told) -> Result<NextPush, Fault> {
        let kept = Kept::read(push)?;
        let (steps, over) = self.steps(push, &kept).await?;
        let since = Instant::now();
        for step in steps {
            for event in &step.events {
                if since.elapsed() > TURN {
                    return Ok(NextPush::News);
                }
                match send::send(&self.receivers.0, &kept.config, event).await {
                    Sent::Taken => self.metrics.push("delivered"),
                    Sent::Later(problem) => return Ok(self.failed(push, told, &problem)),
                    Sent::Never(problem) => {
                        self.metrics.push("given_up");
                        let run = push.run.as_str();
                        tracing::warn!(run, problem, "somebody is not told of a task any more");
                        return Ok(NextPush::Nothing);
                    }
                }
            }
            *told = Told { failed: 0, failing_since: None, ..step.told };
        }
        (told.failed, told.failing_since) = (0, None);
        Ok(if over { NextPush::Nothing } else { NextPush::News })
    }

    fn failed(&self, push: &Push, told: &mut Told, problem: &str) -> NextPush {
        self.metrics.push("failed");
        let now = self.engine.clock().now();
        told.failed = told.failed.saturating_add(1);
        let since = *told.failing_since.get_or_insert(now);
        let (run, failed) = (push.run.as_str(), told.failed as usize);
        let Some(wait) = retry::wait(&WAITS, failed, now.since(since), &push.id) else {
            tracing::warn!(run, problem, "somebody could not be told of a task for a day");
            self.metrics.push("given_up");
            return NextPush::Nothing;
        };
        if failed == 1 {
            tracing::warn!(run, problem, "somebody is told of a task again, until it is taken");
        }
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        NextPush::Again(now.plus(Span(wait)))
    }

    /// What there is to tell, in order, and whether it is the last.
    async fn steps(&self, push: &Push, kept: &Kept) -> Result<(Vec<Step>, bool), Fault> {
        let (engine, push, kept) = (self.engine.clone(), push.clone(), kept.clone());
        let read = move || steps(&engine, &push, &kept);
        let read = tokio::task::spawn_blocking(read).await;
        read.unwrap_or_else(|error| Err(broken(&error)))
    }
}

/// How the requests of a task's parts were told of: whether they were open.
type OfParts = BTreeMap<RequestId, bool>;

fn steps(engine: &Engine, push: &Push, kept: &Kept) -> Result<(Vec<Step>, bool), Fault> {
    let version = kept.version();
    let mut told = push.told.clone();
    let mut of_parts: OfParts = match told.of_parts.as_str() {
        "" => OfParts::new(),
        written => serde_json::from_str(written).map_err(|error| broken(&error))?,
    };
    let entries = load::entries(engine, &push.run)?;
    let mut fold = Fold::new(push.run.clone(), kept.viewer());
    let mut steps = Vec::new();
    let mut parts = load::parts_if_any(engine, &push.run, &entries)?.into_iter().peekable();
    for entry in &entries {
        while let Some((at, part)) = parts.next_if(|part| load::comes_before(part, entry)) {
            take_part(&mut fold, kept, &part, at, &mut told, &mut of_parts, &mut steps)?;
        }
        let events = fold.take(entry).map_err(|error| broken(&error))?;
        told.parts = fold.has_parts();
        if entry.seq > push.told.seq {
            told.seq = entry.seq;
            steps.push(Step { events: written(version, &fold, &events)?, told: told.clone() });
        }
    }
    for (at, part) in parts {
        take_part(&mut fold, kept, &part, at, &mut told, &mut of_parts, &mut steps)?;
    }
    Ok((steps, fold.state().is_terminal()))
}

/// Takes notice of how a request of a part stood, and tells it if that was not told before.
fn take_part(
    fold: &mut Fold,
    kept: &Kept,
    part: &Request,
    at: i64,
    told: &mut Told,
    of_parts: &mut OfParts,
    steps: &mut Vec<Step>,
) -> Result<(), Fault> {
    let open = part.status == RequestStatus::Pending;
    let events = fold.part(part);
    let known = match of_parts.get(&part.id) {
        Some(was_open) => !was_open || open,
        // What was so before somebody wanted to be told is no news.
        None => at < kept.since.0,
    };
    if known || events.is_empty() {
        return Ok(());
    }
    of_parts.insert(part.id.clone(), open);
    told.of_parts = serde_json::to_string(of_parts).map_err(|error| broken(&error))?;
    steps.push(Step { events: written(kept.version(), fold, &events)?, told: told.clone() });
    Ok(())
}

/// What is sent. Clients of 0.3 are sent the whole task each time something happened to it.
fn written(version: Version, fold: &Fold, events: &[Event]) -> Result<Vec<Value>, Fault> {
    match version {
        Version::New => events.iter().map(|event| version.event(event, Until::End)).collect(),
        Version::Old if events.is_empty() => Ok(Vec::new()),
        Version::Old => Ok(vec![version.task(fold.task())?]),
    }
}
