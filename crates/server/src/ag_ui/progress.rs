//! Who is at work, as steps; parts of the run, as subagents; how far a plan has come, as an activity.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use signoff_core::journal::{Outcome, StepEnd};
use signoff_core::{ActivationId, Name, Request, RunId, RunState};

use super::events::Events;

/// Who is at work, as far as it was told.
#[derive(Debug)]
pub(super) struct Progress {
    run: RunId,
    /// Whether the client knows of subagents.
    modern: bool,
    steps: BTreeMap<ActivationId, String>,
    parts: BTreeMap<RunId, Name>,
    /// The parts that were told.
    told: Vec<RunId>,
    /// What steps of the plan are called.
    titles: BTreeMap<u32, String>,
}

impl Progress {
    pub(super) fn new(run: RunId, modern: bool) -> Self {
        let (steps, parts) = (BTreeMap::new(), BTreeMap::new());
        Self { run, modern, steps, parts, told: Vec::new(), titles: BTreeMap::new() }
    }

    /// Tells who is done and who begins. A name is told once at a time.
    pub(super) fn steps(&mut self, events: &mut Events, state: &RunState) {
        let done: Vec<ActivationId> =
            self.steps.keys().filter(|id| !state.open.contains_key(id)).copied().collect();
        for id in done {
            if let Some(name) = self.steps.remove(&id) {
                events.emit("STEP_FINISHED", json!({ "stepName": name }));
            }
        }
        for (id, activation) in &state.open {
            if self.steps.contains_key(id) {
                continue;
            }
            let plain = activation.executor.to_string();
            let taken = self.steps.values().any(|name| *name == plain);
            let name = if taken { format!("{plain}#{id}") } else { plain };
            events.emit("STEP_STARTED", json!({ "stepName": name }));
            self.steps.insert(*id, name);
        }
    }

    /// A part of the run began.
    pub(super) fn part(
        &mut self,
        events: &mut Events,
        activation: ActivationId,
        key: &str,
        state: &RunState,
    ) {
        let Some(open) = state.open.get(&activation) else { return };
        self.parts.insert(self.run.child(activation, key), open.executor.clone());
        self.show(events);
    }

    /// Tells the parts that are under way.
    pub(super) fn show(&mut self, events: &mut Events) {
        if events.silent || !self.modern {
            return;
        }
        for (part, name) in self.parts.iter().filter(|(part, _)| !self.told.contains(part)) {
            events.emit("SUBAGENT_STARTED", json!({ "subagentRunId": part, "name": name }));
        }
        self.told = self.parts.keys().cloned().collect();
    }

    /// A part of the run ended.
    pub(super) fn part_ended(
        &mut self,
        events: &mut Events,
        activation: ActivationId,
        key: &str,
        outcome: &Outcome,
    ) {
        let part = self.run.child(activation, key);
        self.parts.remove(&part);
        if !self.told.contains(&part) {
            return;
        }
        self.told.retain(|told| *told != part);
        match outcome {
            Outcome::Err(error) => {
                let fields = json!({
                    "subagentRunId": part, "message": error.message, "code": error.code,
                });
                events.emit("SUBAGENT_ERROR", fields);
            }
            Outcome::Ok(value) => {
                let fields = json!({
                    "subagentRunId": part, "result": **value, "outcome": { "type": "success" },
                });
                events.emit("SUBAGENT_FINISHED", fields);
            }
            Outcome::Reply(_) => {
                events.emit("SUBAGENT_FINISHED", json!({ "subagentRunId": part }));
            }
        }
    }

    /// The part of the run that was told and asks this.
    pub(super) fn part_of(&self, request: &Request) -> Option<&RunId> {
        // Ids of parts of parts begin with those of the parts.
        let within = |part: &&RunId| {
            let rest = request.run.as_str().strip_prefix(part.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.told.iter().find(within)
    }

    /// A phase or a step of a plan began.
    pub(super) fn entered(&mut self, step: Option<u32>, title: Option<&str>) {
        if let (Some(step), Some(title)) = (step, title) {
            self.titles.insert(step, title.to_owned());
        }
    }

    /// Tells how far the plan has come.
    pub(super) fn plan(&self, events: &mut Events, state: &RunState) {
        let progress = &state.progress;
        let steps: Vec<Value> = self
            .titles
            .iter()
            .map(|(step, title)| {
                let status = match progress.ended.get(step) {
                    Some(StepEnd::Done) => "done",
                    Some(StepEnd::Skipped) => "skipped",
                    None if progress.step == Some(*step) => "at work",
                    None => "open",
                };
                json!({ "step": step, "title": title, "status": status })
            })
            .collect();
        let id = format!("plan_{}", self.run.unique());
        let content = json!({ "phase": progress.phase, "steps": steps });
        let fields = json!({
            "messageId": id, "activityType": "signoff.plan", "content": content, "replace": true,
        });
        events.emit("ACTIVITY_SNAPSHOT", fields);
    }

    /// The stream ends: nobody is at work for it any more. `asked` is what waits.
    pub(super) fn end(&mut self, events: &mut Events, asked: &[Request]) {
        for part in std::mem::take(&mut self.told) {
            let own = asked.iter().filter(|request| request.run == part);
            let ids: Vec<&str> = own.map(|request| request.id.as_str()).collect();
            let outcome = json!({ "type": "suspended", "interruptIds": ids });
            let fields = json!({ "subagentRunId": part, "outcome": outcome });
            events.emit("SUBAGENT_FINISHED", fields);
        }
        for name in std::mem::take(&mut self.steps).into_values() {
            events.emit("STEP_FINISHED", json!({ "stepName": name }));
        }
    }
}
