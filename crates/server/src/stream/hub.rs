//! Hands what happens to those who listen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signoff_core::journal::Entry;
use signoff_core::{Name, RunId, Seq};
use signoff_runtime::{Engine, Live, LiveEvent, ModelCall};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;

use super::Inbox;
use super::exchange::Exchange;
use crate::metrics::Metrics;

/// How many pieces a listener may be behind before it has to read the store instead.
const BEHIND: usize = 64;
/// How often the store is looked at for what other processes did.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A look at all runs that are listened to may take one part in so many of the time.
const LOOK_SHARE: u32 = 20;

/// Something that happened in a run.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// These entries are durable.
    Entries(Arc<[Entry]>),
    /// A model is saying this.
    Delta {
        /// In this run, or a part of it.
        run: RunId,
        agent: Name,
        text: Arc<str>,
        /// In which of its calls.
        call: ModelCall,
    },
    /// What this agent's model was saying was cut off; it begins again.
    Restart { run: RunId, agent: Name, call: ModelCall },
    /// The run came to rest, with this as its last entry; or a part of it did, or nobody knows how far the journal
    /// goes.
    Quiet { head: Option<Seq> },
    /// The journal may have grown.
    Look,
}

#[derive(Debug)]
struct Topic {
    pieces: broadcast::Sender<Piece>,
    /// The position of the last entry the listeners were told of.
    head: Seq,
}

/// Hands what happens in runs to those who listen to them.
#[derive(Debug)]
pub(crate) struct Hub {
    engine: Engine,
    metrics: Arc<Metrics>,
    inbox: Arc<Inbox>,
    topics: Mutex<BTreeMap<RunId, Topic>>,
    /// Live text from and for other nodes, where there can be some.
    exchange: Option<Exchange>,
}

/// A place among the listeners of a run.
#[derive(Debug)]
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    run: RunId,
    pieces: broadcast::Receiver<Piece>,
}

impl Subscription {
    /// The next piece; `Look` if some were missed.
    pub(crate) async fn next(&mut self) -> Piece {
        match self.pieces.recv().await {
            Ok(piece) => piece,
            Err(RecvError::Lagged(_)) => Piece::Look,
            // The sender lives as long as this subscription is counted.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut topics = self.hub.topics();
        // This receiver is still counted.
        if topics.get(&self.run).is_some_and(|topic| topic.pieces.receiver_count() <= 1) {
            topics.remove(&self.run);
        }
    }
}

impl Hub {
    pub(crate) fn new(engine: Engine, metrics: Arc<Metrics>, inbox: Arc<Inbox>) -> Arc<Self> {
        let exchange = engine.store().wire().map(Exchange::new);
        Arc::new(Self { engine, metrics, inbox, topics: Mutex::default(), exchange })
    }

    fn topics(&self) -> MutexGuard<'_, BTreeMap<RunId, Topic>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens in a run from now on.
    pub(crate) fn listen(self: &Arc<Self>, run: &RunId) -> Subscription {
        let mut topics = self.topics();
        let topic = topics
            .entry(run.clone())
            .or_insert_with(|| Topic { pieces: broadcast::Sender::new(BEHIND), head: 0 });
        let pieces = topic.pieces.subscribe();
        drop(topics);
        if let Some(exchange) = &self.exchange {
            exchange.listens();
        }
        Subscription { hub: Arc::clone(self), run: run.clone(), pieces }
    }

    /// Hands on what this process does, until the future is dropped.
    pub(crate) async fn relay(&self) {
        let mut live = self.engine.watch();
        loop {
            match live.recv().await {
                Ok(live) => self.hand_on(live),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "listeners are sent to the store");
                    self.look_all();
                    self.inbox.missed();
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn hand_on(&self, live: Live) {
        match live.event {
            LiveEvent::Committed(entries) => {
                entries.iter().for_each(|entry| self.metrics.entry(&entry.event));
                self.inbox.committed(&live.run, &entries);
                let mut topics = self.topics();
                if let Some(topic) = topics.get_mut(&live.run) {
                    topic.head = entries.last().map_or(topic.head, |last| last.seq);
                    topic.send(Piece::Entries(entries));
                }
            }
            LiveEvent::Delta { agent, call, text } => {
                if let Some(exchange) = &self.exchange {
                    exchange.says((&live.run, &live.root), &agent, &call, Some(&text));
                }
                let piece = Piece::Delta { run: live.run.clone(), agent, text: text.into(), call };
                self.to_tree(&live.run, &live.root, &piece);
            }
            LiveEvent::Restart { agent, call } => {
                if let Some(exchange) = &self.exchange {
                    exchange.says((&live.run, &live.root), &agent, &call, None);
                }
                let piece = Piece::Restart { run: live.run.clone(), agent, call };
                self.to_tree(&live.run, &live.root, &piece);
            }
            LiveEvent::Quiet { head } => {
                if let Some(exchange) = &self.exchange {
                    exchange.quiet(&live.run);
                }
                let topics = self.topics();
                let own = topics.get(&live.run).map(|topic| (topic, head));
                let whole = topics.get(&live.root).filter(|_| live.root != live.run);
                for (topic, head) in own.into_iter().chain(whole.map(|topic| (topic, None))) {
                    topic.send(Piece::Quiet { head });
                }
            }
        }
    }

    /// Tells those who listen to a run, and those who listen to the whole it is part of.
    pub(super) fn to_tree(&self, run: &RunId, root: &RunId, piece: &Piece) {
        let topics = self.topics();
        for id in [Some(run), Some(root).filter(|root| *root != run)].into_iter().flatten() {
            if let Some(topic) = topics.get(id) {
                topic.send(piece.clone());
            }
        }
    }

    /// Some of the runs that are listened to here.
    pub(super) fn listened(&self, most: usize) -> Vec<RunId> {
        self.topics().keys().take(most).cloned().collect()
    }

    /// Exchanges live text with other nodes, until the future is dropped. Returns at once where there can be none.
    pub(crate) async fn exchange(self: Arc<Self>) {
        if let Some(exchange) = &self.exchange {
            exchange.run(&self).await;
        }
    }

    fn look_all(&self) {
        self.topics().values().for_each(|topic| topic.send(Piece::Look));
    }

    /// Looks in the store for what other processes did, until the future is dropped. One look serves all
    /// listeners, and none is made while nothing changes.
    pub(crate) async fn look(self: Arc<Self>) {
        let mut seen = None;
        let mut pause = LOOK_EVERY;
        loop {
            tokio::time::sleep(pause).await;
            pause = LOOK_EVERY;
            if self.topics().is_empty() {
                seen = None;
                continue;
            }
            let Ok(changes) = self.engine.store().changes() else { continue };
            if seen == Some(changes) {
                continue;
            }
            let (hub, since) = (Arc::clone(&self), Instant::now());
            // What cannot be read now is looked at again.
            if tokio::task::spawn_blocking(move || hub.compare()).await.is_ok_and(|read| read) {
                seen = Some(changes);
            }
            pause = LOOK_EVERY.max(since.elapsed() * LOOK_SHARE);
        }
    }

    /// Wakes the listeners of runs whose journals are longer than they were told. Whether all could be read.
    fn compare(&self) -> bool {
        let told: Vec<(RunId, Seq)> =
            self.topics().iter().map(|(run, topic)| (run.clone(), topic.head)).collect();
        let mut read = true;
        for (run, head) in told {
            match self.engine.store().run(&run) {
                Ok(Some(record)) if record.head > head => {
                    if let Some(topic) = self.topics().get_mut(&run) {
                        topic.head = topic.head.max(record.head);
                        topic.send(Piece::Look);
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a run that is listened to cannot be read");
                    read = false;
                }
            }
        }
        read
    }
}

impl Topic {
    fn send(&self, piece: Piece) {
        // An error means that the last listener is just leaving.
        let _ = self.pieces.send(piece);
    }
}
