//! What a step of a plan changes, and how that is undone.
//!
//! Before a call that changes something is made in a step, the tool is asked what it needs to undo it, and that is durable before
//! the call begins: a call that is made again after a crash is undone by what was there before the first attempt. An undo is
//! an effect like any other, and each is done once.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{Applied, EffectKind, ErrorInfo, Event};
use signoff_core::state::CONTROL;
use signoff_core::{ActivationId, Key, Name};
use signoff_tools::Tool;

use super::{Context, Effect};

/// How many calls of a step can be undone.
const MAX_CALLS: usize = 500;
/// How much is kept to undo them, in bytes of JSON.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// What came of undoing a step.
#[derive(Debug, Default)]
pub(crate) struct RolledBack {
    pub(crate) undone: Vec<Value>,
    pub(crate) left: Vec<Value>,
}

impl Context {
    /// Keeps what is needed to undo a call, if it is made in a step of a plan.
    pub(super) async fn applies(
        &self,
        key: &str,
        tool: &Arc<dyn Tool>,
        arguments: &Value,
    ) -> Result<(), ErrorInfo> {
        let room = {
            let inner = self.cell.lock();
            let progress = &inner.state.progress;
            let in_step = progress.phase.as_deref() == Some(CONTROL) && progress.step.is_some();
            let is_this = |it: &Applied| it.activation == self.activation && &*it.key == key;
            if !in_step || progress.applied.iter().any(is_this) {
                return Ok(());
            }
            let kept: usize = progress.applied.iter().map(|it| size(&it.before)).sum();
            let full = progress.applied.len() >= MAX_CALLS;
            if full { 0 } else { MAX_BYTES.saturating_sub(kept) }
        };
        let _busy = self.mark(|link| &mut link.busy);
        // Looking changes nothing; what cannot be looked up cannot be undone, and the call says itself what is wrong.
        let before = tool.before(arguments).await.ok().flatten();
        let before = before.filter(|before| size(before) <= room).unwrap_or_default();
        self.cell.emit(Event::Applied(Box::new(Applied {
            activation: self.activation,
            key: key.into(),
            tool: tool.spec().name.clone(),
            before,
        })));
        self.durable().await
    }

    /// Whether the step the run is at has changed something.
    pub(crate) fn has_applied(&self) -> bool {
        !self.cell.lock().state.progress.applied.is_empty()
    }

    /// Undoes what the step has changed, the last first. What is undone, and what is not and why.
    pub(crate) async fn roll_back(&self, key: &str, step: u32) -> Result<RolledBack, ErrorInfo> {
        let items = self.applied();
        // The list is kept, so that a restart in between goes on with the same one.
        let calls = format!("{key}/calls");
        let listed = self.effect(&calls, Effect::repeatable(), |_| async {
            let listed = items.iter().rev().map(|it| (it.activation, &it.key, &it.tool));
            Ok(json!(listed.collect::<Vec<_>>()))
        });
        let listed: Vec<(ActivationId, Key, Name)> =
            serde_json::from_value(Value::clone(&*listed.await?))
                .map_err(|error| ErrorInfo::new("internal", error.to_string()))?;
        let mut came = RolledBack::default();
        for (n, (activation, call, tool)) in listed.into_iter().enumerate() {
            let is_it = |it: &&Applied| it.activation == activation && it.key == call;
            let before = items.iter().find(is_it).map(|it| it.before.clone()).unwrap_or_default();
            match self.undo(&format!("{key}/undo{n}"), &tool, before).await {
                Ok(what) => came.undone.push(json!({ "tool": tool, "what": *what })),
                Err(error) if self.is_lost() => return Err(error),
                Err(error) => {
                    came.left.push(
                        json!({ "tool": tool, "code": error.code, "message": error.message }),
                    );
                }
            }
        }
        self.rolled_back(step);
        Ok(came)
    }

    async fn undo(&self, key: &str, name: &Name, before: Value) -> Result<Arc<Value>, ErrorInfo> {
        let action = json!({ "undo": name });
        let effect = Effect { kind: EffectKind::Tool, action, ..Effect::repeatable() };
        let tool = self.cell.engine.parts.tools.get(&**name).cloned();
        self.effect(key, effect, |_| async move {
            let cannot = |why: &str| ErrorInfo::new("cannot_undo", why.to_owned());
            if before.is_null() {
                return Err(cannot("nothing is known by which it could be undone"));
            }
            let tool = tool.ok_or_else(|| cannot("the tool is not here any more"))?;
            let limit = tool.timeout();
            match tokio::time::timeout(limit.to_std(), tool.undo(&before)).await {
                Ok(Ok(what)) => Ok(what.into()),
                Ok(Err(error)) => Err(error.0),
                Err(_) => Err(cannot("it took too long")),
            }
        })
        .await
    }

    fn applied(&self) -> Vec<Applied> {
        self.cell.lock().state.progress.applied.clone()
    }

    fn is_lost(&self) -> bool {
        self.cell.lock().lost.is_some()
    }
}

fn size(value: &Value) -> usize {
    if value.is_null() { 0 } else { value.to_string().len() }
}
