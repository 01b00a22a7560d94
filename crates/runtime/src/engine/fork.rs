//! Forking: a new run from a position in another's journal, with an answer changed.

use signoff_core::journal::{Event, Started as StartedEvent};
use signoff_core::{Actor, Decision, RunId, RunState, RunStatus, Seq};
use signoff_store::{Follows, NewRun};

use super::{DecideRequest, Engine, EngineError, Started, new_id};

/// A fork to make.
#[derive(Clone, Debug)]
pub struct ForkRun {
    /// The run to fork.
    pub run: RunId,
    /// The last entry the new run shares with it. If that entry is a decision, the fork is just
    /// before it, so that it can be decided otherwise.
    pub at: Seq,
    /// A decision for the request that waits there.
    pub decision: Option<Decision>,
    /// Who does it.
    pub by: Actor,
    /// Why.
    pub reason: Option<String>,
}

impl Engine {
    /// Forks a run and drives the new one in the background. Nothing of the old one changes, and no
    /// effect up to the position is performed again.
    pub async fn fork(&self, fork: ForkRun) -> Result<Started, EngineError> {
        let cannot =
            |problem: &str| EngineError::CannotFork { at: fork.at, problem: problem.to_owned() };
        let mut entries = self.store().load(&fork.run, Some(fork.at))?.entries;
        if entries.last().is_none_or(|last| last.seq != fork.at) {
            return Err(cannot("the journal is not that long"));
        }
        while matches!(
            entries.last().map(|entry| &entry.event),
            Some(Event::Decided { .. } | Event::Expired { .. })
        ) {
            entries.pop();
        }
        let at = entries.len() as Seq;
        let Some(Event::Started(started)) = entries.first_mut().map(|entry| &mut entry.event)
        else {
            return Err(cannot("it has no start"));
        };
        let conversation = started.conversation.clone();
        **started = StartedEvent {
            forked_from: Some((fork.run.clone(), at)),
            reason: fork.reason.clone(),
            parent: None,
            by: fork.by.clone(),
            ..(**started).clone()
        };
        let state = RunState::fold(&entries).map_err(|error| cannot(&error.to_string()))?;
        if state.end.is_some() {
            return Err(cannot("the run was over there"));
        }
        let pending: Vec<_> = state.pending().map(|(request, _)| request).collect();
        let decided = match (&fork.decision, pending.as_slice()) {
            (None, _) => None,
            (Some(decision), [request]) => Some((*request, decision.clone())),
            (Some(_), []) => return Err(cannot("no request waits there")),
            (Some(_), _) => {
                return Err(cannot("several requests wait there; fork, then answer them"));
            }
        };
        if let Some((request, decision)) = &decided
            && let Some(waiting) = state.requests.get(request)
        {
            waiting.body.check(decision).map_err(super::DecideError::from)?;
        }
        let run = RunId::from_unique(&new_id());
        let definition = self.definition(&state.started.version).map_err(EngineError::Unable)?;
        let deadline =
            definition.workflow.limits.wall.map(|wall| self.inner.clock.now().plus(wall));
        let created = self
            .inner
            .store
            .create_run(NewRun {
                id: run.clone(),
                entries,
                status: RunStatus::Running,
                deadline,
                claim: decided.is_none().then(|| self.inner.roster.claim()),
                follows: Follows::Anything,
                about: None,
            })
            .await?;
        match decided {
            Some((request, decision)) => {
                let decide = DecideRequest::new(run.request(request), decision).by(fork.by);
                self.decide(decide).await?;
            }
            None => {
                if let Some(lease) = created.and_then(|created| created.lease) {
                    self.inner.spawn(lease);
                }
            }
        }
        Ok(Started { run, conversation, created: true })
    }
}
