//! Starting workflows, and looking at runs and requests.

use rmcp::model::CallToolResult;
use serde::Serialize;
use serde_json::{Value, json};
use signoff_core::{RequestId, RunId};
use signoff_store::{RequestFilter, RunFilter};

use super::arguments::{
    self, GetRequest, GetRun, ListRequests, ListRuns, Nothing, StartWorkflow, invalid,
};
use super::call::Call;
use crate::api::{Start, requests, runs, start_run};
use crate::error::ApiError;
use crate::extract::from_value;
use crate::shape::{self, List, WorkflowSummary};

/// How many items a page has, if nothing is said: a model reads them all.
const PAGE: usize = 20;
/// The most items a page has.
const MAX_PAGE: usize = 100;

impl Call {
    pub(super) async fn start_workflow(&self, given: &Value) -> Result<CallToolResult, ApiError> {
        let wanted: StartWorkflow = arguments::read(given)?;
        let start: Start = from_value(json!({
            "workflow": wanted.workflow,
            "input": wanted.input,
            "conversation": wanted.conversation,
            "idempotency_key": wanted.idempotency_key,
        }))?;
        let (run, _) = start_run(&self.app, self.caller.clone(), start).await?;
        self.run(run).await
    }

    pub(super) async fn get_run(&self, given: &Value) -> Result<CallToolResult, ApiError> {
        let wanted: GetRun = arguments::read(given)?;
        self.run(RunId::new(wanted.run)).await
    }

    async fn run(&self, id: RunId) -> Result<CallToolResult, ApiError> {
        shown(&self.app.read(move |engine| shape::run(engine, &id)).await?)
    }

    pub(super) async fn get_request(&self, given: &Value) -> Result<CallToolResult, ApiError> {
        let wanted: GetRequest = arguments::read(given)?;
        shown(&self.request(RequestId::new(wanted.request)).await?)
    }

    /// A request as clients see it.
    pub(super) async fn request(&self, id: RequestId) -> Result<Value, ApiError> {
        let found = self.app.read(move |engine| {
            let found = engine.store().request(&id)?;
            found.ok_or_else(|| ApiError::unknown_request(id.as_str()))
        });
        Ok(shape::request(&found.await?))
    }

    pub(super) async fn list_runs(&self, given: &Value) -> Result<CallToolResult, ApiError> {
        let wanted: ListRuns = arguments::read(given)?;
        let filter = RunFilter {
            status: wanted.status,
            workflow: wanted.workflow.map(Into::into),
            ..RunFilter::default()
        };
        let limit = Some(page(wanted.limit)?);
        shown(&runs(&self.app, filter, limit, wanted.cursor).await?)
    }

    pub(super) async fn list_requests(&self, given: &Value) -> Result<CallToolResult, ApiError> {
        let wanted: ListRequests = arguments::read(given)?;
        let filter = RequestFilter {
            status: wanted.status,
            kind: wanted.kind,
            root: wanted.run.as_deref().map(Into::into),
            ..RequestFilter::default()
        };
        let limit = Some(page(wanted.limit)?);
        shown(&requests(&self.app, filter, limit, wanted.cursor).await?)
    }

    pub(super) fn list_workflows(&self, given: &Value) -> Result<CallToolResult, ApiError> {
        let _: Nothing = arguments::read(given)?;
        let data: Vec<WorkflowSummary> =
            self.app.engine.workflows().map(|it| WorkflowSummary::from(&**it)).collect();
        shown(&List { data, next_cursor: None })
    }
}

fn page(limit: Option<usize>) -> Result<usize, ApiError> {
    match limit.unwrap_or(PAGE) {
        limit @ 1..=MAX_PAGE => Ok(limit),
        _ => Err(invalid(&format!("`limit` is a number from 1 to {MAX_PAGE}"))),
    }
}

fn shown(value: &impl Serialize) -> Result<CallToolResult, ApiError> {
    let value = serde_json::to_value(value).map_err(|error| ApiError::internal(&error))?;
    Ok(CallToolResult::structured(value))
}
