//! A policy tried out on what was done before. Nothing is changed.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use signoff_core::journal::{EffectKind, Event, Gated, Outcome as Came};
use signoff_core::policy::{Action, Outcome, Policy, PolicyFile, Reason, Remembered};
use signoff_core::{Name, Part, RunId, Seq};
use signoff_store::{RunFilter, RunRecord, StoreError};

use super::Engine;

/// How many entries are read at once.
const PAGE: usize = 500;
/// How many changes are told.
const MAX_CHANGES: usize = 1000;

/// What a policy would have said.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Trial {
    /// How many runs were looked at.
    pub runs: usize,
    /// How many actions.
    pub actions: usize,
    /// How many people would have been asked about.
    pub ask: usize,
    /// How many would not have been done.
    pub deny: usize,
    /// Those that would have gone otherwise.
    pub changes: Vec<Change>,
}

/// An action that would have gone otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The run.
    pub run: RunId,
    /// The entry that told of it.
    pub seq: Seq,
    /// What was called.
    pub tool: Name,
    /// With what.
    pub arguments: serde_json::Value,
    /// What gates said then.
    pub before: Outcome,
    /// What they would have said.
    pub after: Outcome,
    /// Why.
    pub reasons: Vec<Reason>,
}

impl Engine {
    /// What `file` would have said of what the newest `runs` did, in the operator's place: the workflows' own gates hold
    /// as well.
    pub fn try_policy(&self, file: &PolicyFile, runs: usize) -> Result<Trial, StoreError> {
        let mut trial = Trial::default();
        let Ok(policy) = file.compile() else { return Ok(trial) };
        let policy = Arc::new(policy);
        let mut cursor = None;
        while trial.runs < runs {
            let limit = (runs - trial.runs).min(100);
            let page = self.store.runs(&RunFilter::default(), cursor.as_deref(), limit)?;
            for run in &page.items {
                trial.runs += 1;
                self.try_on(run, &policy, &mut trial)?;
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(trial)
    }

    fn try_on(
        &self,
        run: &RunRecord,
        policy: &Arc<Policy>,
        trial: &mut Trial,
    ) -> Result<(), StoreError> {
        let own = self.inner.definition(&run.version).ok().map(|it| Arc::clone(&it.policy));
        let policies: Vec<Arc<Policy>> = own.into_iter().chain([Arc::clone(policy)]).collect();
        // What was first said of each call; a call that no gate saw was made.
        let mut seen: HashMap<(u32, Name), (Seq, Action, Outcome)> = HashMap::new();
        let mut order = Vec::new();
        let mut after = 0;
        loop {
            let entries = self.store.entries(&run.id, after, PAGE)?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            for entry in entries {
                let found = match &entry.event {
                    Event::Gated(gated) => judged(gated).into_iter().collect(),
                    Event::Effect { activation, key, kind: EffectKind::Model, outcome, .. } => {
                        self.called(run, *activation, key, outcome)
                    }
                    _ => Vec::new(),
                };
                for (place, action, outcome, sure) in found {
                    match seen.get_mut(&place) {
                        // What gates saw says more than what a model wanted.
                        Some(known) if sure && known.2 == Outcome::Allow => {
                            *known = (entry.seq, action, outcome);
                        }
                        Some(_) => {}
                        None => {
                            order.push(place.clone());
                            seen.insert(place, (entry.seq, action, outcome));
                        }
                    }
                }
            }
        }
        for place in order {
            let Some((seq, action, before)) = seen.remove(&place) else { continue };
            trial.actions += 1;
            let said = policies.iter().map(|policy| policy.judge(&action, Remembered::default()));
            let said = said.reduce(signoff_core::policy::Judgement::and).unwrap_or_default();
            trial.ask += usize::from(said.outcome == Outcome::Ask);
            trial.deny += usize::from(said.outcome == Outcome::Deny);
            if said.outcome != before && trial.changes.len() < MAX_CHANGES {
                trial.changes.push(Change {
                    run: run.id.clone(),
                    seq,
                    tool: action.name.clone(),
                    arguments: action.arguments.clone(),
                    before,
                    after: said.outcome,
                    reasons: said.reasons,
                });
            }
        }
        Ok(())
    }

    /// The tool calls of a model's reply, as far as it can be told what they do.
    fn called(
        &self,
        run: &RunRecord,
        activation: u32,
        key: &str,
        outcome: &Came,
    ) -> Vec<((u32, Name), Action, Outcome, bool)> {
        let Came::Reply(reply) = outcome else { return Vec::new() };
        let calls = reply.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        });
        calls
            .filter_map(|call| {
                let tool = self.inner.parts.tools.get(&*call.name)?;
                let action = Action {
                    workflow: run.workflow.clone(),
                    ..Action::tool(call.name.clone(), call.arguments.clone(), tool.spec().effects)
                };
                let place = (activation, format!("{key}/{}", call.id).into());
                Some((place, action, Outcome::Allow, false))
            })
            .collect()
    }
}

fn judged(gated: &Gated) -> Option<((u32, Name), Action, Outcome, bool)> {
    let action = Action::from_json(&gated.action)?;
    Some(((gated.activation, gated.key.clone()), action, gated.outcome, true))
}
