//! Delivers to one webhook, for as long as the server runs.

use std::sync::Arc;
use std::time::Duration;

use signoff_core::Span;
use signoff_store::{
    Happened, MoveWebhook, Notified, Posted, RequestEvent, StoreError, TakeWebhook,
};
use tokio::time::Instant;

use super::audited::Audited;
use super::channel::{Channel, Desk, News, Outcome};
use super::event::id;
use super::retry;
use crate::app::App;

/// How long the right to deliver lasts. Longer than an attempt.
const LEASE: Span = Span::seconds(30);
/// How often it is prolonged while an event waits to be sent again.
const PROLONG: Duration = Duration::from_secs(10);
/// How often the store is looked at for something new.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long is waited for somebody else who delivers, and after the store failed.
const PAUSE: Duration = Duration::from_secs(2);
/// How often it is said that the webhook is still there, though nothing happens.
const SIGN_OF_LIFE: Duration = Duration::from_hours(1);
/// How many events are read at once.
const PAGE: usize = 64;

/// Delivers to one webhook.
#[derive(Debug)]
pub(crate) struct Delivery {
    channel: Arc<dyn Channel>,
    desk: Desk,
    /// The number of the last event that was delivered, as far as is known.
    passed: u64,
}

/// What became of an event.
enum Told {
    /// It was told or given up.
    Done(Passed),
    /// Nothing more is delivered for now.
    Rest(Rest),
}

/// What is kept of an event that is done with.
#[derive(Default)]
struct Passed {
    /// What it is known by there.
    posted: Option<Posted>,
    /// Who was told of which request.
    told: Option<Notified>,
    /// Whether it was taken there.
    delivered: bool,
}

/// Why nothing more is delivered for now.
enum Rest {
    /// Everything was told.
    Told,
    /// Somebody else delivers.
    NotOurs,
    /// The receiver wants nothing more.
    Gone,
}

impl Delivery {
    pub(crate) fn new(channel: Arc<dyn Channel>, app: App) -> Self {
        Self { channel, desk: Desk { app }, passed: 0 }
    }

    /// Delivers what happens, until the future is dropped or the receiver wants nothing more.
    pub(crate) async fn run(mut self) {
        loop {
            match self.work().await {
                Ok(Rest::Told) => self.news().await,
                Ok(Rest::NotOurs) => {
                    tokio::time::sleep(PAUSE).await;
                    self.news().await;
                }
                Ok(Rest::Gone) => return,
                Err(error) => {
                    let webhook = &**self.channel.name();
                    tracing::error!(webhook, %error, "a webhook waits for the store");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Delivers all there is.
    async fn work(&mut self) -> Result<Rest, StoreError> {
        loop {
            let Some(passed) = self.take().await? else { return Ok(Rest::NotOurs) };
            self.passed = passed;
            let events = self.desk.read(move |store| store.happened(passed, PAGE)).await?;
            let Some(last) = events.last().map(|event| event.no) else { return Ok(Rest::Told) };
            for event in events {
                if !self.channel.filter().wants(&event) {
                    continue;
                }
                let passed = match self.tell(&event).await? {
                    Told::Done(passed) => passed,
                    Told::Rest(rest) => return Ok(rest),
                };
                let delivered = passed.delivered;
                if !self.pass(event.no, passed).await? {
                    return Ok(Rest::NotOurs);
                }
                // Not before: who sees the number may count on it that it is not sent again.
                if delivered {
                    self.desk.app.metrics.webhook(self.channel.name(), "delivered");
                }
            }
            // Those that it does not want as well.
            if self.passed < last && !self.pass(last, Passed::default()).await? {
                return Ok(Rest::NotOurs);
            }
        }
    }

    /// Tells of one event, however long that takes.
    async fn tell(&self, event: &RequestEvent) -> Result<Told, StoreError> {
        let (name, id) = (self.channel.name().to_string(), id(event));
        let metrics = &self.desk.app.metrics;
        let mut failed = 0;
        loop {
            if self.take().await?.is_none() {
                return Ok(Told::Rest(Rest::NotOurs));
            }
            let Some(outcome) = self.attempt(event).await? else {
                return Ok(Told::Done(Passed::default()));
            };
            let problem = match outcome {
                Outcome::Taken(posted) => {
                    if failed > 0 {
                        tracing::info!(webhook = name, event = id, "it is delivered now");
                    }
                    let told = self.notified(event);
                    return Ok(Told::Done(Passed { posted, told, delivered: true }));
                }
                Outcome::Partly => continue,
                Outcome::Gone(problem) => {
                    metrics.webhook(&name, "disabled");
                    tracing::error!(
                        webhook = name,
                        problem,
                        "nothing is sent until the server starts again"
                    );
                    return Ok(Told::Rest(Rest::Gone));
                }
                Outcome::Refused(problem) => {
                    metrics.webhook(&name, "refused");
                    tracing::error!(
                        webhook = name,
                        event = id,
                        problem,
                        "it was refused for good, and is given up"
                    );
                    return Ok(Told::Done(Passed::default()));
                }
                Outcome::Later(problem) => problem,
            };
            metrics.webhook(&name, "failed");
            failed += 1;
            let age = self.desk.now().since(event.at);
            let Some(wait) = retry::wait(&retry::WAITS, failed, age, &id) else {
                metrics.webhook(&name, "given_up");
                tracing::error!(
                    webhook = name,
                    event = id,
                    problem,
                    "it was not delivered in a day, and is given up"
                );
                return Ok(Told::Done(Passed::default()));
            };
            // Once is enough to know of it.
            if failed == 1 {
                tracing::warn!(
                    webhook = name,
                    event = id,
                    problem,
                    "it is sent again until it is taken"
                );
            } else {
                tracing::debug!(webhook = name, event = id, failed, problem, "not yet");
            }
            if !self.hold(wait).await? {
                return Ok(Told::Rest(Rest::NotOurs));
            }
        }
    }

    /// What the audit is to say of an event that was told. An action that nobody is asked about has a line already.
    fn notified(&self, event: &RequestEvent) -> Option<Notified> {
        let to = self.channel.reached(&id(event));
        let (request, tenant) = (event.request.clone(), event.tenant.clone());
        let told = Notified { request, tenant, what: event.what, channel: self.channel.kind(), to };
        Some(told).filter(|told| told.what != Happened::Audited && !told.to.is_empty())
    }

    /// Tells of one event once. Nothing comes of what is not there any more.
    async fn attempt(&self, event: &RequestEvent) -> Result<Option<Outcome>, StoreError> {
        let (wanted, engine, desk) = (event.clone(), self.desk.app.engine.clone(), &self.desk);
        if event.what == Happened::Audited {
            let found = desk.read(move |store| Audited::of(store, &wanted, engine.secrets()));
            let Some(audited) = found.await? else { return Ok(None) };
            return Ok(Some(self.channel.tell_audited(&audited, desk).await));
        }
        let found = desk.read(move |store| News::of(store, &wanted, engine.secrets()));
        let Some(news) = found.await? else { return Ok(None) };
        Ok(Some(self.channel.tell(&news, desk).await))
    }

    /// Waits, and stays the one who delivers. False if it did not.
    async fn hold(&self, wait: Duration) -> Result<bool, StoreError> {
        let until = Instant::now() + wait;
        while Instant::now() + PROLONG < until {
            tokio::time::sleep(PROLONG).await;
            if self.take().await?.is_none() {
                return Ok(false);
            }
        }
        tokio::time::sleep_until(until).await;
        Ok(true)
    }

    /// Waits until there may be something to deliver.
    async fn news(&self) {
        let (mut seen, since, passed) = (None, Instant::now(), self.passed);
        while since.elapsed() < SIGN_OF_LIFE {
            let changes = self.desk.app.engine.store().changes().ok();
            if changes.is_none() || changes != seen {
                match self.desk.read(move |store| store.happened(passed, 1)).await {
                    Ok(events) if events.is_empty() => seen = changes,
                    Ok(_) => return,
                    // It is looked at again.
                    Err(error) => tracing::debug!(%error, "a webhook cannot look for news"),
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn take(&self) -> Result<Option<u64>, StoreError> {
        let engine = &self.desk.app.engine;
        let take = TakeWebhook {
            name: self.channel.name().clone(),
            node: engine.node().clone(),
            now: self.desk.now(),
            ttl: LEASE,
        };
        engine.store().take_webhook(take).await
    }

    async fn pass(&mut self, to: u64, passed: Passed) -> Result<bool, StoreError> {
        let engine = &self.desk.app.engine;
        let moved = MoveWebhook {
            name: self.channel.name().clone(),
            node: engine.node().clone(),
            to,
            now: self.desk.now(),
            posted: passed.posted,
            told: passed.told,
        };
        self.passed = to;
        engine.store().move_webhook(moved).await
    }
}
