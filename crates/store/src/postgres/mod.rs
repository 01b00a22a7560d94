//! Runs in a `PostgreSQL` database, for several machines: any number of nodes, each of which can do everything.
//!
//! Everything that changes goes through the [`writer`]; one file per command says what it does. A [`batch`] begins by locking
//! the one row of the table `state`, so one such batch at a time is committed over all nodes, and numbers grow in the order
//! of commits. Entries from which nothing follows need no number: a batch of those is [`plain`] and waits for nobody. What is
//! read goes past all this, on connections that see what is committed. The [`listener`] says that this node is alive and hears
//! what others change.

mod append;
mod audit;
mod batch;
mod calls;
mod carry;
mod claims;
mod clauses;
mod columns;
mod conn;
mod connect;
mod conversations;
mod create;
mod decide;
mod deliver;
mod duties;
mod error;
mod events;
mod examine;
mod fence;
mod job;
mod journal;
mod links;
mod listener;
mod memory;
mod migrate;
mod nodes;
mod numbers;
mod options;
mod page;
mod plain;
mod project;
mod prune;
mod pushes;
mod readers;
mod requests;
mod rules;
mod runs;
mod take_in;
mod text;
mod timers;
mod tls;
mod touches;
mod users;
mod views;
mod wait;
mod wave;
mod wire;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Mutex;

use signoff_core::time::Timestamp;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use self::columns::Columns as _;
use self::conn::Conn;
use self::connect::{Connector, Work};
use self::error::Stop;
use self::job::Command;
use self::listener::{Listener, Told};
use self::memory::Memory;
pub use self::options::PostgresOptions;
use self::readers::Readers;
use self::wait::wait_for;
use self::wire::Words;
use self::writer::{Scribe, Writer};
use crate::{BoxFuture, NodeId, StoreError};

/// Runs in a `PostgreSQL` database.
#[derive(Debug)]
pub struct PostgresStore {
    // First: what waits is written while everything else is there.
    writer: Writer,
    readers: Readers,
    connector: Connector,
    told: Told,
    words: Words,
    node: NodeId,
    /// When the next thing is due, and how many changes there were when that was so.
    next_due: Mutex<Option<(u64, Option<Timestamp>)>>,
    /// Drives the connections.
    runtime: Option<Runtime>,
}

impl PostgresStore {
    /// Opens a database, bringing its tables to what this program knows.
    pub fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("signoff-postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
        let opened = Self::open_on(&runtime, options);
        match opened {
            Ok(mut store) => {
                store.runtime = Some(runtime);
                Ok(store)
            }
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    fn open_on(runtime: &Runtime, options: PostgresOptions) -> Result<Self, StoreError> {
        let node = options.node.clone();
        let readers = options.readers;
        let connector = Connector::new(runtime.handle().clone(), options)?;
        let (_, database) = wait_for(prepared(&connector))?;
        let lock = nodes::lock_key(&database, &node);
        let (told, words) = (Told::default(), Words::default());
        let listener = Listener {
            connector: connector.clone(),
            node: node.clone(),
            lock,
            database,
            told: told.clone(),
            words: words.clone(),
        };
        let (began, listens) = oneshot::channel();
        runtime.spawn(listener.run(began));
        wait_for(listens)
            .unwrap_or_else(|_| Err(StoreError::Failed("the listener is gone".to_owned())))?;
        let memory = Memory::new(node.clone(), lock);
        let writer = Writer::start(Scribe::new(&connector, memory, told.clone())?)?;
        let readers = Readers::new(connector.clone(), readers);
        let next_due = Mutex::default();
        Ok(Self { writer, readers, connector, told, words, node, next_due, runtime: None })
    }

    /// The name of this process, for its leases.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// How many transactions this store has committed. Many commands share one.
    pub fn commits(&self) -> u64 {
        self.told.commits()
    }

    /// Queues a command that could be prepared.
    fn submit<C: Command>(
        &self,
        command: Result<C, StoreError>,
    ) -> BoxFuture<'static, Result<C::Output, StoreError>> {
        match command {
            Ok(command) => self.writer.submit(command),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    // By value, so that callers write no `&` before each closure.
    #[allow(clippy::needless_pass_by_value)]
    fn read<T>(&self, what: impl AsyncFn(&Conn) -> Result<T, Stop>) -> Result<T, StoreError> {
        self.readers.read(&what)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.connector.close();
        self.writer.close();
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped inside another runtime, where waiting for it is not allowed.
            runtime.shutdown_background();
        }
    }
}

/// A connection to a database that has its tables, and the id of that.
async fn prepared(connector: &Connector) -> Result<(Conn, String), Stop> {
    let conn = connector.connect(Work::Write).await?;
    Connector::check(&conn).await?;
    migrate::migrate(&conn).await?;
    let row = conn.row("SELECT id FROM state", &[]).await?;
    let Some(row) = row else {
        return Err(StoreError::Corrupt("the table `state` has no row".to_owned()).into());
    };
    Ok((conn, row.text(0)?))
}
