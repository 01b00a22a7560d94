//! MCP over a pipe: one client, on a data directory that others may serve at the same time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rmcp::service::RoleServer;
use rmcp::transport::async_rw::AsyncRwTransport;
use signoff_core::Actor;
use signoff_runtime::Engine;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::speaker::Speaker;
use crate::access::{Access, Caller, Users};
use crate::app::{App, Keys};
use crate::serve::{ServeError, Settings, schedule};

/// Speaks MCP with whoever started this process.
#[derive(Debug)]
pub struct Stdio {
    whole: App,
    caller: Caller,
    /// Held, so that nobody believes that the server stops.
    _stopping: watch::Sender<bool>,
}

impl Stdio {
    /// On an engine, in somebody's name.
    pub async fn new(engine: Engine, by: Actor, settings: Settings) -> Result<Self, ServeError> {
        let users = Arc::new(Users::read(Arc::clone(engine.store()))?);
        let keys = Keys::of(&**engine.store()).await.map_err(ServeError::Secret)?;
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let access = Access::new(here, &[], users, settings.max_rate);
        let (stopping, watched) = watch::channel(false);
        let whole = App::new(engine, access, keys, settings, watched);
        let caller = Caller { actor: by, ..Caller::local() };
        Ok(Self { whole, caller, _stopping: stopping })
    }

    /// Speaks until the client hangs up. Its questions stay.
    pub async fn run<R, W>(self, read: R, write: W)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let relay = Arc::clone(&self.whole.hub);
        let helpers = [
            tokio::spawn(async move { relay.relay().await }),
            tokio::spawn(Arc::clone(&self.whole.hub).look()),
            tokio::spawn(schedule(self.whole.engine.clone())),
        ];
        let most = self.whole.settings.max_body;
        let transport =
            AsyncRwTransport::<RoleServer, R, W>::new(read, write).with_max_line_length(most);
        let speaker = Speaker::new(self.whole.clone(), Some(self.caller.clone()));
        match rmcp::serve_server(speaker, transport).await {
            Ok(serving) => {
                let _ = serving.waiting().await;
            }
            Err(error) => tracing::info!(%error, "the client left before it had begun"),
        }
        let grace = self.whole.settings.grace;
        let idle = tokio::time::timeout(grace, self.whole.engine.idle()).await;
        if idle.is_err() {
            tracing::warn!("some runs are left under way; their leases end with this process");
        }
        helpers.iter().for_each(JoinHandle::abort);
    }
}
