//! Commands, and how they wait for the writing thread.

use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;
use tokio_postgres::Error;

use super::batch::Batch;
use super::error::Stop;
use super::memory::Memory;
use super::plain::PlainRow;
use super::touches::Touches;
use crate::StoreError;

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

    /// What it writes, if it is an append from which nothing follows.
    fn plain(&self, _memory: &Memory) -> Option<PlainRow<'_>> {
        None
    }

    /// What the caller gets after that.
    fn after_plain() -> Option<Self::Output> {
        None
    }
}

/// A command of any type, with its result and the one who waits for it.
pub(super) trait Job: Send {
    fn touches(&self, touches: &mut Touches);
    fn attempt<'a>(&'a mut self, batch: &'a Batch<'_>) -> LocalBoxFuture<'a, Result<(), Error>>;
    fn plain(&self, memory: &Memory) -> Option<PlainRow<'_>>;
    fn written_plainly(&mut self);
    fn answer(self: Box<Self>, failure: Option<String>);
}

pub(super) struct Queued<C: Command> {
    command: C,
    result: Option<Result<C::Output, StoreError>>,
    reply: oneshot::Sender<Result<C::Output, StoreError>>,
}

impl<C: Command> Queued<C> {
    pub(super) fn new(command: C, reply: oneshot::Sender<Result<C::Output, StoreError>>) -> Self {
        Self { command, result: None, reply }
    }
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

    fn plain(&self, memory: &Memory) -> Option<PlainRow<'_>> {
        self.command.plain(memory)
    }

    fn written_plainly(&mut self) {
        self.result = C::after_plain().map(Ok);
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
