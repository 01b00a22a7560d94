//! Words from node to node: payloads of `NOTIFY` on a channel of their own, sent and heard by the listener's connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, broadcast};

use super::conn::Conn;
use super::error::Stop;
use super::text::Text;
use crate::wire::{LONGEST_WORD, Wire};

/// The channel.
pub(super) const CHANNEL: &str = "signoff_live";
/// How many words wait to be sent, or to be heard by somebody slow.
const MOST_WAITING: usize = 1024;
/// How many are sent at once.
const AT_ONCE: usize = 64;

/// What is to be said, and who hears what others say.
#[derive(Clone, Debug)]
pub(super) struct Words(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    waiting: Mutex<VecDeque<String>>,
    news: Notify,
    heard: broadcast::Sender<Arc<str>>,
}

impl Default for Words {
    fn default() -> Self {
        let heard = broadcast::Sender::new(MOST_WAITING);
        Self(Arc::new(Shared { waiting: Mutex::default(), news: Notify::new(), heard }))
    }
}

impl Wire for Words {
    fn say(&self, words: Vec<String>) {
        let mut waiting = self.waiting();
        let room = MOST_WAITING.saturating_sub(waiting.len());
        waiting.extend(words.into_iter().filter(|word| word.len() <= LONGEST_WORD).take(room));
        drop(waiting);
        self.0.news.notify_one();
    }

    fn hear(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.heard.subscribe()
    }
}

impl Words {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when there is something to send.
    pub(super) async fn news(&self) {
        self.0.news.notified().await;
    }

    /// Sends what waits. `from` says which database and which node of it speaks.
    pub(super) async fn send(&self, conn: &Conn, from: &str) -> Result<(), Stop> {
        loop {
            let payloads: Vec<String> = {
                let mut waiting = self.waiting();
                let count = waiting.len().min(AT_ONCE);
                waiting.drain(..count).map(|word| format!("{from} {word}")).collect()
            };
            if payloads.is_empty() {
                return Ok(());
            }
            let payloads: Vec<Text<'_>> = payloads.iter().map(|payload| Text(payload)).collect();
            let sql = "SELECT pg_notify($1, word) FROM unnest($2::text[]) AS word";
            conn.rows(sql, &[&Text(CHANNEL), &payloads]).await?;
        }
    }

    /// Hands on what was heard, unless it is our own.
    pub(super) fn heard(&self, payload: &str, database: &str, node: &str) {
        let mut parts = payload.splitn(3, ' ');
        if let (Some(there), Some(who), Some(word)) = (parts.next(), parts.next(), parts.next())
            && there == database
            && who != node
        {
            // An error means that nobody listens.
            let _ = self.0.heard.send(word.into());
        }
    }
}
