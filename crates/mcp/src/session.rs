//! One connection to a server, from the handshake to its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use signoff_tools::ToolError;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use crate::config::{Place, header_value};
use crate::desk::{Desk, Handler};
use crate::http::{Patience, Web};
use crate::stdio::{self, LastWords, MAX_LINE, Process};
use signoff_core::text::clean;

/// How long a server may take to be ready, at most.
const READY_WITHIN: Duration = Duration::from_mins(1);

/// A connection that is ready for calls.
#[derive(Debug)]
pub(crate) struct Session {
    running: RunningService<RoleClient, Handler>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) began: Instant,
    /// Whether questions come in the middle of a call, as they did before 2026-07-28. Nothing says then
    /// which call a question belongs to, so calls are made one at a time.
    one_at_a_time: Option<Semaphore>,
    /// Whether it was found broken, whatever it says of itself.
    broken: AtomicBool,
    _process: Option<Process>,
}

/// How to connect.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) place: Place,
    pub(crate) asks: bool,
    pub(crate) web: Option<Web>,
    /// How long a call may take, and so to be ready for one.
    pub(crate) within: Duration,
    pub(crate) words: LastWords,
}

impl Connector {
    /// Connects, in the newest protocol that the server speaks.
    pub(crate) async fn connect(&self) -> Result<Session, ToolError> {
        let newest = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        match self.attempt(newest).await {
            Err(Failed::Handshake(_)) => {
                // An old server may not survive, or may misread, a question it does not know.
                self.attempt(ClientLifecycleMode::Initialize).await
            }
            other => other,
        }
        .map_err(|failed| match failed {
            Failed::Start(problem) | Failed::Handshake(problem) => unavailable(&problem),
        })
    }

    async fn attempt(&self, lifecycle: ClientLifecycleMode) -> Result<Session, Failed> {
        let desk = Desk::new(self.asks);
        let handler = Handler(Arc::clone(&desk));
        let (running, process) = match &self.place {
            Place::Program(program) => {
                let (process, output, input) = stdio::start(program, &self.words)
                    .map_err(|error| Failed::Start(format!("{}: {error}", program.file)))?;
                let transport =
                    AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_LINE + 1);
                let serving = handler.serve_with_lifecycle(transport, lifecycle);
                (self.ready(serving).await?, Some(process))
            }
            Place::Address { url, headers_env } => {
                let web = self.web.clone().ok_or_else(|| Failed::Start("no client".to_owned()))?;
                let mut headers = HashMap::new();
                for (name, variable) in headers_env {
                    headers.insert(name.clone(), header_value(variable).map_err(Failed::Start)?);
                }
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers)
                    .max_sse_event_size(MAX_LINE);
                config.retry_config = Arc::new(Patience);
                let transport = StreamableHttpClientTransport::with_client(web, config);
                (self.ready(handler.serve_with_lifecycle(transport, lifecycle)).await?, None)
            }
        };
        let modern = running
            .peer_info()
            .is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28);
        let one_at_a_time = (!modern && self.asks).then(|| Semaphore::new(1));
        let session = Session {
            running,
            desk,
            began: Instant::now(),
            one_at_a_time,
            broken: AtomicBool::new(false),
            _process: process,
        };
        if modern && session.tells_of_changes() {
            session.listen_for_changes();
        }
        Ok(session)
    }

    async fn ready(
        &self,
        serving: impl Future<
            Output = Result<RunningService<RoleClient, Handler>, ClientInitializeError>,
        >,
    ) -> Result<RunningService<RoleClient, Handler>, Failed> {
        let within = READY_WITHIN.min(self.within);
        match timeout(within, serving).await {
            Ok(Ok(running)) => Ok(running),
            Ok(Err(error)) => Err(Failed::Handshake(words(&error))),
            Err(_) => Err(Failed::Start(format!("it was not ready within {within:?}"))),
        }
    }
}

enum Failed {
    /// There was nothing to talk to.
    Start(String),
    /// It did not talk as it should.
    Handshake(String),
}

/// What went wrong, without what the server sent: that can be of any size.
fn words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::TransportError { error, .. } => clean(&error.error.to_string(), 300),
        ClientInitializeError::JsonRpcError(error) => clean(&error.message, 300),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => words(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that we speak".to_owned()
        }
        _ => "it did not answer as the protocol says".to_owned(),
    }
}

fn unavailable(problem: &str) -> ToolError {
    ToolError::new("mcp_unavailable", format!("the server cannot be reached: {problem}"))
}

impl Session {
    pub(crate) fn peer(&self) -> &rmcp::Peer<RoleClient> {
        self.running.peer()
    }

    pub(crate) fn is_alive(&self) -> bool {
        let closed = self.running.is_closed() || self.peer().is_transport_closed();
        !closed && !self.broken.load(Ordering::Relaxed)
    }

    /// No new call is made on it; those that are under way go on.
    pub(crate) fn give_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// Whether the server says when its tools change.
    pub(crate) fn tells_of_changes(&self) -> bool {
        let info = self.running.peer_info();
        info.and_then(|info| info.capabilities.tools.as_ref()?.list_changed).unwrap_or(false)
    }

    /// Whether questions come in the middle of a call; if so, the right to make one.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.one_at_a_time.as_ref()?.acquire().await.ok()
    }

    /// Whether this is a session of the older protocol.
    pub(crate) fn is_older(&self) -> bool {
        self.running
            .peer_info()
            .is_none_or(|info| info.protocol_version < ProtocolVersion::V_2026_07_28)
    }

    fn listen_for_changes(&self) {
        let (peer, desk) = (self.peer().clone(), Arc::downgrade(&self.desk));
        tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(mut subscription) = peer.listen(filter).await else {
                return;
            };
            while let Ok(Some(_)) = subscription.next().await {
                let Some(desk) = desk.upgrade() else {
                    return;
                };
                desk.note_change();
            }
        });
    }
}
