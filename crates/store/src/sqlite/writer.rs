//! The one thread that writes. It takes all commands that wait, carries them out in one transaction,
//! and answers them when that is on disk: durability costs one flush per batch.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use super::db::Db;
use super::error::{failed, is_busy};
use crate::gather::Gatherer;
use crate::{BoxFuture, StoreError};

/// How often a batch is tried while another process is in the way.
const MAX_TRIES: u32 = 3;

/// A change to the store.
///
/// It checks first and writes after: when it is refused, it has written nothing, because the rest
/// of its batch is committed all the same.
pub(super) trait Command: Send + 'static {
    /// What the caller gets.
    type Output: Send + 'static;

    /// Carries it out. Called again if the transaction around it has to be repeated.
    fn apply(&self, db: &mut Db) -> Result<Self::Output, Stop>;
}

/// Why a command was not carried out.
#[derive(Debug)]
pub(super) enum Stop {
    /// It may not be. Nothing was written.
    Refused(StoreError),
    /// The database failed; something may have been written.
    Broken(rusqlite::Error),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

/// The writing thread, from outside. Dropping it carries out what waits and ends the thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(db: Db) -> Result<Self, StoreError> {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new()
            .name("signoff-store".into())
            .spawn(move || write(db, &jobs))
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

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It only panics if a command did, and then its caller was told.
            let _ = thread.join();
        }
    }
}

/// A command of any type, with its result and the one who waits for it.
trait Job: Send {
    fn attempt(&mut self, db: &mut Db) -> Result<(), rusqlite::Error>;
    fn answer(self: Box<Self>, failure: Option<&rusqlite::Error>);
}

struct Queued<C: Command> {
    command: C,
    result: Option<Result<C::Output, StoreError>>,
    reply: oneshot::Sender<Result<C::Output, StoreError>>,
}

impl<C: Command> Job for Queued<C> {
    fn attempt(&mut self, db: &mut Db) -> Result<(), rusqlite::Error> {
        self.result = Some(match self.command.apply(db) {
            Ok(output) => Ok(output),
            Err(Stop::Refused(error)) => Err(error),
            Err(Stop::Broken(error)) => return Err(error),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&rusqlite::Error>) {
        let result = match (failure, self.result) {
            (Some(error), _) => Err(failed(error)),
            (None, Some(result)) => result,
            (None, None) => Err(StoreError::Failed("the command was not carried out".into())),
        };
        // Nobody has to wait for the answer.
        let _ = self.reply.send(result);
    }
}

fn write(mut db: Db, jobs: &Receiver<Box<dyn Job>>) {
    let mut batch = Vec::new();
    let mut gatherer = Gatherer::default();
    while gatherer.gather(jobs, &mut batch) {
        let since = Instant::now();
        carry_out(&mut db, &mut batch);
        gatherer.committed(since);
    }
}

fn carry_out(db: &mut Db, batch: &mut Vec<Box<dyn Job>>) {
    match transact(db, batch) {
        Ok(()) => batch.drain(..).for_each(|job| job.answer(None)),
        Err(Broken::Commit(error)) => batch.drain(..).for_each(|job| job.answer(Some(&error))),
        // One of them cannot be carried out: the others must not suffer for it.
        Err(Broken::Command(_)) if batch.len() > 1 => {
            for mut job in batch.drain(..) {
                match transact(db, std::slice::from_mut(&mut job)) {
                    Ok(()) => job.answer(None),
                    Err(Broken::Command(error) | Broken::Commit(error)) => job.answer(Some(&error)),
                }
            }
        }
        Err(Broken::Command(error)) => batch.drain(..).for_each(|job| job.answer(Some(&error))),
    }
}

enum Broken {
    Command(rusqlite::Error),
    Commit(rusqlite::Error),
}

fn transact(db: &mut Db, jobs: &mut [Box<dyn Job>]) -> Result<(), Broken> {
    let mut tries = 0;
    loop {
        let result = transact_once(db, jobs);
        let Err(broken) = result else { return Ok(()) };
        db.rollback();
        let (Broken::Command(error) | Broken::Commit(error)) = &broken;
        tries += 1;
        if !is_busy(error) || tries >= MAX_TRIES {
            return Err(broken);
        }
    }
}

fn transact_once(db: &mut Db, jobs: &mut [Box<dyn Job>]) -> Result<(), Broken> {
    db.begin().map_err(Broken::Commit)?;
    for job in jobs {
        job.attempt(db).map_err(Broken::Command)?;
    }
    db.commit().map_err(Broken::Commit)
}
