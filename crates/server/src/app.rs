//! What every handler works with.

use std::sync::Arc;

use signoff_runtime::Engine;
use tokio::sync::{Semaphore, watch};

use crate::access::Access;
use crate::error::{ApiError, Problem};
use crate::metrics::Metrics;
use crate::serve::Settings;
use crate::stream::Hub;

/// How many connections the store should have for reading: those below, and some for the engine, which
/// must never wait for a client's search.
pub const CONNECTIONS: usize = 8;
/// How many reads of a single thing go on at once.
const READS: usize = 4;
/// How many searches.
const SEARCHES: usize = 2;

/// What handlers share. Cheap to clone.
pub(crate) type App = Arc<Shared>;

/// The parts of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) hub: Arc<Hub>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access: Box<dyn Access>,
    pub(crate) settings: Settings,
    pub(crate) openapi: bytes::Bytes,
    /// True from the moment the server is to stop.
    pub(crate) stopping: watch::Receiver<bool>,
    reads: Semaphore,
    searches: Semaphore,
}

impl Shared {
    pub(crate) fn new(
        engine: Engine,
        access: Box<dyn Access>,
        settings: Settings,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let metrics = Arc::new(Metrics::default());
        Self {
            hub: Hub::new(engine.clone(), Arc::clone(&metrics)),
            engine,
            metrics,
            access,
            settings,
            openapi: crate::openapi::document().to_string().into(),
            stopping,
            reads: Semaphore::new(READS),
            searches: Semaphore::new(SEARCHES),
        }
    }

    /// Reads one thing from the store, away from the threads that serve connections.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.in_turn(&self.reads, read).await
    }

    /// Reads what may take a while: lists and counts.
    pub(crate) async fn search<T: Send + 'static>(
        &self,
        search: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.in_turn(&self.searches, search).await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        turns: &Semaphore,
        read: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let _turn = turns.acquire().await.map_err(|error| ApiError::internal(&error))?;
        let engine = self.engine.clone();
        tokio::task::spawn_blocking(move || read(&engine))
            .await
            .map_err(|error| ApiError::internal(&error))?
    }

    /// Whether the server is to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Refuses what would start something now.
    pub(crate) fn takes_work(&self) -> Result<(), ApiError> {
        if self.is_stopping() {
            return Err(ApiError::new(Problem::ShuttingDown, "the server is stopping")
                .hint("nothing was done; try again when it is back"));
        }
        Ok(())
    }
}
