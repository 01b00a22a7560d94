//! An activation under way, as a future the driver polls.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use signoff_core::ActivationId;
use signoff_core::journal::{ErrorInfo, Payload};

use crate::cell::RunCell;
use crate::context::Context;
use crate::executor::BoxFuture;

/// How an activation left the driver's hands.
pub(crate) enum Finished {
    /// It gave an output.
    Done(Payload),
    /// It failed.
    Failed(ErrorInfo),
    /// Nothing is left to do but wait for people, times or other runs. It will be started again.
    Suspended,
}

/// An executor at work on one message.
pub(crate) struct ActivationFuture {
    pub(crate) id: ActivationId,
    cell: Arc<RunCell>,
    work: BoxFuture<'static, Result<Payload, ErrorInfo>>,
}

impl ActivationFuture {
    /// Starts the executor of an open activation; `None` if it is not open any more.
    pub(crate) fn start(cell: &Arc<RunCell>, id: ActivationId) -> Option<Self> {
        let (executor, payload) = {
            let inner = cell.lock();
            let open = inner.state.open.get(&id)?;
            (open.executor.clone(), Arc::clone(&open.payload))
        };
        let work = match cell.definition.executor(&executor) {
            Some(code) => {
                let ctx = Context::new(Arc::clone(cell), id, executor);
                // Even building the future may panic in somebody's code.
                std::panic::catch_unwind(AssertUnwindSafe(|| code.run(ctx, payload)))
                    .unwrap_or_else(|panic| {
                        let error = panicked(&*panic);
                        Box::pin(async move { Err(error) })
                    })
            }
            None => Box::pin(async move {
                let message = format!("there is no executor `{executor}`");
                Err(ErrorInfo::new("unknown_executor", message))
            }),
        };
        Some(Self { id, cell: Arc::clone(cell), work })
    }
}

impl Future for ActivationFuture {
    type Output = (ActivationId, Finished);

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(link) = this.cell.lock().links.get_mut(&this.id) {
            link.poked = false;
        }
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| this.work.as_mut().poll(task)));
        let finished = match polled {
            Ok(Poll::Ready(Ok(output))) => Finished::Done(output),
            Ok(Poll::Ready(Err(error))) => Finished::Failed(error),
            Err(panic) => Finished::Failed(panicked(&*panic)),
            Ok(Poll::Pending) => {
                if this.cell.lock().link(this.id).is_suspended() {
                    Finished::Suspended
                } else {
                    return Poll::Pending;
                }
            }
        };
        Poll::Ready((this.id, finished))
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> ErrorInfo {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    ErrorInfo::new("panic", format!("the executor panicked: {text}"))
}
