//! The connection that listens: it holds the lock that says this node is alive, hears what other nodes have changed,
//! and tells them what this one has.
//!
//! Nothing depends on a notification: whether something has changed is also looked for once a second.

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

/// How many changes are known, here and to those who are told.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    /// The largest number of changes this node knows of.
    seen: AtomicU64,
    /// Batches of this node.
    commits: AtomicU64,
    /// There is something to tell, or to look for.
    news: Notify,
    /// The last change this node has made.
    own: AtomicU64,
}

impl Told {
    /// This node has made change number `changes`.
    pub(super) fn committed(&self, changes: u64) {
        self.0.commits.fetch_add(1, Ordering::SeqCst);
        self.0.own.fetch_max(changes, Ordering::SeqCst);
        self.heard(changes);
        self.0.news.notify_one();
    }

    /// Something was changed; how often is not known.
    pub(super) fn look(&self) {
        self.0.commits.fetch_add(1, Ordering::SeqCst);
        self.0.own.store(u64::MAX, Ordering::SeqCst);
        self.0.news.notify_one();
    }

    fn heard(&self, changes: u64) {
        self.0.seen.fetch_max(changes, Ordering::SeqCst);
    }

    /// The largest number of changes known.
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
        self.look(&conn).await?;
        if let Some(began) = began.take() {
            let _ = began.send(Ok(()));
        }
        // From here on it is a connection that has worked.
        let _ = self.serve(&conn, &mut messages).await;
        Ok(())
    }

    async fn serve(&self, conn: &Conn, messages: &mut Messages) -> Result<(), Stop> {
        let mut told = self.told.0.own.load(Ordering::SeqCst);
        let mut look_at = Instant::now() + LOOK_EVERY;
        loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) if message.channel() == wire::CHANNEL => {
                        self.words.heard(message.payload(), &self.database, &self.node);
                    }
                    Some(message) => self.hear(message.payload()),
                    None => return Ok(()),
                },
                () = self.words.news() => {
                    self.words.send(conn, &format!("{} {}", self.database, self.node)).await?;
                }
                news = timeout_at(look_at, self.told.0.news.notified()) => {
                    if news.is_err() || self.told.0.own.load(Ordering::SeqCst) == u64::MAX {
                        look_at = Instant::now() + LOOK_EVERY;
                        let found = self.look(conn).await?;
                        let unknown = self.told.0.own.compare_exchange(
                            u64::MAX, found, Ordering::SeqCst, Ordering::SeqCst,
                        );
                        if unknown.is_err() && news.is_err() {
                            continue;
                        }
                    }
                    let own = self.told.0.own.load(Ordering::SeqCst);
                    if own != told {
                        told = own;
                        self.tell(conn, own).await?;
                        sleep(TELL_EVERY).await;
                    }
                }
            }
        }
    }

    async fn look(&self, conn: &Conn) -> Result<u64, Stop> {
        let row = conn.row("SELECT changes FROM state", &[]).await?;
        let found = row.map_or(Ok(0), |row| row.number(0))?;
        self.told.heard(found);
        Ok(found)
    }

    async fn tell(&self, conn: &Conn, changes: u64) -> Result<(), Stop> {
        let payload = format!("{changes} {}", self.database);
        conn.rows("SELECT pg_notify($1, $2)", &[&Text(CHANNEL), &Text(&payload)]).await?;
        Ok(())
    }

    fn hear(&self, payload: &str) {
        // Other databases of this kind may be in other schemas; the channel is the same.
        if let Some((changes, database)) = payload.split_once(' ')
            && database == self.database
            && let Ok(changes) = changes.parse()
        {
            self.told.heard(changes);
        }
    }
}

fn closed() -> StoreError {
    StoreError::Failed("PostgreSQL closed the connection".to_owned())
}
