//! What an executor is to the engine: async code over a [`Context`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use signoff_core::graph::ExecutorKind;
use signoff_core::journal::{ErrorInfo, Payload};
use signoff_core::request::{Choice, RequestBody};
use signoff_core::state::Answer;
use signoff_core::{Decision, RequestKind, Unanswered};

use crate::context::Context;

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Handles one message. It may be started again from the top after a pause or a crash; what it did
/// through its context is then answered from the journal, so it must do everything that matters
/// through it, and in an order that depends on nothing else.
pub trait Executor: Send + Sync {
    /// Handles `message`. What it gives goes along the edges of the graph, or to whoever called it.
    fn run(
        &self,
        ctx: Context,
        message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>>;
}

/// An async function as an executor.
pub(crate) struct Function<F>(pub(crate) F);

impl<F, Fut> Executor for Function<F>
where
    F: Fn(Context, Arc<Value>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Value, ErrorInfo>> + Send + 'static,
{
    fn run(
        &self,
        ctx: Context,
        message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let done = (self.0)(ctx, message);
        Box::pin(async move { done.await.map(Payload::value) })
    }
}

/// The executors a workflow file can list that are neither agents nor functions.
pub(crate) struct Listed(pub(crate) ExecutorKind);

impl Executor for Listed {
    fn run(
        &self,
        ctx: Context,
        message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let kind = self.0.clone();
        Box::pin(async move {
            match kind {
                ExecutorKind::Transform { expr } => expr
                    .eval(&[("output", &message), ("input", &ctx.input())])
                    .map(Payload::value)
                    .map_err(|problem| ErrorInfo::new("transform", problem)),
                ExecutorKind::Ask { kind, prompt, options, risk, within } => {
                    let mut body = question(kind, prompt, options, &message);
                    body.risk = risk;
                    if let Some(within) = within {
                        body.due(ctx.now("deadline").await?.plus(within), Unanswered::Continue);
                    }
                    Ok(answered(ctx.ask("ask", body).await?))
                }
                ExecutorKind::AskGiven { within, who } => {
                    Ok(answered(ctx.ask_given(&message, within, who).await?))
                }
                ExecutorKind::Workflow { id } => {
                    ctx.workflow("workflow", &id, Value::clone(&message)).await.map(Payload::value)
                }
                ExecutorKind::Agent { .. }
                | ExecutorKind::Coordinator
                | ExecutorKind::Handoff { .. }
                | ExecutorKind::GroupChat { .. }
                | ExecutorKind::Phases
                | ExecutorKind::Function { .. } => {
                    Err(ErrorInfo::new("internal", "this executor is not of the listed kinds"))
                }
            }
        })
    }
}

fn question(
    kind: RequestKind,
    prompt: String,
    options: Vec<String>,
    message: &Arc<Value>,
) -> RequestBody {
    match kind {
        RequestKind::Selection => {
            let choices = options
                .into_iter()
                .map(|option| Choice {
                    value: Value::String(option.clone()),
                    label: option,
                    description: None,
                })
                .collect();
            let mut body = RequestBody::selection(prompt, choices);
            body.context = serde_json::json!({ "message": message });
            body
        }
        RequestKind::Approval => RequestBody::approval(prompt, Value::clone(message)),
        _ => {
            let mut body = RequestBody::input(prompt);
            body.context = serde_json::json!({ "message": message });
            body
        }
    }
}

/// What a question listed in the workflow gives: `{decision, content?, …, by}`.
fn answered(answer: Answer) -> Payload {
    match answer {
        Answer::Decided { decision, by } => {
            let mut value = serde_json::to_value(&decision).unwrap_or_default();
            if let Decision::Respond { content } = &decision {
                value["answer"] = content.clone();
            }
            value["by"] = Value::String(by.to_string());
            Payload::value(value)
        }
        Answer::Expired | Answer::Withdrawn => {
            Payload::value(serde_json::json!({ "decision": "expired" }))
        }
    }
}
