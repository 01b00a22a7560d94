//! Reads one run's journal, and gives a span for everything that ends in it.
//!
//! | span | from | to | under |
//! |---|---|---|---|
//! | `invoke_workflow NAME` | `started` | the end of the run | the activation of the run it is part of |
//! | `invoke_agent NAME`, or the executor's name | where it was opened | `completed`, `failed`, the end of the run | who called it, or the run |
//! | `chat MODEL`, `execute_tool NAME`, `invoke_agent NAME` (elsewhere) | `took` before its end | `effect` | its activation |
//! | `wait_for_person KIND` | `asked` | `decided`, `expired`, `withdrawn`, the end of the run | its activation |
//!
//! It keeps what is open, and of that only names and times.

mod effect;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use signoff_core::journal::{Entry, Event, Started};
use signoff_core::{ActivationId, Key, Name, RequestKind, RequestNo, RunId, Seq, Timestamp};
use signoff_models::ModelIdentity;
use signoff_runtime::AgentProfile;

use crate::id::{self, Place};
use crate::span::{Kind, Span};

/// Knows who takes part.
pub(crate) trait Cast {
    /// The agent behind an executor of the definition of this hash.
    fn agent(&self, version: &str, executor: &str) -> Option<AgentProfile>;
    /// What others call the model of this alias.
    fn model(&self, alias: &str) -> Option<ModelIdentity>;
    /// The run at the top of a run.
    fn root(&self, run: &RunId) -> Option<RunId>;
}

/// An activation that is not over.
#[derive(Debug)]
struct Open {
    executor: Name,
    agent: Option<AgentProfile>,
    began: Timestamp,
    caller: Option<ActivationId>,
    /// The tools its model has called, by the key of the effect.
    calls: BTreeMap<Key, Name>,
}

/// A request that nobody has answered.
#[derive(Debug)]
struct Waiting {
    activation: ActivationId,
    kind: RequestKind,
    asked: Timestamp,
}

/// Reads one run's journal from its beginning.
#[derive(Debug)]
pub(crate) struct SpanReader {
    run: RunId,
    trace: String,
    /// The runs that it goes on from, by trace and span.
    links: Vec<(String, String)>,
    /// The position of the last entry that was read.
    seq: Seq,
    began: Timestamp,
    started: Box<Started>,
    open: BTreeMap<ActivationId, Open>,
    waiting: BTreeMap<RequestNo, Waiting>,
}

impl SpanReader {
    /// A reader that has read the first entry; none, if that is not the beginning of a run.
    pub(crate) fn begin(run: &RunId, first: &Entry, cast: &dyn Cast) -> Option<Self> {
        let Event::Started(started) = &first.event else { return None };
        let mut started = started.clone();
        // What the run was given is not needed, and may be large.
        started.input = serde_json::Value::Null;
        let root = started.parent.as_ref().map_or(run, |parent| &parent.root);
        let forked_from = started.forked_from.as_ref().map(|(run, _)| run);
        let before = started.continues.iter().chain(forked_from).map(|run| {
            let root = cast.root(run).unwrap_or_else(|| run.clone());
            (id::trace(&root), id::span(run, Place::Run))
        });
        Some(Self {
            run: run.clone(),
            trace: id::trace(root),
            links: before.collect(),
            seq: first.seq,
            began: first.at,
            started,
            open: BTreeMap::new(),
            waiting: BTreeMap::new(),
        })
    }

    /// The position of the last entry that was read.
    pub(crate) fn seq(&self) -> Seq {
        self.seq
    }

    /// The next entry, and what ends with it.
    pub(crate) fn read(&mut self, entry: &Entry, cast: &dyn Cast) -> Vec<Span> {
        self.seq = entry.seq;
        match &entry.event {
            Event::Delivered(delivered) => {
                let caller = delivered.caller.as_ref().map(|caller| caller.activation);
                self.open(delivered.activation, &delivered.to, caller, entry.at, cast);
                Vec::new()
            }
            Event::Intent { activation, key, action } => {
                if let (Some(open), Some(tool)) =
                    (self.open.get_mut(activation), action["tool"].as_str())
                {
                    open.calls.entry(key.clone()).or_insert_with(|| tool.into());
                }
                Vec::new()
            }
            Event::Effect { activation, key, kind, outcome, took, .. } => self
                .effect(entry, *activation, key, (*kind, outcome, *took), cast)
                .into_iter()
                .collect(),
            Event::Asked { activation, request, body, .. } => {
                let waiting = Waiting { activation: *activation, kind: body.kind, asked: entry.at };
                self.waiting.insert(*request, waiting);
                Vec::new()
            }
            Event::Decided { request, decision, by, .. } => {
                let span = self.answered(*request, entry.at, decision.kind().as_str());
                span.map(|span| span.text("signoff.decided_by", by.as_str())).into_iter().collect()
            }
            Event::Expired { request } => {
                self.answered(*request, entry.at, "expired").into_iter().collect()
            }
            Event::Withdrawn { request, .. } => {
                self.answered(*request, entry.at, "withdrawn").into_iter().collect()
            }
            Event::Completed(completed) => {
                let span = self.close(completed.activation, entry.at);
                for next in &completed.next {
                    self.open(next.activation, &next.to, None, entry.at, cast);
                }
                span.into_iter().collect()
            }
            Event::Failed { activation, error } => {
                let span = self.close(*activation, entry.at);
                span.map(|span| span.failed(&error.code)).into_iter().collect()
            }
            Event::RunCompleted {} => self.end(entry.at, "completed", None),
            Event::RunFailed { error } => self.end(entry.at, "failed", Some(&error.code)),
            Event::RunCancelled { .. } => self.end(entry.at, "cancelled", None),
            _ => Vec::new(),
        }
    }

    fn open(
        &mut self,
        activation: ActivationId,
        executor: &Name,
        caller: Option<ActivationId>,
        began: Timestamp,
        cast: &dyn Cast,
    ) {
        let agent = cast.agent(&self.started.version, executor);
        let executor = executor.clone();
        let open = Open { executor, agent, began, caller, calls: BTreeMap::new() };
        self.open.insert(activation, open);
    }

    /// A span of this run without anything that tells it from others.
    fn span(&self, place: Place, name: String, start: Timestamp, end: Timestamp) -> Span {
        let span = Span {
            trace: self.trace.clone(),
            id: id::span(&self.run, place),
            parent: None,
            name,
            kind: Kind::Internal,
            start,
            // A clock that was set back must not make it end before it began.
            end: end.max(start),
            attributes: Vec::new(),
            failed: false,
            links: Vec::new(),
        };
        span.text("signoff.run.id", self.run.as_str())
    }

    /// The same below an activation.
    fn below(&self, activation: ActivationId, span: Span) -> Span {
        Span { parent: Some(id::span(&self.run, Place::Activation(activation))), ..span }
    }

    fn close(&mut self, activation: ActivationId, end: Timestamp) -> Option<Span> {
        let open = self.open.remove(&activation)?;
        let parent = open.caller.map_or(Place::Run, Place::Activation);
        let name = match &open.agent {
            Some(agent) => format!("invoke_agent {}", agent.name),
            None => open.executor.to_string(),
        };
        let mut span = self.span(Place::Activation(activation), name, open.began, end);
        span.parent = Some(id::span(&self.run, parent));
        span = span.text("signoff.executor", &open.executor);
        Some(match &open.agent {
            Some(agent) => self.by("invoke_agent", Some(agent), span),
            None => span,
        })
    }

    fn answered(&mut self, request: RequestNo, end: Timestamp, how: &str) -> Option<Span> {
        let waiting = self.waiting.remove(&request)?;
        let name = format!("wait_for_person {}", waiting.kind);
        let span = self.span(Place::Request(request), name, waiting.asked, end);
        let span = self
            .below(waiting.activation, span)
            .text("signoff.request.id", self.run.request(request).as_str())
            .text("signoff.request.kind", waiting.kind.as_str())
            .text("signoff.decision", how);
        Some(span)
    }

    /// The run is over, and with it all that is still open.
    fn end(&mut self, at: Timestamp, status: &str, error: Option<&str>) -> Vec<Span> {
        let requests: Vec<RequestNo> = self.waiting.keys().copied().collect();
        let waits = requests.into_iter().filter_map(|it| self.answered(it, at, "withdrawn"));
        let mut spans: Vec<Span> = waits.collect();
        let open: Vec<ActivationId> = self.open.keys().copied().collect();
        let cut_off = open.into_iter().filter_map(|it| self.close(it, at));
        spans.extend(cut_off.map(|span| span.flag("signoff.cut_off")));
        let name = format!("invoke_workflow {}", self.started.workflow);
        let mut span = self
            .span(Place::Run, name, self.began, at)
            .text("gen_ai.operation.name", "invoke_workflow")
            .text("gen_ai.workflow.name", &self.started.workflow)
            .text("gen_ai.conversation.id", self.started.conversation.as_str())
            .text("signoff.workflow.version", &self.started.version)
            .text("signoff.run.status", status);
        if !self.started.tenant.is_local() {
            span = span.text("signoff.tenant", self.started.tenant.as_str());
        }
        if let Some(parent) = &self.started.parent {
            span.parent = Some(id::span(&parent.run, Place::Activation(parent.activation)));
        }
        span.links.clone_from(&self.links);
        spans.push(match error {
            Some(code) => span.failed(code),
            None => span,
        });
        spans
    }
}
