//! What a server says on its own account: questions in the middle of a call, and that its tools changed.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

/// A question in the middle of a call, and where its answer goes. Without an answer the server is told
/// that the question is dropped.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) params: Value,
    pub(crate) answer: oneshot::Sender<Value>,
}

/// Where a session's own words arrive.
#[derive(Debug)]
pub(crate) struct Desk {
    asks: bool,
    /// How often the tools changed.
    changes: watch::Sender<u64>,
    /// The call that is being made, if its questions are taken.
    caller: Mutex<Option<mpsc::Sender<Asked>>>,
}

impl Desk {
    pub(crate) fn new(asks: bool) -> Arc<Self> {
        Arc::new(Self { asks, changes: watch::Sender::new(0), caller: Mutex::new(None) })
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn note_change(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// From now on questions go to the one who holds the other end.
    pub(crate) fn take_questions(&self) -> mpsc::Receiver<Asked> {
        let (sender, receiver) = mpsc::channel(1);
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    async fn ask(&self, params: Value) -> Result<Value, ErrorData> {
        let caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let dropped =
            || ErrorData::internal_error("nobody can be asked now; the call is given up", None);
        let caller = caller.filter(|_| self.asks).ok_or_else(dropped)?;
        let (answer, answered) = oneshot::channel();
        caller.send(Asked { params, answer }).await.map_err(|_| dropped())?;
        answered.await.map_err(|_| dropped())
    }
}

/// The client as `rmcp` sees it.
#[derive(Clone, Debug)]
pub(crate) struct Handler(pub(crate) Arc<Desk>);

impl rmcp::ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = self.0.asks.then(|| {
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default())
        });
        let us = Implementation::new("signoff", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(request).unwrap_or_default();
        let answer = self.0.ask(params).await?;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Questions that are not as the protocol has them may still be understood.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "elicitation/create" {
            let params = request.params.unwrap_or_default();
            return self.0.ask(params).await.map(CustomResult::new);
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    /// We show no folders, and never said so; sampling is refused by `rmcp` itself.
    #[expect(deprecated, reason = "servers of the older protocol still ask")]
    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "roots/list is not supported", None))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.note_change();
    }
}
