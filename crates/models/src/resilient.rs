//! The one place where a provider is asked again.
//!
//! | what happens | what is done |
//! |---|---|
//! | an error that may pass | wait, longer each time, or as long as the provider says, and ask again |
//! | an error that will not pass | given back at once |
//! | no answer within the time limit | as an error that may pass |
//! | the provider wants more patience than we have | given back at once |
//! | too many calls at the same time | they wait in a line; a call that waits before a retry does not hold a place |
//! | nobody wants the reply any more (the future is dropped) | the connection is closed |
//!
//! What it gives back is final: `retryable` is false, so that nobody above retries the retries.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::assembly::Sink;
use crate::failure;
use crate::provider::{
    BoxFuture, Delta, ModelError, ModelIdentity, ModelReply, ModelRequest, Provider,
};

/// A source of numbers from 0 (included) to 1 (excluded).
pub(crate) type Chance = Arc<dyn Fn() -> f64 + Send + Sync>;

/// How often and how patiently a provider is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often, after the first time.
    pub max: u32,
    /// The wait before the first retry; it doubles from one to the next.
    pub delay: Duration,
    /// The longest wait. A provider that asks for a longer one has failed.
    pub max_delay: Duration,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How many calls there may be at the same time.
    pub max_concurrent: usize,
}

/// A provider with patience.
pub struct Resilient {
    inner: Arc<dyn Provider>,
    retries: Retries,
    places: Semaphore,
    chance: Chance,
}

impl fmt::Debug for Resilient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilient")
            .field("inner", &self.inner)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

impl Resilient {
    /// `inner`, asked as often and as patiently as `retries` says. `chance` spreads the waits of many.
    pub fn new(inner: Arc<dyn Provider>, retries: Retries, chance: Chance) -> Self {
        let places = Semaphore::new(retries.max_concurrent.clamp(1, Semaphore::MAX_PERMITS));
        Self { inner, retries, places, chance }
    }

    async fn attempt(
        &self,
        request: &ModelRequest,
        sink: Sink<'_>,
    ) -> Result<ModelReply, ModelError> {
        // Never closed, so there is always a permit to be had.
        let _place = self.places.acquire().await;
        let limit = self.retries.timeout;
        match tokio::time::timeout(limit, self.inner.complete(request, sink)).await {
            Ok(result) => result,
            Err(_) => Err(failure::timeout(&format!("it took longer than {limit:?}"))),
        }
    }

    /// How long to wait before retry number `retry` (from 0), or nothing if that is too long.
    fn wait(&self, retry: u32, error: &ModelError) -> Option<Duration> {
        let Retries { delay, max_delay, .. } = self.retries;
        let doubled = delay.saturating_mul(2_u32.saturating_pow(retry)).min(max_delay);
        // Between half of it and all of it.
        let chance = (self.chance)().clamp(0.0, 1.0);
        let own = doubled.mul_f64(0.5 + chance / 2.0);
        match error.retry_after {
            Some(wanted) if wanted > max_delay => None,
            Some(wanted) => Some(wanted.max(own)),
            None => Some(own),
        }
    }
}

impl Provider for Resilient {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: Sink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let streamed = AtomicBool::new(false);
            let watched = |delta: Delta| {
                streamed.store(true, Ordering::Relaxed);
                sink(delta);
            };
            let mut retry = 0;
            loop {
                let error = match self.attempt(request, &watched).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                };
                let wait = if error.retryable && retry < self.retries.max {
                    self.wait(retry, &error)
                } else {
                    None
                };
                let Some(wait) = wait else {
                    return Err(given_up(error, retry));
                };
                if streamed.swap(false, Ordering::Relaxed) {
                    sink(Delta::Restart);
                }
                tokio::time::sleep(wait).await;
                retry += 1;
            }
        })
    }

    fn identity(&self) -> Option<ModelIdentity> {
        self.inner.identity()
    }
}

fn given_up(mut error: ModelError, retries: u32) -> ModelError {
    if retries > 0 {
        error.info.message = format!("{} (asked {} times)", error.info.message, retries + 1);
    }
    error.retryable = false;
    error
}
