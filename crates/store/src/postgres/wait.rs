//! Waits for a future on whatever thread asks.
//!
//! Connections are driven by the store's own runtime; who sends a query only waits for a channel. So a thread can poll
//! by itself, inside another runtime as well as outside any.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;

struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// The result of `future`. Blocks this thread.
pub(super) fn wait_for<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Waiting(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    // Inside a task of another runtime its channels would wait for that task to give way, which it cannot.
    let mut future = pin!(tokio::task::unconstrained(future));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}
