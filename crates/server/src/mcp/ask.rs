//! Asking people: each question is a run, and a client waits for it in the best way it knows.
//!
//! | the client | how it waits |
//! |---|---|
//! | knows tasks | it gets a task, and looks how that stands |
//! | can ask its own user, who may answer here | it does, while others may answer too: whoever is first has decided |
//! | anything else | the call waits; then it says that the question waits, and `get_answer` waits on |

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ElicitResult,
    InputRequiredResult, ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};
use signoff_core::question::Question;
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{RequestId, RunId, text};
use signoff_runtime::{ASK_HUMAN, REQUEST_APPROVAL};

use super::arguments::{self, AskHuman, GetAnswer, RequestApproval, invalid};
use super::call::Call;
use super::outcome::Outcome;
use super::{elicit, kept, task, wait};
use crate::api::{self, Start, start_run};
use crate::error::{ApiError, Problem};
use crate::extract::from_value;

/// The longest that a form of the client's user is waited for.
const FORM_OPEN: Duration = Duration::from_mins(10);
/// Under this name a client may say which call it is, where the arguments have no key.
const CALL_KEY: &str = "dev.signoff/idempotencyKey";

/// What is asked, and under which key.
struct Wanted {
    workflow: &'static str,
    question: Question,
    key: Option<String>,
}

impl Call {
    /// Asks a question.
    pub(super) async fn ask_human(
        &self,
        params: &CallToolRequestParams,
        arguments: Value,
    ) -> Result<CallToolResponse, ApiError> {
        let mut asked: AskHuman = arguments::read(&arguments)?;
        let key = asked.idempotency_key.take();
        let question = asked.question(vec![self.client()]);
        self.ask(params, arguments, Wanted { workflow: ASK_HUMAN, question, key }).await
    }

    /// Asks for consent.
    pub(super) async fn request_approval(
        &self,
        params: &CallToolRequestParams,
        arguments: Value,
    ) -> Result<CallToolResponse, ApiError> {
        let mut asked: RequestApproval = arguments::read(&arguments)?;
        let key = asked.idempotency_key.take();
        let question = asked.question(vec![self.client()]);
        self.ask(params, arguments, Wanted { workflow: REQUEST_APPROVAL, question, key }).await
    }

    /// The answer to a question, if it comes in time.
    pub(super) async fn get_answer(&self, arguments: &Value) -> Result<CallToolResult, ApiError> {
        let wanted: GetAnswer = arguments::read(arguments)?;
        let most = self.app.settings.mcp.wait;
        let patience = wanted.wait.map_or(most, |wait| wait.to_std().min(most));
        let id = RequestId::new(wanted.request);
        self.wait_for(&id, patience).await
    }

    async fn ask(
        &self,
        params: &CallToolRequestParams,
        arguments: Value,
        wanted: Wanted,
    ) -> Result<CallToolResponse, ApiError> {
        let digest = kept::digest(&params.name, &arguments);
        if let Some(state) = &params.request_state {
            return self.come_back(params, state, &digest).await.map(Into::into);
        }
        // What cannot be asked is told at once, and not by a run that fails.
        wanted.question.to_request().map_err(|problem| invalid(&problem))?;
        let run = self.start(wanted).await?;
        let request = wait::asked(&self.app, &run.request(1)).await?;
        if request.status != RequestStatus::Pending {
            return result(&request).map(Into::into);
        }
        if self.knows_tasks() {
            let task = task::begun(&self.app, &request).await?;
            return Ok(CallToolResponse::Task(task));
        }
        if !self.may_elicit(&request) {
            let patience = self.app.settings.mcp.wait;
            return self.wait_for(&request.id, patience).await.map(Into::into);
        }
        if self.asks_by_result() {
            let now = self.app.engine.clock().now();
            let state = kept::seal(&self.app.mcp, &self.caller, &run, digest, now);
            if let (Some(inputs), Some(state)) = (elicit::inputs(&request), state) {
                let asked = InputRequiredResult::new(Some(inputs), Some(state));
                return Ok(CallToolResponse::InputRequired(asked));
            }
        }
        self.ask_user_too(&request).await.map(Into::into)
    }

    /// Starts the run that asks; or finds it, if the same was asked under the same key before.
    async fn start(&self, wanted: Wanted) -> Result<RunId, ApiError> {
        let told = self.context.meta.get(CALL_KEY).and_then(Value::as_str).map(str::to_owned);
        let key = wanted.key.or(told).map(|key| {
            api::key(&key)?;
            let of = json!([self.caller.actor, wanted.workflow, key]);
            Ok::<_, ApiError>(format!("mcp:{}", text::digest(&of.to_string(), 64)))
        });
        let start: Start = from_value(json!({
            "workflow": wanted.workflow,
            "input": wanted.question,
            "idempotency_key": key.transpose()?,
        }))?;
        let (run, _) = start_run(&self.app, self.caller.clone(), start).await?;
        Ok(run)
    }

    /// Waits, and tells the client that it does. If the client is gone or gives up, the question stays.
    pub(super) async fn wait_for(
        &self,
        id: &RequestId,
        patience: Duration,
    ) -> Result<CallToolResult, ApiError> {
        let settled = tokio::select! {
            settled = wait::settled(&self.app, id, patience) => settled?,
            () = self.context.ct.cancelled() => wait::settled(&self.app, id, Duration::ZERO).await?,
            () = self.report_progress(id.as_str()) => return Err(ApiError::internal(&"progress ended")),
        };
        result(&settled)
    }

    /// Puts the question to the client's user as well. Whoever answers first has decided.
    async fn ask_user_too(&self, request: &Request) -> Result<CallToolResult, ApiError> {
        let patience = self.app.settings.mcp.wait;
        let Some(form) = elicit::form(request) else {
            return self.wait_for(&request.id, patience).await;
        };
        let asked = ServerRequest::ElicitRequest(rmcp::model::ElicitRequest::new(form));
        let options = PeerRequestOptions::no_options();
        let Ok(mut open) = self.context.peer.send_cancellable_request(asked, options).await else {
            return self.wait_for(&request.id, patience).await;
        };
        let said = tokio::select! {
            said = &mut open.rx => said.ok().and_then(Result::ok),
            settled = self.wait_for(&request.id, FORM_OPEN) => {
                let reason = "somebody else has answered, or nobody did for too long";
                let _ = open.cancel(Some(reason.to_owned())).await;
                return settled;
            }
        };
        if let Some(ClientResult::ElicitResult(said)) = said {
            self.take(request, said).await?;
        }
        self.wait_for(&request.id, patience).await
    }

    /// Goes on with a question that the client has put to its user.
    async fn come_back(
        &self,
        params: &CallToolRequestParams,
        state: &str,
        digest: &str,
    ) -> Result<CallToolResult, ApiError> {
        let now = self.app.engine.clock().now();
        let run = kept::open(&self.app.mcp, &self.caller, state, digest, now).ok_or_else(|| {
            let message = "`requestState` is not one that this caller was given for this call";
            ApiError::new(Problem::InvalidBody, message)
                .hint("the question still waits: list_requests has its id, get_answer its answer")
        })?;
        let request = wait::asked(&self.app, &run.request(1)).await?;
        if let Some(said) = elicit::said(params.input_responses.as_ref()) {
            self.answered(&request, said).await?;
        }
        self.wait_for(&request.id, self.app.settings.mcp.wait).await
    }

    /// Takes what the client's user said, if the question still waits.
    pub(super) async fn answered(
        &self,
        request: &Request,
        said: ElicitResult,
    ) -> Result<(), ApiError> {
        match request.status {
            RequestStatus::Pending => self.take(request, said).await,
            _ => Ok(()),
        }
    }
}

/// A request as the result of a call.
pub(super) fn result(request: &Request) -> Result<CallToolResult, ApiError> {
    Ok(CallToolResult::structured(Outcome::of(request).to_value()?))
}
