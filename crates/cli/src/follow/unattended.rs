//! What is done where nobody can be asked.

use futures_util::FutureExt as _;
use signoff_core::decision::Then;
use signoff_core::{Actor, Decision, DecisionKind, Request, RunStatus};
use signoff_runtime::EngineError;

use super::Follow;
use crate::failure::{Exit, Result};

const FAIL_REASON: &str = "a person was needed and there was none to ask (--no-prompt fail)";
const DENY_REASON: &str = "denied without asking (--no-prompt deny)";

impl Follow {
    /// Says no: to the request if it takes a no, else to the whole run.
    pub(super) async fn deny(&mut self, request: &Request) -> Result<()> {
        let reason = Some(DENY_REASON.to_owned());
        let allowed = &request.body.allowed;
        if allowed.contains(&DecisionKind::Reject) {
            self.decide(request, Decision::reject(reason, Then::Continue)).await
        } else if allowed.contains(&DecisionKind::Abort) {
            self.decide(request, Decision::Abort { reason }).await
        } else {
            self.stop(DENY_REASON).await
        }
    }

    /// Stops the run as failed.
    pub(super) async fn fail(&mut self) -> Result<()> {
        self.failing = true;
        self.stop(FAIL_REASON).await
    }

    async fn stop(&mut self, reason: &str) -> Result<()> {
        self.stopping = true;
        match self.engine.cancel(&self.run, Actor::local(), Some(reason.to_owned())).await {
            Ok(()) | Err(EngineError::Over(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Leaves the run waiting, once nothing else in it can move.
    pub(super) fn queue(&mut self, pending: &[Request]) -> Result<Option<Exit>> {
        let driven = self.engine.idle().now_or_never().is_none();
        let moves = self.tail.tree()?.iter().any(|run| run.status == RunStatus::Running);
        if driven || moves {
            return Ok(None);
        }
        self.screen.hide();
        self.waiting(pending).map(Some)
    }
}
