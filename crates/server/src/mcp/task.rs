//! Questions as tasks: a task is the run of a question, seen from MCP. It lasts as long as the run does.

use rmcp::model::{
    CreateTaskResult, DetailedTask, InputResponses, JsonObject, Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{RunId, RunStatus};
use signoff_runtime::{ASK_HUMAN, REQUEST_APPROVAL};
use signoff_store::RunRecord;

use super::ask::result;
use super::call::Call;
use super::elicit;
use crate::app::App;
use crate::error::ApiError;

/// How often a client should look, in milliseconds.
const POLL_EVERY: u64 = 2_000;

/// The task of a question that was just asked. The run is durable by now.
pub(super) async fn begun(app: &App, request: &Request) -> Result<CreateTaskResult, ApiError> {
    let (run, _) = found(app, request.run.as_str()).await?;
    Ok(CreateTaskResult::new(task(&run, TaskStatus::Working)))
}

fn task(run: &RunRecord, status: TaskStatus) -> Task {
    let (created, updated) = (run.created_at.rfc3339(), run.updated_at.rfc3339());
    Task::new(run.id.as_str(), status, created, updated)
        .with_poll_interval_ms(POLL_EVERY)
        .with_status_message("a person is asked")
}

/// The run of a question and its request. What is no question is no task.
async fn found(app: &App, id: &str) -> Result<(RunRecord, Option<Request>), ApiError> {
    let run = RunId::new(id);
    app.read(move |engine| {
        let record = engine.store().run(&run)?;
        let question = |it: &RunRecord| [ASK_HUMAN, REQUEST_APPROVAL].contains(&&*it.workflow);
        let record = record.filter(question).ok_or_else(|| ApiError::unknown_run(run.as_str()))?;
        Ok((record, engine.store().request(&run.request(1))?))
    })
    .await
}

impl Call {
    /// How a task stands.
    pub(super) async fn get_task(&self, id: &str) -> Result<DetailedTask, ApiError> {
        let (run, request) = found(&self.app, id).await?;
        let payload = match &request {
            Some(request) if request.status == RequestStatus::Pending => {
                let inputs = self.may_elicit(request).then(|| elicit::inputs(request)).flatten();
                match inputs {
                    Some(input_requests) => TaskPayload::InputRequired { input_requests },
                    None => TaskPayload::Working,
                }
            }
            Some(request) if request.status == RequestStatus::Cancelled => TaskPayload::Cancelled,
            Some(request) => TaskPayload::Completed { result: object(&result(request)?)? },
            None if run.status == RunStatus::Cancelled => TaskPayload::Cancelled,
            None if run.status.is_over() => {
                let error = json!({ "code": -32603, "message": "the question could not be asked" });
                TaskPayload::Failed { error: object(&error)? }
            }
            None => TaskPayload::Working,
        };
        Ok(DetailedTask::new(task(&run, payload.status()), payload))
    }

    /// Takes what the client's user said.
    pub(super) async fn update_task(
        &self,
        id: &str,
        responses: &InputResponses,
    ) -> Result<(), ApiError> {
        self.app.takes_work()?;
        let (_, request) = found(&self.app, id).await?;
        let request = request.ok_or_else(|| ApiError::unknown_request(id))?;
        match elicit::said(Some(responses)) {
            Some(said) => self.answered(&request, said).await,
            None => Ok(()),
        }
    }

    /// Takes the question back. One that is answered stays so.
    pub(super) async fn cancel_task(&self, id: &str) -> Result<(), ApiError> {
        self.app.takes_work()?;
        let (run, _) = found(&self.app, id).await?;
        let reason = format!("taken back by {}", self.client());
        let told = self.app.engine.cancel(&run.id, self.caller.actor.clone(), Some(reason)).await;
        match told {
            Ok(()) | Err(signoff_runtime::EngineError::Over(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn object(value: &impl serde::Serialize) -> Result<JsonObject, ApiError> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(ApiError::internal(&"a result is an object")),
    }
}
