//! What a client talks to.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, GetTaskParams,
    GetTaskResult, Implementation, ListResourceTemplatesResult, ListToolsResult,
    PaginatedRequestParams, PingRequest, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, ServerRequest, Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};

use super::call::Call;
use super::resources;
use super::tools::{INSTRUCTIONS, TOOLS};
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;

/// Speaks MCP, for one connection or one request.
#[derive(Clone, Debug)]
pub(super) struct Speaker {
    whole: App,
    /// Who it always is; otherwise whoever sent the request.
    fixed: Option<Caller>,
}

impl Speaker {
    pub(super) fn new(whole: App, fixed: Option<Caller>) -> Self {
        Self { whole, fixed }
    }

    fn call(&self, context: RequestContext<RoleServer>) -> Result<Call, ErrorData> {
        Call::new(&self.whole, self.fixed.as_ref(), context)
            .ok_or_else(|| ErrorData::internal_error("a call came by no known way", None))
    }
}

impl ServerHandler for Speaker {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_tasks().build();
        let about = Implementation::new("signoff", env!("CARGO_PKG_VERSION"))
            .with_title("Signoff")
            .with_description("Asks people, and waits for as long as they need.");
        ServerConfig::new(capabilities).with_server_info(about).with_instructions(INSTRUCTIONS)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // The first request has the number 0, and many clients take nothing back that has it: a form would stay open
        // that somebody else has answered.
        let first = ServerRequest::PingRequest(PingRequest::default());
        let _ =
            context.peer.send_cancellable_request(first, PeerRequestOptions::no_options()).await;
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.call(context)?;
        let given = Value::Object(params.arguments.clone().unwrap_or_default());
        let done = match &*params.name {
            "ask_human" => Box::pin(call.ask_human(&params, given)).await,
            "request_approval" => Box::pin(call.request_approval(&params, given)).await,
            "get_answer" => call.get_answer(&given).await.map(Into::into),
            "start_workflow" => call.start_workflow(&given).await.map(Into::into),
            "get_run" => call.get_run(&given).await.map(Into::into),
            "list_runs" => call.list_runs(&given).await.map(Into::into),
            "get_request" => call.get_request(&given).await.map(Into::into),
            "list_requests" => call.list_requests(&given).await.map(Into::into),
            "list_workflows" => call.list_workflows(&given).map(Into::into),
            other => {
                let message = format!("there is no tool `{other}`");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        // A model can act on what it is told; an error of the protocol it never sees.
        Ok(done.unwrap_or_else(|error| {
            let (_, fields) = error.into_fields();
            CallToolResult::structured_error(json!({ "error": fields })).into()
        }))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.call(context)?.read(&params.uri).await {
            Ok(Some(found)) => Ok(found.into()),
            Ok(None) => {
                let details = json!({ "uri": params.uri });
                Err(ErrorData::resource_not_found("there is no such resource", Some(details)))
            }
            Err(error) => Err(fault(error)),
        }
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.call(context)?.get_task(&params.task_id).await.map_err(fault)?;
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(
        &self,
        params: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.call(context)?;
        call.update_task(&params.task_id, &params.input_responses).await.map_err(fault)
    }

    async fn cancel_task(
        &self,
        params: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.call(context)?.cancel_task(&params.task_id).await.map_err(fault)
    }
}

/// An error of ours as one of the protocol.
fn fault(error: ApiError) -> ErrorData {
    let (status, fields) = error.into_fields();
    let message = fields["message"].as_str().unwrap_or_default().to_owned();
    if status.is_client_error() {
        ErrorData::invalid_params(message, Some(fields))
    } else {
        ErrorData::internal_error(message, Some(fields))
    }
}
