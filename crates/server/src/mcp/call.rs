//! One call of a client: who makes it, in whose name, and what that client can do.

use std::time::Duration;

use axum::http::Extensions;
use axum::http::request::Parts;
use rmcp::model::{ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use signoff_core::text;

use crate::access::Caller;
use crate::app::App;

/// How often a client that wants to know is told that we still wait.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// The longest name of a client, in bytes.
const MAX_CLIENT: usize = 64;

/// One call.
pub(super) struct Call {
    pub(super) app: App,
    pub(super) caller: Caller,
    pub(super) context: RequestContext<RoleServer>,
}

impl Call {
    /// The call, if it is known who makes it: `fixed`, or whoever sent the request that it came in.
    pub(super) fn new(
        whole: &App,
        fixed: Option<&Caller>,
        context: RequestContext<RoleServer>,
    ) -> Option<Self> {
        let sent = context.extensions.get::<Parts>();
        let caller = fixed.or_else(|| sent?.extensions.get::<Caller>())?.clone();
        let app = whole.for_tenant(caller.tenant.clone());
        // What comes by a pipe has no address.
        let app = match sent {
            Some(parts) => app.spoken_to_by("mcp", &parts.extensions),
            None => app.spoken_to_by("mcp", &Extensions::new()),
        };
        Some(Self { app, caller, context })
    }

    /// What the client calls itself.
    pub(super) fn client(&self) -> String {
        let told = self.context.client_info().map(|info| text::clean(info.name.trim(), MAX_CLIENT));
        told.filter(|name| !name.is_empty()).unwrap_or_else(|| "an MCP client".to_owned())
    }

    /// Whether server and client ask by results, and no longer by requests of the server.
    pub(super) fn asks_by_result(&self) -> bool {
        let version = self.context.protocol_version();
        version.is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
    }

    /// Whether the client knows tasks.
    pub(super) fn knows_tasks(&self) -> bool {
        self.context.client_capabilities().is_some_and(|it| it.supports_tasks())
    }

    /// Whether the client can show its user a form.
    pub(super) fn can_elicit(&self) -> bool {
        let capability = self.context.client_capabilities().and_then(|it| it.elicitation);
        capability.is_some_and(|it| it.form.is_some() || it.url.is_none())
    }

    /// Whether the client's own user may answer.
    pub(super) fn client_answers(&self) -> bool {
        let said = self.app.settings.mcp.client_answers;
        said.unwrap_or_else(|| self.app.access.is_one_persons())
    }

    /// Tells the client from time to time that we still wait, if it wants to know. Never ends.
    pub(super) async fn report_progress(&self, waits_for: &str) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return std::future::pending().await;
        };
        let mut told = 0.0;
        loop {
            tokio::time::sleep(PROGRESS_EVERY).await;
            told += 1.0;
            let message = format!("{waits_for} waits for a person");
            let progress =
                ProgressNotificationParam::new(token.clone(), told).with_message(message);
            // A client that is gone will not read the answer either; the question stays.
            let _ = self.context.peer.notify_progress(progress).await;
        }
    }
}
