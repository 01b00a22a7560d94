//! What every handler works with.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use signoff_core::{Actor, Tenant, Timestamp};
use signoff_runtime::{Engine, Origin, new_secret};
use signoff_store::{Store, StoreError};
use tokio::sync::{Semaphore, watch};

use crate::access::{Access, Caller};
use crate::error::{ApiError, Problem};
use crate::http::Peer;
use crate::metrics::Metrics;
use crate::sealed::Key;
use crate::serve::Settings;
use crate::stream::{Hub, Inbox, Places};
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
    /// Who asks, if somebody does.
    asker: Option<Actor>,
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
        let way = channel(parts.uri.path());
        let app = whole.for_tenant(caller.tenant).spoken_to_by(way, &parts.extensions);
        Ok(Self { asker: Some(caller.actor), ..app })
    }
}

/// In whose words a path is spoken to, for the audit.
fn channel(path: &str) -> &'static str {
    let ways = [
        ("/v1/ws", "websocket"),
        ("/v1/responses", "responses"),
        ("/v1/conversations", "responses"),
        ("/v1/workflows/", "responses"),
        ("/a2a", "a2a"),
        ("/lf.a2a", "a2a"),
        ("/ag-ui/", "ag-ui"),
        ("/mcp", "mcp"),
        ("/bridge", "bridge"),
    ];
    ways.iter().find(|(begin, _)| path.starts_with(begin)).map_or("http", |(_, way)| way)
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
    /// Whose streams are open.
    pub(crate) places: Places,
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
            places: Places::default(),
            reads: Semaphore::new(READS),
            searches: Semaphore::new(SEARCHES),
        };
        Self { shared: Arc::new(shared), engine, asker: None }
    }

    /// The same as a tenant sees it.
    pub(crate) fn for_tenant(&self, tenant: Tenant) -> Self {
        let engine = self.engine.for_tenant(tenant);
        Self { shared: Arc::clone(&self.shared), engine, asker: self.asker.clone() }
    }

    /// The same for somebody who speaks by this way, in a request with these extensions.
    pub(crate) fn spoken_to_by(self, channel: &'static str, request: &Extensions) -> Self {
        let address = request.get::<Peer>().map(|peer| peer.0);
        let engine = self.engine.spoken_to_by(Origin { channel, address });
        Self { engine, ..self }
    }

    /// Whose streams are counted one by one: users', where there are some.
    pub(crate) fn stream_user(&self) -> Option<&Actor> {
        self.asker.as_ref().filter(|_| self.access.users.any())
    }

    /// Whether there is room for one more stream.
    pub(crate) fn room(&self, hint: &str) -> Result<(), ApiError> {
        let settings = &self.settings;
        let problem = |what: &str| Err(ApiError::new(Problem::TooManyStreams, what).hint(hint));
        if self.metrics.open_streams() >= settings.max_streams {
            return problem("there are too many streams");
        }
        let own = self.stream_user().map_or(0, |user| self.places.of(user));
        if own >= settings.max_streams_each {
            return problem("you have too many streams");
        }
        Ok(())
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

    /// Refuses what would start something now.
    pub(crate) fn takes_work(&self) -> Result<(), ApiError> {
        if self.is_stopping() {
            return Err(ApiError::new(Problem::ShuttingDown, "the server is stopping")
                .hint("nothing was done; try again when it is back"));
        }
        Ok(())
    }
}
