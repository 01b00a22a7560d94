//! The one thread that writes. It takes all commands that wait, carries them out in one transaction, and answers
//! them when that is on disk: durability costs one flush for each batch.
//!
//! Commands that touch different things are polled together, so that their statements are pipelined: a wave of them costs
//! a few round trips, however many they are.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Instant;

use futures_util::future::{LocalBoxFuture, join_all};
use tokio::sync::oneshot;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::batch::{Batch, Commit, Memory, last_batch};
use super::conn::Conn;
use super::connect::{Connector, Pause, Work};
use super::error::{Stop, is_busy, is_lost, said};
use super::listener::Told;
use super::touches::Touches;
use super::wait::wait_for;
use crate::gather::Gatherer;
use crate::{BoxFuture, StoreError};

/// How often a batch is tried while somebody else is in the way.
const MAX_TRIES: u32 = 3;

/// A change to the store.
///
/// It checks first and writes after: when it is refused, it has written nothing, because the rest of its batch is
/// committed all the same.
pub(super) trait Command: Send + 'static {
    /// What the caller gets.
    type Output: Send + 'static;

    /// Says what it touches.
    fn touches(&self, touches: &mut Touches);

    /// Carries it out. Called again if the transaction around it has to be repeated.
    fn apply(&self, batch: &Batch<'_>) -> impl Future<Output = Result<Self::Output, Stop>>;
}

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
            let _ = queue.send(Box::new(Queued { command, result: None, reply }));
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

/// A command of any type, with its result and the one who waits for it.
trait Job: Send {
    fn touches(&self, touches: &mut Touches);
    fn attempt<'a>(&'a mut self, batch: &'a Batch<'_>) -> LocalBoxFuture<'a, Result<(), Error>>;
    fn answer(self: Box<Self>, failure: Option<String>);
}

struct Queued<C: Command> {
    command: C,
    result: Option<Result<C::Output, StoreError>>,
    reply: oneshot::Sender<Result<C::Output, StoreError>>,
}

impl<C: Command> Job for Queued<C> {
    fn touches(&self, touches: &mut Touches) {
        self.command.touches(touches);
    }

    fn attempt<'a>(&'a mut self, batch: &'a Batch<'_>) -> LocalBoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            self.result = Some(match self.command.apply(batch).await {
                Ok(output) => Ok(output),
                Err(Stop::Refused(error)) => Err(error),
                Err(Stop::Broken(error)) => return Err(error),
            });
            Ok(())
        })
    }

    fn answer(self: Box<Self>, failure: Option<String>) {
        let result = match (failure, self.result) {
            (Some(failure), _) => Err(StoreError::Failed(failure)),
            (None, Some(result)) => result,
            (None, None) => Err(StoreError::Failed("the command was not carried out".into())),
        };
        // Nobody has to wait for the answer.
        let _ = self.reply.send(result);
    }
}

/// What the writing thread owns.
#[derive(Debug)]
pub(super) struct Scribe {
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

/// Why one try was in vain.
enum Trouble {
    Command(Error),
    /// The connection is gone, and nothing was committed.
    Lost(Error),
    /// The connection is gone, and something may have been committed.
    Unknown(Error),
    Other(StoreError),
}

impl Scribe {
    pub(super) fn new(connector: Connector, memory: Memory, told: Told, conn: Conn) -> Self {
        Self { connector, memory, told, conn: Some(conn), batch: 0 }
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
        let _ = wait_for(super::nodes::leave(&conn, &self.memory.node));
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
        loop {
            let trouble = match self.transact_once(jobs) {
                Ok(()) => return Ok(()),
                Err(trouble) => trouble,
            };
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
                Trouble::Unknown(error) => match self.find_out() {
                    Ok(true) => {
                        // How many changes there are now is seen by who looks.
                        self.told.look();
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

    fn transact_once(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Trouble> {
        let conn = match self.conn.take().filter(|conn| !conn.is_closed()) {
            Some(conn) => conn,
            None => self.connector.connect_patiently(Work::Write).map_err(Trouble::Other)?,
        };
        self.batch += 1;
        let done = wait_for(perform(&conn, &self.memory, self.batch, jobs));
        match done {
            Ok(changes) => {
                self.conn = Some(conn);
                if let Some(changes) = changes {
                    self.told.committed(changes);
                }
                Ok(())
            }
            Err(trouble @ (Trouble::Lost(_) | Trouble::Unknown(_))) => Err(trouble),
            Err(trouble) => {
                if wait_for(conn.script("ROLLBACK")).is_ok() {
                    self.conn = Some(conn);
                }
                Err(trouble)
            }
        }
    }

    /// Whether the last batch was committed after all.
    fn find_out(&mut self) -> Result<bool, StoreError> {
        let since = Instant::now();
        let mut pause = Pause::default();
        loop {
            let conn = self.connector.connect_patiently(Work::Write)?;
            match wait_for(last_batch(&conn, &self.memory.node)) {
                Ok(Some(last)) => {
                    self.conn = Some(conn);
                    return Ok(last >= self.batch);
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

/// One transaction. The number of changes, if there was one.
async fn perform(
    conn: &Conn,
    memory: &Memory,
    number: u64,
    jobs: &mut [Box<dyn Job>],
) -> Result<Option<u64>, Trouble> {
    let trouble = |error: Error| {
        if is_lost(&error) { Trouble::Lost(error) } else { Trouble::Command(error) }
    };
    let batch = match Batch::begin(conn, memory).await {
        Ok(batch) => batch,
        Err(Stop::Broken(error)) if is_lost(&error) || is_busy(&error) => {
            return Err(trouble(error));
        }
        Err(stop) => return Err(Trouble::Other(stop.into())),
    };
    let mut rest = jobs;
    while !rest.is_empty() {
        let (wave, others) = rest.split_at_mut(wave_length(rest));
        carry_wave(&batch, wave).await.map_err(trouble)?;
        rest = others;
    }
    match batch.commit(number).await {
        Commit::Done(changes) => Ok(changes),
        Commit::Failed(error) => Err(trouble(error)),
        Commit::Unknown(error) => Err(Trouble::Unknown(error)),
    }
}

/// Carries out commands that can go together. Whenever all of them wait, and some of them before the fence, it is opened.
async fn carry_wave(batch: &Batch<'_>, wave: &mut [Box<dyn Job>]) -> Result<(), Error> {
    let mut jobs = pin!(join_all(wave.iter_mut().map(|job| job.attempt(batch))));
    let mut opening: Option<LocalBoxFuture<'_, Result<(), Error>>> = None;
    let done = poll_fn(|context| {
        loop {
            if let Poll::Ready(done) = jobs.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            if opening.is_none() && batch.fence.is_empty() {
                return Poll::Pending;
            }
            let open = opening.get_or_insert_with(|| Box::pin(batch.fence.open(batch)));
            let Poll::Ready(opened) = open.as_mut().poll(context) else { return Poll::Pending };
            opening = None;
            if let Err(error) = opened {
                return Poll::Ready(Err(error));
            }
        }
    });
    // Behind the statement that failed all others fail too; they are not the reason.
    let errors = done.await?.into_iter().filter_map(Result::err);
    errors.min_by_key(follows_from_another).map_or(Ok(()), Err)
}

fn follows_from_another(error: &Error) -> bool {
    error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

/// How many of the jobs, from the first, go together.
fn wave_length(jobs: &[Box<dyn Job>]) -> usize {
    let mut wave = Touches::default();
    for (n, job) in jobs.iter().enumerate() {
        let mut touches = Touches::default();
        job.touches(&mut touches);
        if n == 0 {
            wave = touches;
        } else if !wave.join(&touches) {
            return n;
        }
    }
    jobs.len()
}
