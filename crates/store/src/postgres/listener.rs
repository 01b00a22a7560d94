//! The connection that listens: it holds the lock that says this node is alive, hears what other nodes have changed,
//! and tells them what this one has.
//!
//! Nothing depends on a notification: whether something has changed is also looked for once a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

use super::columns::Columns as _;
use super::conn::Conn;
use super::connect::{Connector, Messages, Pause};
use super::error::Stop;
use super::nodes;
use super::text::Text;
use super::wire::{self, Words};
use crate::{NodeId, StoreError};

const CHANNEL: &str = "signoff";
/// How often changes are looked for that nobody told of.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What is committed within this time is told of at once.
const TELL_EVERY: Duration = Duration::from_millis(5);

/// What has changed, as far as it is known here.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    /// How often something was found changed, by this node or another.
    seen: AtomicU64,
    /// Batches of this node.
    commits: AtomicU64,
    /// There is something to tell.
    news: Notify,
    /// The number of the last of them.
    last: AtomicU64,
}

/// The last batch of each other node that is known of, and how much was changed by none of them.
#[derive(Debug, Default)]
struct Heard {
    batches: HashMap<String, u64>,
    changes: u64,
}

impl Told {
    /// This node has changed something, by its batch number `batch`.
    pub(super) fn committed(&self, batch: u64) {
        self.0.commits.fetch_add(1, Ordering::SeqCst);
        self.0.last.store(batch, Ordering::SeqCst);
        self.heard();
        self.0.news.notify_one();
    }

    fn heard(&self) {
        self.0.seen.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of its last batch.
    fn last(&self) -> u64 {
        self.0.last.load(Ordering::SeqCst)
    }

    /// A number that grows with each change that is known.
    pub(super) fn seen(&self) -> u64 {
        self.0.seen.load(Ordering::SeqCst)
    }

    /// How many batches this node has committed.
    pub(super) fn commits(&self) -> u64 {
        self.0.commits.load(Ordering::SeqCst)
    }
}

/// What a listener listens for.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) connector: Connector,
    pub(super) node: NodeId,
    /// The key of its advisory lock.
    pub(super) lock: i64,
    /// The id of the database.
    pub(super) database: String,
    pub(super) told: Told,
    /// What nodes say to each other besides.
    pub(super) words: Words,
}

impl Listener {
    /// Listens until its runtime ends. `began` is told once it does, or why it cannot.
    pub(super) async fn run(self, began: oneshot::Sender<Result<(), StoreError>>) {
        let mut began = Some(began);
        let mut pause = Pause::default();
        loop {
            let ended = self.listen(&mut began).await;
            if let Some(began) = began.take() {
                // Nothing is tried again for somebody who has just typed an address.
                let why = ended.err().map_or_else(closed, StoreError::from);
                let _ = began.send(Err(why));
                return;
            }
            if ended.is_ok() {
                pause = Pause::default();
            }
            sleep(pause.next()).await;
        }
    }

    /// One connection, until it breaks. Fails if it cannot be made.
    async fn listen(
        &self,
        began: &mut Option<oneshot::Sender<Result<(), StoreError>>>,
    ) -> Result<(), Stop> {
        let (conn, mut messages) = self.connector.listen().await?;
        nodes::hold(&conn, &self.node, self.lock, began.is_some()).await?;
        conn.script(&format!("LISTEN {CHANNEL}; LISTEN {}", wire::CHANNEL)).await?;
        // What was said meanwhile was not heard.
        self.told.heard();
        if let Some(began) = began.take() {
            let _ = began.send(Ok(()));
        }
        // From here on it is a connection that has worked.
        let _ = self.serve(&conn, &mut messages).await;
        Ok(())
    }

    async fn serve(&self, conn: &Conn, messages: &mut Messages) -> Result<(), Stop> {
        let mut told = self.told.last();
        let mut heard = Heard::default();
        self.look(conn, &mut heard).await?;
        let mut look_at = Instant::now() + LOOK_EVERY;
        loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) if message.channel() == wire::CHANNEL => {
                        self.words.heard(message.payload(), &self.database, &self.node);
                    }
                    Some(message) => self.hear(message.payload(), &mut heard),
                    None => return Ok(()),
                },
                () = self.words.news() => {
                    self.words.send(conn, &format!("{} {}", self.database, self.node)).await?;
                }
                news = timeout_at(look_at, self.told.0.news.notified()) => {
                    if news.is_err() {
                        look_at = Instant::now() + LOOK_EVERY;
                        if self.look(conn, &mut heard).await? {
                            self.told.heard();
                        }
                    }
                    let last = self.told.last();
                    if last != told {
                        told = last;
                        self.tell(conn, last).await?;
                        sleep(TELL_EVERY).await;
                    }
                }
            }
        }
    }

    /// Whether somebody else has changed something that was not heard of.
    async fn look(&self, conn: &Conn, heard: &mut Heard) -> Result<bool, Stop> {
        let sql = "SELECT s.changes, n.id, n.batch FROM state s LEFT JOIN nodes n ON n.id <> $1";
        let rows = conn.rows(sql, &[&Text(&self.node)]).await?;
        let mut found = Heard::default();
        let mut news = false;
        for row in &rows {
            found.changes = row.number(0)?;
            let Some(node) = row.text_if_any(1)? else { continue };
            let batch = row.number(2)?;
            // What was heard may have been committed after this was read.
            news |= heard.batches.get(&node).is_none_or(|last| batch > *last);
            let last = heard.batches.get(&node).copied().unwrap_or(0);
            found.batches.insert(node, batch.max(last));
        }
        news |= found.changes != heard.changes;
        *heard = found;
        Ok(news)
    }

    async fn tell(&self, conn: &Conn, batch: u64) -> Result<(), Stop> {
        let payload = format!("{} {} {batch}", self.database, self.node);
        conn.rows("SELECT pg_notify($1, $2)", &[&Text(CHANNEL), &Text(&payload)]).await?;
        Ok(())
    }

    fn hear(&self, payload: &str, heard: &mut Heard) {
        // Other databases of this kind may be in other schemas; the channel is the same.
        if let Some((database, rest)) = payload.split_once(' ')
            && database == self.database
            && let Some((node, batch)) = rest.rsplit_once(' ')
            && node != &*self.node
            && let Ok(batch) = batch.parse()
        {
            heard.batches.insert(node.to_owned(), batch);
            self.told.heard();
        }
    }
}

fn closed() -> StoreError {
    StoreError::Failed("PostgreSQL closed the connection".to_owned())
}
