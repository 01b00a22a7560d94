//! Live text between nodes: a node says which runs are listened to on it, and is told what models say in those elsewhere.
//!
//! All of it may be lost. Who misses something in the middle of a text is told that it begins again; the whole is in the
//! journal a moment later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signoff_core::{Name, RunId};
use signoff_runtime::ModelCall;
use signoff_store::Wire;
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::hub::{Hub, Piece};
use super::word::{Who, Word, pieces};

/// How often a node repeats what it listens to.
const REPEAT_EVERY: Duration = Duration::from_secs(2);
/// For how long that counts.
const COUNTS_FOR: Duration = Duration::from_secs(7);
/// What is said within this time is sent together.
const GATHER: Duration = Duration::from_millis(30);
/// The most runs that a node is told about.
const MOST_RUNS: usize = 1_000;
/// How many ids there are in one word.
const IDS_IN_A_WORD: usize = 64;
/// The most texts of which it is remembered how far they are.
const MOST_CALLS: usize = 4_096;
/// The most bytes that wait to be sent.
const MOST_WAITING: usize = 256 * 1024;

type Call = (RunId, ModelCall);

/// The part of a hub that talks to other nodes.
#[derive(Debug)]
pub(super) struct Exchange {
    wire: Arc<dyn Wire>,
    /// Until when each run is listened to elsewhere.
    wanted: Mutex<BTreeMap<RunId, Instant>>,
    speaking: Mutex<Speaking>,
    /// How far the texts of others are.
    heard: Mutex<BTreeMap<Call, u64>>,
    /// There is something to send.
    said: Notify,
    /// Somebody has begun to listen.
    listened: Notify,
}

/// What is said here for others.
#[derive(Debug, Default)]
struct Speaking {
    /// How far each text is.
    at: BTreeMap<Call, u64>,
    waiting: Vec<Word>,
    bytes: usize,
}

impl Exchange {
    pub(super) fn new(wire: Arc<dyn Wire>) -> Self {
        Self {
            wire,
            wanted: Mutex::default(),
            speaking: Mutex::default(),
            heard: Mutex::default(),
            said: Notify::new(),
            listened: Notify::new(),
        }
    }

    /// Somebody has begun to listen here.
    pub(super) fn listens(&self) {
        self.listened.notify_one();
    }

    fn is_wanted(&self, run: &RunId, root: &RunId) -> bool {
        let wanted = locked(&self.wanted);
        let now = Instant::now();
        [run, root].into_iter().any(|id| wanted.get(id).is_some_and(|until| *until > now))
    }

    /// A model says something here; nothing, if it begins again.
    pub(super) fn says(
        &self,
        (run, root): (&RunId, &RunId),
        agent: &Name,
        call: &ModelCall,
        text: Option<&str>,
    ) {
        if !self.is_wanted(run, root) {
            return;
        }
        let who = Who {
            run: run.clone(),
            root: root.clone(),
            agent: agent.clone(),
            activation: call.activation,
            key: call.key.clone(),
        };
        locked(&self.speaking).say(who, text);
        self.said.notify_one();
    }

    /// A run came to rest here: its texts are over.
    pub(super) fn quiet(&self, run: &RunId) {
        locked(&self.speaking).at.retain(|(whose, _), _| whose != run);
    }

    /// Talks to other nodes for `hub`, until the future is dropped.
    pub(super) async fn run(&self, hub: &Hub) {
        tokio::join!(self.send(), self.announce(hub), self.hear(hub));
    }

    async fn send(&self) {
        loop {
            self.said.notified().await;
            tokio::time::sleep(GATHER).await;
            let words = locked(&self.speaking).take();
            self.wire.say(words.iter().filter_map(Word::written).collect());
        }
    }

    /// Says what is listened to here: what is new soon, and everything again and again.
    async fn announce(&self, hub: &Hub) {
        let mut told: BTreeMap<RunId, Instant> = BTreeMap::new();
        loop {
            let _ = tokio::time::timeout(REPEAT_EVERY / 4, self.listened.notified()).await;
            tokio::time::sleep(GATHER).await;
            let (listened, now) = (hub.listened(MOST_RUNS), Instant::now());
            told.retain(|_, at| *at + REPEAT_EVERY > now);
            let new: Vec<RunId> =
                listened.into_iter().filter(|run| !told.contains_key(run)).collect();
            if new.is_empty() {
                continue;
            }
            let words = new.chunks(IDS_IN_A_WORD).map(|runs| Word::Listens { runs: runs.to_vec() });
            self.wire.say(words.filter_map(|word| word.written()).collect());
            told.extend(new.into_iter().map(|run| (run, now)));
        }
    }

    async fn hear(&self, hub: &Hub) {
        let mut words = self.wire.hear();
        loop {
            match words.recv().await {
                Ok(word) => {
                    if let Some(word) = Word::read(&word) {
                        self.take(hub, word);
                    }
                }
                // What was missed is noticed by what follows it.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn take(&self, hub: &Hub, word: Word) {
        match word {
            Word::Listens { runs } => {
                let (mut wanted, now) = (locked(&self.wanted), Instant::now());
                wanted.retain(|_, until| *until > now);
                let room = (MOST_RUNS * 16).saturating_sub(wanted.len());
                wanted.extend(runs.into_iter().take(room).map(|run| (run, now + COUNTS_FOR)));
            }
            Word::Says { who, at, text } => {
                let call = who.call();
                let whole = self.follows((who.run.clone(), call.clone()), at, text.len() as u64);
                let Who { run, root, agent, .. } = who;
                if !whole {
                    let restart = Piece::Restart {
                        run: run.clone(),
                        agent: agent.clone(),
                        call: call.clone(),
                    };
                    hub.to_tree(&run, &root, &restart);
                }
                let piece = Piece::Delta { run: run.clone(), agent, text: text.into(), call };
                hub.to_tree(&run, &root, &piece);
            }
            Word::Restarts { who } => {
                let call = who.call();
                locked(&self.heard).remove(&(who.run.clone(), call.clone()));
                let piece = Piece::Restart { run: who.run.clone(), agent: who.agent, call };
                hub.to_tree(&who.run, &who.root, &piece);
            }
        }
    }

    /// Whether this piece follows what was heard of its text before, if anything was.
    fn follows(&self, call: Call, at: u64, length: u64) -> bool {
        let mut heard = locked(&self.heard);
        if heard.len() >= MOST_CALLS && !heard.contains_key(&call) {
            heard.clear();
        }
        heard.insert(call, at + length).is_none_or(|expected| expected == at)
    }
}

impl Speaking {
    fn say(&mut self, who: Who, text: Option<&str>) {
        let call = (who.run.clone(), who.call());
        let Some(text) = text else {
            self.at.remove(&call);
            self.put(Word::Restarts { who }, 0);
            return;
        };
        if self.at.len() >= MOST_CALLS && !self.at.contains_key(&call) {
            self.at.clear();
        }
        for piece in pieces(text) {
            let length = piece.len() as u64;
            let place = self.at.entry(call.clone()).or_default();
            let at = std::mem::replace(place, *place + length);
            let fits = |said: &str| said.len() + piece.len() <= super::word::LONGEST_TEXT;
            match self.waiting.last_mut() {
                // Most pieces are single words of a model.
                Some(Word::Says { who: before, at: from, text: said })
                    if *before == who && *from + said.len() as u64 == at && fits(said) =>
                {
                    if self.bytes + piece.len() <= MOST_WAITING {
                        said.push_str(piece);
                        self.bytes += piece.len();
                    }
                }
                _ => self
                    .put(Word::Says { who: who.clone(), at, text: piece.to_owned() }, piece.len()),
            }
        }
    }

    /// Lets a word wait, if there is room.
    fn put(&mut self, word: Word, bytes: usize) {
        if self.bytes + bytes <= MOST_WAITING {
            self.bytes += bytes;
            self.waiting.push(word);
        }
    }

    fn take(&mut self) -> Vec<Word> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
