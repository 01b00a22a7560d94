//! The server itself: a port, connections, and how it stops.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, middleware};
use signoff_runtime::Engine;
use signoff_store::{Scope, StoreError};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::a2a::{CardKey, PushDelivery, Receivers};
use crate::access::{self, Access, Users};
use crate::app::{App, Keys};
use crate::devui::{self, Page};
use crate::http::Http;
use crate::mcp::{self, McpSettings};
use crate::webhooks::{Channel, Delivery};
use crate::{api, metrics, process, web};

/// How long open connections may take to finish what they are answering.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// How long it is waited after the store or the system refused something.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What a server can be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens. Other addresses than this machine's own are taken only once there are users.
    pub address: SocketAddr,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// How long a client may take to send the head of a request, from when it could.
    pub head_timeout: Duration,
    /// How long it may take to send the body.
    pub body_timeout: Duration,
    /// How many requests a user may make in a second.
    pub max_rate: u32,
    /// Whose pages may use the server besides its own: origins as browsers write them.
    pub origins: Vec<String>,
    /// The most streams at once.
    pub max_streams: i64,
    /// The most streams of one user at once, where there are users.
    pub max_streams_each: usize,
    /// The most connections at once.
    pub max_connections: usize,
    /// The most messages a WebSocket takes in a second.
    pub max_messages: u32,
    /// The most runs that one WebSocket follows.
    pub max_attached: usize,
    /// How often a WebSocket's client must give a sign of life.
    pub ping_every: Duration,
    /// How long a WebSocket's client may take to read what is sent.
    pub write_timeout: Duration,
    /// How long any client may read nothing of what it is sent before it is left.
    pub stall_timeout: Duration,
    /// How long runs under way are given to come to rest when the server stops.
    pub grace: Duration,
    /// The page of `DevUI`, if there is one to serve.
    pub page: Option<Arc<Page>>,
    /// Who is told what happens to requests.
    pub channels: Vec<Arc<dyn Channel>>,
    /// Where clients of A2A may have themselves told how their tasks go on; nowhere, if there is nothing.
    pub receivers: Option<Receivers>,
    /// What signs the cards of agents, if they are to be signed.
    pub card_key: Option<Arc<CardKey>>,
    /// How MCP clients are answered.
    pub mcp: McpSettings,
    /// What became of spans, for the metrics. Who sends them is not the server's business.
    pub traces: Arc<signoff_traces::Counts>,
}

impl Settings {
    /// The usual ones.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            max_body: 1024 * 1024,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            max_rate: 1000,
            origins: Vec::new(),
            max_streams: 20_000,
            max_streams_each: 5_000,
            max_connections: 25_000,
            max_messages: 50,
            max_attached: 32,
            ping_every: Duration::from_secs(20),
            write_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_mins(1),
            grace: Duration::from_secs(10),
            page: None,
            channels: Vec::new(),
            receivers: None,
            card_key: None,
            mcp: McpSettings::default(),
            traces: Arc::default(),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach it, and there are no users yet to tell them apart.
    #[error(
        "{0} can be reached by other machines, and there are no users yet to tell who they are"
    )]
    NotLoopback(SocketAddr),
    /// Somebody else listens there.
    #[error("another program listens on {0}")]
    InUse(SocketAddr),
    /// The users cannot be read.
    #[error("the users cannot be read: {0}")]
    Users(#[from] StoreError),
    /// The secret that signs links cannot be read or made.
    #[error("the secret that signs links cannot be read: {0}")]
    Secret(StoreError),
    /// The system refuses.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
}

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: Settings,
    engine: Engine,
    users: Arc<Users>,
    keys: Keys,
}

impl Server {
    /// Takes the port.
    pub async fn bind(engine: Engine, settings: Settings) -> Result<Self, ServeError> {
        let address = settings.address;
        let users = Arc::new(Users::read(Arc::clone(engine.store()))?);
        if !address.ip().is_loopback() && !users.any() {
            return Err(ServeError::NotLoopback(address));
        }
        let keys = Keys::of(&**engine.store()).await.map_err(ServeError::Secret)?;
        process::allow_connections();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::InUse(address),
            _ => ServeError::Listen { address, source },
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, settings, engine, users, keys })
    }

    /// Where it listens: with the port that was found, if none was named.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` resolves; then ends streams and hands runs over, as soon as nothing is under way in them that would
    /// have to be done again. What is still under way after a while is found by whoever comes next: nothing of it is lost.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, address, settings, engine, users, keys } = self;
        let grace = settings.grace;
        let (stopping, watch_stopping) = watch::channel(false);
        let access = Access::new(address, &settings.origins, Arc::clone(&users), settings.max_rate);
        let connections = Arc::new(Semaphore::new(settings.max_connections));
        let app = App::new(engine.clone(), access, keys, settings, watch_stopping);
        let relay = Arc::clone(&app.hub);
        let mut helpers = vec![
            tokio::spawn(async move { relay.relay().await }),
            tokio::spawn(Arc::clone(&app.hub).look()),
            tokio::spawn(Arc::clone(&app.hub).exchange()),
            tokio::spawn(users.follow()),
            tokio::spawn(Arc::clone(&app.inbox).watch()),
        ];
        helpers.extend(
            app.settings
                .channels
                .iter()
                .map(|channel| tokio::spawn(Delivery::new(Arc::clone(channel), app.clone()).run())),
        );
        helpers.extend(app.settings.receivers.iter().map(|receivers| {
            let metrics = Arc::clone(&app.metrics);
            tokio::spawn(PushDelivery::new(receivers.clone(), engine.clone(), metrics).run())
        }));
        let sessions = app.sessions.clone();
        let scheduler = tokio::spawn(schedule(engine.clone()));
        let (closing, closed) = watch::channel(false);
        tokio::spawn(accept(listener, connections, app, closed));
        stop.await;
        tracing::info!("stopping");
        stopping.send_replace(true);
        scheduler.abort();
        if tokio::time::timeout(grace, engine.drain()).await.is_err() {
            tracing::warn!("some runs are left under way; their leases end with this process");
        }
        closing.send_replace(true);
        // Every connection listens to it for as long as it is open.
        if tokio::time::timeout(LAST_ANSWERS, closing.closed()).await.is_err() {
            tracing::debug!("some connections were cut off");
        }
        // A WebSocket is no connection any more, and says goodbye by itself.
        if tokio::time::timeout(LAST_ANSWERS, sessions.closed()).await.is_err() {
            tracing::debug!("some WebSockets were cut off");
        }
        helpers.iter().for_each(JoinHandle::abort);
    }
}

/// Drives what is ready or due, whoever made it so.
pub(crate) async fn schedule(engine: Engine) {
    loop {
        if let Err(error) = engine.schedule(Scope::All).await {
            tracing::error!(%error, "the scheduler could not use the store; it tries again");
        }
        tokio::time::sleep(AFTER_FAILURE).await;
    }
}

/// The routes, with everything every request passes.
fn service(app: App) -> axum::Router {
    let router = api::api().router.layer(Extension(mcp::Http::new(&app)));
    let router = web::with_page(router);
    let router = if app.settings.page.is_some() { devui::with_page(router) } else { router };
    router
        .fallback(api::no_route)
        .method_not_allowed_fallback(api::no_method)
        .layer(middleware::from_fn_with_state(App::clone(&app), access::admit))
        .layer(middleware::from_fn_with_state(App::clone(&app), metrics::observe))
        .with_state(app)
}

async fn accept(
    listener: TcpListener,
    connections: Arc<Semaphore>,
    app: App,
    mut closed: watch::Receiver<bool>,
) {
    let http = Http::new(app.settings.head_timeout, app.settings.stall_timeout);
    let service = service(app);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = told(&mut closed) => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(AFTER_FAILURE / 20).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&connections).try_acquire_owned() else {
            tracing::warn!("there are too many connections; one more was closed");
            continue;
        };
        let (http, service, mut closed) = (http.clone(), service.clone(), closed.clone());
        tokio::spawn(async move {
            http.serve(stream, service, told(&mut closed)).await;
            drop(place);
        });
    }
}

async fn told(signal: &mut watch::Receiver<bool>) {
    // If nobody can tell any more, it is over as well.
    let _ = signal.wait_for(|it| *it).await;
}
