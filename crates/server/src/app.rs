//! What every handler works with.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use signoff_core::{Tenant, Timestamp};
use signoff_runtime::{Engine, new_secret};
use signoff_store::{Store, StoreError};
use tokio::sync::{Semaphore, watch};

use crate::access::{Access, Caller};
use crate::error::{ApiError, Problem};
use crate::metrics::Metrics;
use crate::sealed::Key;
use crate::serve::Settings;
use crate::stream::{Hub, Inbox};
use crate::views::Views;
use crate::{link, mcp};

/// How many connections the store should have for reading: those below, and some for the engine, which
/// must never wait for a client's search.
pub const CONNECTIONS: usize = 8;
/// How many reads of a single thing go on at once.
const READS: usize = 4;
/// How many searches.
const SEARCHES: usize = 2;

/// What signs what clients keep for us.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Links.
    pub(crate) links: Key,
    /// What MCP clients hand back.
    pub(crate) mcp: Key,
}

impl Keys {
    /// Those of this store; made, if it has none yet.
    pub(crate) async fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let links = Key::new(&store.secret(link::SECRET, new_secret()).await?);
        let mcp = Key::new(&store.secret(mcp::SECRET, new_secret()).await?);
        Ok(Self { links, mcp })
    }
}

/// What a handler works with. Taken from a request, its engine is that of the caller's tenant: what belongs to
/// others is not there. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct App {
    shared: Arc<Shared>,
    pub(crate) engine: Engine,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl FromRequestParts<App> for App {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, whole: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, whole).await?;
        Ok(whole.for_tenant(caller.tenant))
    }
}

/// The parts of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) hub: Arc<Hub>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access: Access,
    /// Signs links.
    pub(crate) links: Key,
    /// Signs what MCP clients keep for us.
    pub(crate) mcp: Key,
    pub(crate) settings: Settings,
    pub(crate) openapi: bytes::Bytes,
    /// Since when it is there, with the workflows it has.
    pub(crate) since: Timestamp,
    /// True from the moment the server is to stop.
    pub(crate) stopping: watch::Receiver<bool>,
    /// Who has opened which request.
    pub(crate) views: Views,
    /// Every WebSocket listens to it for as long as it is open.
    pub(crate) sessions: watch::Sender<()>,
    reads: Semaphore,
    searches: Semaphore,
}

impl App {
    pub(crate) fn new(
        engine: Engine,
        access: Access,
        keys: Keys,
        settings: Settings,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let metrics = Arc::new(Metrics::default());
        let inbox = Inbox::new(engine.clone());
        let shared = Shared {
            hub: Hub::new(engine.clone(), Arc::clone(&metrics), Arc::clone(&inbox)),
            inbox,
            metrics,
            access,
            links: keys.links,
            mcp: keys.mcp,
            settings,
            openapi: crate::openapi::document().to_string().into(),
            since: engine.clock().now(),
            stopping,
            views: Views::default(),
            sessions: watch::Sender::new(()),
            reads: Semaphore::new(READS),
            searches: Semaphore::new(SEARCHES),
        };
        Self { shared: Arc::new(shared), engine }
    }

    /// The same as a tenant sees it.
    pub(crate) fn for_tenant(&self, tenant: Tenant) -> Self {
        Self { shared: Arc::clone(&self.shared), engine: self.engine.for_tenant(tenant) }
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
}

impl Shared {
    /// Whether the server is to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Whether there is room for one more stream.
    pub(crate) fn room(&self, hint: &str) -> Result<(), ApiError> {
        if self.metrics.open_streams() >= self.settings.max_streams {
            return Err(
                ApiError::new(Problem::TooManyStreams, "there are too many streams").hint(hint)
            );
        }
        Ok(())
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
