//! The one thread that writes. It takes all commands that wait, carries them out in one transaction, and answers
//! them when that is on disk: durability costs one flush for each batch.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio_postgres::Error;

use super::batch::{PREPARED, settle};
use super::conn::Conn;
use super::connect::{Connector, Pause, Work};
use super::error::{Stop, is_busy, is_lost, said};
use super::job::{Command, Job, Queued};
use super::listener::Told;
use super::memory::Memory;
use super::plain;
use super::wave::{Trouble, perform};
use crate::gather::Gatherer;
use crate::{BoxFuture, StoreError};

/// How often a batch is tried while somebody else is in the way.
const MAX_TRIES: u32 = 3;

/// The writing thread, from outside.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(scribe: Scribe) -> Result<Self, StoreError> {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new()
            .name("signoff-store".into())
            .spawn(move || scribe.write(&jobs))
            .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a command, now; the future waits for the answer.
    pub(super) fn submit<C: Command>(
        &self,
        command: C,
    ) -> BoxFuture<'static, Result<C::Output, StoreError>> {
        let (reply, answer) = oneshot::channel();
        if let Some(queue) = &self.queue {
            // If the thread is gone, the job goes with its reply, and the future says so.
            let _ = queue.send(Box::new(Queued::new(command, reply)));
        }
        Box::pin(async move {
            answer.await.unwrap_or_else(|_| Err(StoreError::Failed("the store is closed".into())))
        })
    }
}

impl Writer {
    /// Carries out what waits and ends the thread.
    pub(super) fn close(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It only panics if a command did, and then its caller was told.
            let _ = thread.join();
        }
    }
}

/// What the writing thread owns. It drives its connection by itself: a statement costs no change of threads.
#[derive(Debug)]
pub(super) struct Scribe {
    runtime: Runtime,
    connector: Connector,
    memory: Memory,
    told: Told,
    conn: Option<Conn>,
    batch: u64,
}

/// Why a batch was not committed.
enum Broken {
    /// One of its commands cannot be carried out.
    Command(Error),
    /// Whatever they are, it cannot be now.
    All(String),
}

impl Scribe {
    pub(super) fn new(
        connector: &Connector,
        memory: Memory,
        told: Told,
    ) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Failed(format!("cannot write: {error}")))?;
        let connector = connector.driven_by(runtime.handle().clone());
        Ok(Self { runtime, connector, memory, told, conn: None, batch: 0 })
    }

    fn connect(&self) -> Result<Conn, StoreError> {
        let connect = async || {
            let conn = self.connector.connect(Work::Write).await?;
            conn.prepare(&PREPARED).await?;
            Ok(conn)
        };
        self.connector.patiently(|| self.runtime.block_on(connect()))
    }

    fn write(mut self, jobs: &Receiver<Box<dyn Job>>) {
        let mut batch = Vec::new();
        let mut gatherer = Gatherer::default();
        while gatherer.gather(jobs, &mut batch) {
            let since = Instant::now();
            self.carry_out(&mut batch);
            gatherer.committed(since);
        }
        self.say_goodbye();
    }

    /// Leases end and the node is forgotten at once, so that others need not find out.
    fn say_goodbye(&mut self) {
        let Some(conn) = self.conn.take().filter(|conn| !conn.is_closed()) else { return };
        // If it fails, the node is found dead like any other.
        let _ = self.runtime.block_on(super::nodes::leave(&conn, &self.memory.node));
    }

    fn carry_out(&mut self, batch: &mut Vec<Box<dyn Job>>) {
        match self.transact(batch) {
            Ok(()) => batch.drain(..).for_each(|job| job.answer(None)),
            Err(Broken::All(why)) => {
                batch.drain(..).for_each(|job| job.answer(Some(why.clone())));
            }
            // One of them cannot be carried out: the others must not suffer for it.
            Err(Broken::Command(_)) if batch.len() > 1 => {
                for mut job in batch.drain(..) {
                    match self.transact(std::slice::from_mut(&mut job)) {
                        Ok(()) => job.answer(None),
                        Err(Broken::Command(error)) => job.answer(Some(said(&error))),
                        Err(Broken::All(why)) => job.answer(Some(why)),
                    }
                }
            }
            Err(Broken::Command(error)) => {
                let why = said(&error);
                batch.drain(..).for_each(|job| job.answer(Some(why.clone())));
            }
        }
    }

    /// Carries out jobs in one transaction. When this returns, it is certain whether they were, unless it says otherwise.
    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Broken> {
        let since = Instant::now();
        let mut pause = Pause::default();
        let (mut tries, mut losses) = (0, 0);
        let mut plain = true;
        loop {
            let trouble = match self.transact_once(jobs, plain) {
                Ok(()) => return Ok(()),
                Err(trouble) => trouble,
            };
            plain = false;
            let lost = self.batch;
            self.memory.forget_all();
            let patient = since.elapsed() < self.connector.patience();
            match trouble {
                Trouble::Other(error) => return Err(Broken::All(error.to_string())),
                Trouble::Command(error) if is_busy(&error) && tries < MAX_TRIES => tries += 1,
                Trouble::Command(error) => return Err(Broken::Command(error)),
                Trouble::Lost(error) if !patient => return Err(Broken::All(said(&error))),
                // It may be the batch: one that takes too long is thrown out by the server, again and again.
                Trouble::Lost(error) if losses >= MAX_TRIES && jobs.len() > 1 => {
                    return Err(Broken::Command(error));
                }
                Trouble::Lost(_) => {
                    losses += 1;
                    std::thread::sleep(pause.next());
                }
                Trouble::Unknown(error) => match self.find_out(lost) {
                    Ok(true) => {
                        self.told.committed(lost);
                        return Ok(());
                    }
                    Ok(false) if patient => {}
                    Ok(false) => return Err(Broken::All(said(&error))),
                    Err(problem) => {
                        return Err(Broken::All(format!(
                            "it is not known whether this was written: {problem}"
                        )));
                    }
                },
            }
        }
    }

    /// One try. As a plain batch, if it may be and is one.
    fn transact_once(&mut self, jobs: &mut [Box<dyn Job>], plain: bool) -> Result<(), Trouble> {
        let conn = if let Some(conn) = self.conn.take().filter(|conn| !conn.is_closed()) {
            conn
        } else {
            // Another server may answer now, which has not all that this one had.
            self.memory.forget_all();
            self.connect().map_err(Trouble::Other)?
        };
        if plain && let Some(rows) = plain::rows(jobs, &self.memory) {
            self.batch += 1;
            match self.runtime.block_on(plain::write(&conn, &self.memory, self.batch, &rows)) {
                Ok(true) => {
                    self.conn = Some(conn);
                    self.told.committed(self.batch);
                    written_plainly(jobs);
                    return Ok(());
                }
                Err(error) if is_lost(&error) => {
                    written_plainly(jobs);
                    return Err(Trouble::Unknown(error));
                }
                // Somebody is in the way: all of it still holds.
                Err(error) if is_busy(&error) => {}
                // Why not is found out below.
                Ok(false) | Err(_) => self.memory.fenced_by(None),
            }
        }
        self.batch += 1;
        let done = self.runtime.block_on(perform(&conn, &self.memory, self.batch, jobs));
        match done {
            Ok(wrote) => {
                self.conn = Some(conn);
                if wrote {
                    self.told.committed(self.batch);
                }
                Ok(())
            }
            Err(trouble @ (Trouble::Lost(_) | Trouble::Unknown(_))) => Err(trouble),
            Err(trouble) => {
                if self.runtime.block_on(conn.script("ROLLBACK")).is_ok() {
                    self.conn = Some(conn);
                }
                Err(trouble)
            }
        }
    }

    /// Whether a batch, the last one sent, was committed after all. If not, it never will be.
    fn find_out(&mut self, lost: u64) -> Result<bool, StoreError> {
        let since = Instant::now();
        let mut pause = Pause::default();
        loop {
            let conn = self.connect()?;
            // One number each time, so that it can be told from the lost one which of them stands there.
            self.batch += 1;
            match self.runtime.block_on(settle(&conn, &self.memory.node, lost, self.batch)) {
                Ok(Some(committed)) => {
                    self.conn = Some(conn);
                    return Ok(committed);
                }
                Ok(None) => {
                    let problem = "this node was forgotten, because it was away for too long";
                    return Err(StoreError::Failed(problem.to_owned()));
                }
                Err(Stop::Broken(error)) if since.elapsed() < self.connector.patience() => {
                    drop(error);
                    std::thread::sleep(pause.next());
                }
                Err(stop) => return Err(stop.into()),
            }
        }
    }
}

/// All of them are answered so, if the batch was committed.
fn written_plainly(jobs: &mut [Box<dyn Job>]) {
    for job in jobs {
        job.written_plainly();
    }
}
