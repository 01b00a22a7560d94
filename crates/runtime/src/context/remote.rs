//! Agents elsewhere: what they are told and how their tasks stand is journaled like any effect.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value;
use signoff_core::journal::{EffectKind, ErrorInfo, Outcome, Reply};
use signoff_core::state::EffectState;
use signoff_core::{Part, RunState, text};
use signoff_tools::{RemoteState, RemoteTask};

use super::{Context, Effect};

/// How an agent elsewhere stands, as the journal has it.
pub(crate) enum Standing {
    /// It has answered. The answer is in the journal, where a message can refer to it.
    Answer(Arc<Reply>),
    /// It has a task.
    Task(Box<RemoteTask>),
    /// A person has said what came of it.
    Said(Arc<Value>),
}

impl Context {
    /// Tells an agent elsewhere something, or looks at it, once.
    pub(crate) async fn remote<Fut>(
        &self,
        key: &str,
        effect: Effect,
        perform: impl FnOnce() -> Fut,
    ) -> Result<Standing, ErrorInfo>
    where
        Fut: Future<Output = Result<RemoteTask, ErrorInfo>>,
    {
        let effect = Effect { kind: EffectKind::Remote, ..effect };
        let performed = |_| async {
            match perform().await {
                Ok(RemoteTask { state: RemoteState::Done(text), .. }) => {
                    let parts = vec![Part::Text(text)];
                    Outcome::Reply(Arc::new(Reply { parts, ..Reply::default() }))
                }
                Ok(task) => match serde_json::to_value(&task) {
                    Ok(value) => Outcome::Ok(Arc::new(value)),
                    Err(error) => Outcome::Err(ErrorInfo::new("internal", error.to_string())),
                },
                Err(error) => Outcome::Err(error),
            }
        };
        match self.perform(key, effect, performed).await? {
            Outcome::Reply(reply) => Ok(Standing::Answer(reply)),
            Outcome::Ok(value) => Ok(match as_task(&value) {
                Some(task) => Standing::Task(Box::new(task)),
                None => Standing::Said(value),
            }),
            Outcome::Err(error) => Err(error),
        }
    }

    /// The id of the message that is sent under `key`: the same for every attempt.
    pub(crate) fn message_id(&self, key: &str) -> String {
        text::digest(&self.idempotency_key(key), 32)
    }
}

fn as_task(value: &Value) -> Option<RemoteTask> {
    RemoteTask::deserialize(value).ok()
}

/// The tasks that open activations have elsewhere, as agent and task. One that has ended since may be
/// among them.
pub(crate) fn open_tasks(state: &RunState) -> BTreeSet<(String, String)> {
    let effects = state.open.values().flat_map(|open| open.effects.values());
    let tasks = effects.filter_map(|effect| match effect {
        EffectState::Done(Outcome::Ok(value)) => as_task(value),
        _ => None,
    });
    let open = tasks.filter(|task| !matches!(task.state, RemoteState::Failed(_)));
    open.filter_map(|task| Some((task.remote, task.task?))).collect()
}
