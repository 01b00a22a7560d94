//! Makes connections, each with the limits its work needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Connection, Error, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::conn::Conn;
use super::error::{Stop, is_lost};
use super::options::PostgresOptions;
use super::tls;
use crate::StoreError;

/// The oldest server whose functions are used here.
const OLDEST_SERVER: i64 = 130_000;
/// A broken connection is tried again after this, then after twice as long …
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// … up to this: well below the time after which a node counts as dead.
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// How long a store that is being closed tries.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// What all connections have: no surprises from the settings of a database or role. A server that is asked something
/// notices a client that is gone.
const SESSION: &str = "SET client_min_messages = warning; SET jit = off;
    SET default_transaction_isolation = 'read committed'; SET default_transaction_deferrable = off;
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;";
/// A node that is stopped while it writes holds up the others for so long. Everything is found by its key: a plan that
/// was made while the tables were empty must serve when they are full. What is not in a transaction does not wait for long, and
/// gives way before two that wait for each other are found to.
const WRITES: &str = "SET default_transaction_read_only = off;
    SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET idle_in_transaction_session_timeout = '2s'; SET lock_timeout = '200ms'; SET statement_timeout = '30s';
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') = 'off';";
const READS: &str = "SET default_transaction_read_only = on;
    SET idle_in_transaction_session_timeout = '10s'; SET statement_timeout = '30s';";
/// What it writes is of use only as long as it is connected, and nobody waits for it.
const LISTENS: &str = "SET default_transaction_read_only = off; SET synchronous_commit = off;
    SET lock_timeout = '5s'; SET statement_timeout = '10s';";

/// What a connection is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Write,
    Read,
    Listen,
}

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    runtime: Handle,
    options: PostgresOptions,
    tls: Option<MakeRustlsConnect>,
    closing: Arc<AtomicBool>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Connector {
    pub(super) fn new(runtime: Handle, options: PostgresOptions) -> Result<Self, StoreError> {
        let tls = match options.config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls::connector(options.root_certificate.as_deref())?),
        };
        Ok(Self { runtime, options, tls, closing: Arc::default() })
    }

    /// How long to try.
    pub(super) fn patience(&self) -> Duration {
        let closing = self.closing.load(Ordering::SeqCst);
        if closing { self.options.patience.min(LAST_PATIENCE) } else { self.options.patience }
    }

    /// The store is being closed: nobody tries for long any more.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// A connection that the store's runtime drives. Can be awaited anywhere.
    pub(super) async fn connect(&self, work: Work) -> Result<Conn, Stop> {
        let (reply, made) = oneshot::channel();
        let connector = self.clone();
        self.runtime.spawn(async move {
            // Who asked may be gone.
            let _ = reply.send(connector.connect_here(work).await);
        });
        match made.await {
            Ok(conn) => Ok(conn?),
            Err(_) => Err(StoreError::Failed("the store is closed".to_owned()).into()),
        }
    }

    async fn connect_here(&self, work: Work) -> Result<Conn, Error> {
        let conn = match &self.tls {
            None => {
                let (client, connection) = self.options.config.connect(NoTls).await?;
                drive(connection);
                Conn::new(client)
            }
            Some(tls) => {
                let (client, connection) = self.options.config.connect(tls.clone()).await?;
                drive(connection);
                Conn::new(client)
            }
        };
        prepare(&conn, work).await?;
        Ok(conn)
    }

    /// A connection whose messages the caller reads. Only on the store's runtime.
    pub(super) async fn listen(&self) -> Result<(Conn, Messages), Error> {
        let (conn, messages) = match &self.tls {
            None => {
                let (client, connection) = self.options.config.connect(NoTls).await?;
                (client, messages(connection))
            }
            Some(tls) => {
                let (client, connection) = self.options.config.connect(tls.clone()).await?;
                (client, messages(connection))
            }
        };
        let conn = Conn::new(conn);
        prepare(&conn, Work::Listen).await?;
        Ok((conn, messages))
    }

    /// Makes connections that another runtime drives.
    pub(super) fn driven_by(&self, runtime: Handle) -> Self {
        Self { runtime, ..self.clone() }
    }

    /// Connects, on a thread that may wait.
    pub(super) fn connect_patiently(&self, work: Work) -> Result<Conn, StoreError> {
        self.patiently(|| super::wait::wait_for(self.connect(work)))
    }

    /// Connects again and again while the server is away.
    pub(super) fn patiently(
        &self,
        connect: impl Fn() -> Result<Conn, Stop>,
    ) -> Result<Conn, StoreError> {
        let since = Instant::now();
        let mut pause = Pause::default();
        loop {
            match connect() {
                Ok(conn) => return Ok(conn),
                Err(Stop::Broken(error))
                    if is_lost(&error) && since.elapsed() < self.patience() =>
                {
                    std::thread::sleep(pause.next());
                }
                Err(stop) => return Err(stop.into()),
            }
        }
    }

    /// Looks whether this is a server that can be worked with.
    pub(super) async fn check(conn: &Conn) -> Result<(), Stop> {
        let row = conn
            .row(
                "SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
                     current_setting('server_encoding')",
                &[],
            )
            .await?;
        let Some(row) = row else { return Ok(()) };
        let (number, version, encoding): (i64, String, String) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if number < OLDEST_SERVER {
            let problem = format!("PostgreSQL {version} is too old: 13 or newer is needed");
            return Err(StoreError::Failed(problem).into());
        }
        if encoding != "UTF8" {
            let problem = format!("the database has the encoding {encoding}: UTF8 is needed");
            return Err(StoreError::Failed(problem).into());
        }
        Ok(())
    }
}

async fn prepare(conn: &Conn, work: Work) -> Result<(), Error> {
    let settings = match work {
        Work::Write => WRITES,
        Work::Read => READS,
        Work::Listen => LISTENS,
    };
    conn.script(&format!("{SESSION}{settings}")).await
}

/// What the server says by itself, until the connection ends.
pub(super) type Messages = tokio::sync::mpsc::UnboundedReceiver<tokio_postgres::Notification>;

fn drive<S>(connection: Connection<Socket, S>)
where
    S: tokio_postgres::tls::TlsStream + Unpin + Send + 'static,
{
    // Its end is told to whoever uses the connection.
    tokio::spawn(connection);
}

fn messages<S>(mut connection: Connection<Socket, S>) -> Messages
where
    S: tokio_postgres::tls::TlsStream + Unpin + Send + 'static,
{
    let (heard, messages) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            match std::future::poll_fn(|context| connection.poll_message(context)).await {
                Some(Ok(tokio_postgres::AsyncMessage::Notification(notification))) => {
                    if heard.send(notification).is_err() {
                        return;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            }
        }
    });
    messages
}

/// How long to wait before the next try.
#[derive(Debug, Default)]
pub(super) struct Pause(Option<Duration>);

impl Pause {
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.0.map_or(FIRST_PAUSE, |last| (last * 2).min(LONGEST_PAUSE));
        self.0 = Some(pause);
        pause
    }
}
