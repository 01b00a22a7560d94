//! A task, as the journal of its run says it stands. The only place that knows how one becomes the other.
//!
//! | in the journal | told |
//! |---|---|
//! | the start | the task: `SUBMITTED`, with the message that asked for it |
//! | the first message to an executor | `WORKING` |
//! | a question | `INPUT_REQUIRED`, or `AUTH_REQUIRED` if others are to decide, with all that waits |
//! | an answer, an expiry, a withdrawal | what still waits; else `WORKING` |
//! | an output | its artifacts |
//! | a pause | `WORKING`, and who paused it |
//! | the end | `COMPLETED`, `REJECTED`, `FAILED` or `CANCELED` |
//!
//! What is told depends on the entries and on who looks, and on nothing else: so it is the same live, later, after a
//! restart, and for everybody with the same rights. Questions of runs that are part of this one stand in other
//! journals; they are brought in from the inbox, by [`Fold::part`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use signoff_a2a::wire::{
    Artifact, ArtifactUpdate, Event, Message, Part, Role, StatusUpdate, Task, TaskState, TaskStatus,
};
use signoff_core::decision::Then;
use signoff_core::journal::{Entry, Event as Journaled, Started};
use signoff_core::request::RequestStatus;
use signoff_core::state::{JournalError, RunEnd};
use signoff_core::{
    Actor, Decision, Name, Request, RequestBody, RequestId, RequestNo, RunId, RunState, Sent, Seq,
    Timestamp,
};

use super::{output, question};
use crate::access::Caller;

/// Who looks at a task.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    pub(crate) actor: Actor,
    pub(crate) roles: Arc<[Name]>,
}

impl From<&Caller> for Viewer {
    fn from(caller: &Caller) -> Self {
        Self { actor: caller.actor.clone(), roles: Arc::clone(&caller.roles) }
    }
}

impl Viewer {
    /// Whether this one may decide a request.
    pub(crate) fn may_decide(&self, body: &RequestBody) -> bool {
        body.admit(&self.actor, &self.roles).is_ok()
    }
}

/// A task on its way through a journal.
#[derive(Debug)]
pub(crate) struct Fold {
    run: RunId,
    viewer: Viewer,
    state: Option<RunState>,
    task: Task,
    /// What runs that are part of it ask; nothing, once that is answered.
    parts: BTreeMap<RequestId, Option<RequestBody>>,
    /// The own requests that were decided.
    decided: BTreeSet<RequestNo>,
    has_parts: bool,
    has_asked: bool,
    outputs: usize,
    last_words: Option<Vec<Part>>,
    rejected: Option<String>,
    told: Vec<Event>,
}

impl Fold {
    pub(crate) fn new(run: RunId, viewer: Viewer) -> Self {
        Self {
            run,
            viewer,
            state: None,
            task: Task::default(),
            parts: BTreeMap::new(),
            decided: BTreeSet::new(),
            has_parts: false,
            has_asked: false,
            outputs: 0,
            last_words: None,
            rejected: None,
            told: Vec::new(),
        }
    }

    /// The task as it stands.
    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    pub(crate) fn state(&self) -> TaskState {
        self.task.status.state
    }

    /// The last entry that was taken.
    pub(crate) fn seen(&self) -> Seq {
        self.state.as_ref().map_or(0, |state| state.seq)
    }

    /// Whether the journal has the decision on this request.
    pub(crate) fn has_decided(&self, request: RequestNo) -> bool {
        self.decided.contains(&request)
    }

    /// Whether other runs are part of it.
    pub(crate) fn has_parts(&self) -> bool {
        self.has_parts
    }

    /// What it said instead of making anything, if it never asked and is done.
    pub(crate) fn bare_message(&self) -> Option<&Message> {
        let plain = self.state() == TaskState::Completed
            && !self.has_asked
            && self.last_words.is_some()
            && self.task.artifacts.is_empty();
        self.task.status.message.as_ref().filter(|_| plain)
    }

    /// Takes the next entry. What there is to tell of it.
    pub(crate) fn take(&mut self, entry: &Entry) -> Result<Vec<Event>, JournalError> {
        match &mut self.state {
            None => self.state = Some(RunState::begin(entry)?),
            Some(state) => state.apply(entry)?,
        }
        let (seq, at) = (entry.seq, entry.at);
        match &entry.event {
            Journaled::Started(started) => self.started(started, at),
            Journaled::Delivered(_) if self.state() == TaskState::Submitted => {
                self.status(TaskState::Working, None, at);
            }
            Journaled::ChildStarted { .. } => self.has_parts = true,
            Journaled::Asked { .. } => {
                self.has_asked = true;
                self.waits(&seq, at);
            }
            Journaled::Decided { request, decision, by, sent } => {
                if let Decision::Reject { reason, then: Then::Stop, .. } = decision {
                    let why = reason.clone().unwrap_or_else(|| format!("{by} said no"));
                    self.rejected = Some(why);
                }
                self.decided.insert(*request);
                self.waits(&seq, at);
                let said = self.answer(&seq, decision, by, sent.as_deref());
                self.heard(said);
            }
            Journaled::Expired { .. } | Journaled::Withdrawn { .. } | Journaled::Resumed { .. } => {
                self.waits(&seq, at);
            }
            Journaled::Paused { by, reason } => {
                let why = reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let said = self.says(&seq, vec![Part::text(format!("paused by {by}{why}"))]);
                self.status(TaskState::Working, Some(said), at);
            }
            _ => {}
        }
        self.gave();
        self.ended(seq, at);
        Ok(std::mem::take(&mut self.told))
    }

    /// Takes notice of how a request of a part stands. What there is to tell of it.
    pub(crate) fn part(&mut self, request: &Request) -> Vec<Event> {
        if self.state().is_terminal() || self.state.is_none() {
            return Vec::new();
        }
        let open = request.status == RequestStatus::Pending;
        match self.parts.get(&request.id) {
            Some(None) => return Vec::new(),
            Some(Some(_)) if open => return Vec::new(),
            Some(Some(_)) => {}
            None => {
                // Nobody was told of what is over and had no answer.
                if !open && request.decision.is_none() {
                    return Vec::new();
                }
                self.has_asked = true;
                self.parts.insert(request.id.clone(), Some(request.body.clone()));
                self.waits(&request.id, request.created_at);
            }
        }
        if !open {
            self.parts.insert(request.id.clone(), None);
            let at = request.decision.as_ref().map_or(request.created_at, |taken| taken.at);
            self.waits(&request.id, at);
            if let Some(taken) = &request.decision {
                let said =
                    self.answer(&request.id, &taken.decision, &taken.by, taken.sent.as_deref());
                self.heard(said);
            }
        }
        std::mem::take(&mut self.told)
    }

    fn started(&mut self, started: &Started, at: Timestamp) {
        let asked = match &started.sent {
            Some(sent) => Self::sent(sent),
            None => Message {
                message_id: self.message_id(&1),
                parts: vec![match &started.input {
                    serde_json::Value::String(text) => Part::text(text.as_str()),
                    other => Part::data(other.clone()),
                }],
                ..Message::default()
            },
        };
        self.task = Task {
            id: self.run.to_string(),
            context_id: Some(started.conversation.to_string()),
            status: TaskStatus {
                state: TaskState::Submitted,
                message: None,
                timestamp: Some(at.rfc3339()),
            },
            ..Task::default()
        };
        let asked = self.placed(Message { role: Role::User, ..asked });
        self.task.history.push(asked);
        self.told.push(Event::Task(Box::new(self.task.clone())));
    }

    /// Tells what waits now, or that nothing does.
    fn waits(&mut self, place: &dyn std::fmt::Display, at: Timestamp) {
        let own: Vec<(RequestId, Arc<RequestBody>)> = match &self.state {
            Some(state) if state.end.is_none() => {
                let pending = state.pending();
                pending.map(|(no, it)| (self.run.request(no), Arc::clone(&it.body))).collect()
            }
            _ => Vec::new(),
        };
        let own = own.iter().map(|(id, body)| (id, &**body));
        let parts = self.parts.iter().filter_map(|(id, body)| Some((id, body.as_ref()?)));
        let pending: Vec<(&RequestId, &RequestBody)> = own.chain(parts).collect();
        if pending.is_empty() {
            return self.status(TaskState::Working, None, at);
        }
        let asked = pending.iter().any(|(_, body)| self.viewer.may_decide(body));
        let state = if asked { TaskState::InputRequired } else { TaskState::AuthRequired };
        let id = self.message_id(place);
        let asks = self.placed(question::message(id, pending.into_iter()));
        self.status(state, Some(asks), at);
    }

    /// Tells what the run has given since it was last looked.
    fn gave(&mut self) {
        let Some(state) = &self.state else { return };
        let new: Vec<_> = state.outputs.iter().skip(self.outputs).cloned().collect();
        for value in new {
            self.outputs += 1;
            let given = output::given(self.outputs, &value);
            given.artifacts.into_iter().for_each(|pieces| self.artifact(pieces));
            self.last_words = given.message.or(self.last_words.take());
            self.rejected = given.rejected.or(self.rejected.take());
        }
    }

    fn artifact(&mut self, pieces: Vec<Artifact>) {
        let last = pieces.len().saturating_sub(1);
        for (n, artifact) in pieces.into_iter().enumerate() {
            self.tell(Event::Artifact(ArtifactUpdate {
                task_id: self.task.id.clone(),
                context_id: self.context(),
                artifact,
                append: n > 0,
                last_chunk: n == last,
            }));
        }
    }

    /// Tells the end, if this entry was it.
    fn ended(&mut self, seq: Seq, at: Timestamp) {
        let Some(end) = self.state.as_ref().and_then(|state| state.end.clone()) else { return };
        let rejected = self.rejected.take().map(|why| vec![Part::text(why)]);
        let (state, parts) = match (end, rejected) {
            (RunEnd::Completed | RunEnd::Cancelled { .. }, Some(why)) => {
                (TaskState::Rejected, Some(why))
            }
            (RunEnd::Completed, None) => (TaskState::Completed, self.last_words.clone()),
            (RunEnd::Failed(error), _) => {
                let hint = error.hint.as_ref().map(|hint| format!(" ({hint})"));
                let text = Part::text(format!("{}{}", error.message, hint.unwrap_or_default()));
                (TaskState::Failed, Some(vec![text, Part::data(json!({ "code": error.code }))]))
            }
            (RunEnd::Cancelled { by, reason }, None) => {
                let why = reason.unwrap_or_else(|| format!("stopped by {by}"));
                (TaskState::Canceled, Some(vec![Part::text(why)]))
            }
        };
        let said = parts.map(|parts| self.says(&seq, parts));
        self.status(state, said, at);
    }

    fn status(&mut self, state: TaskState, message: Option<Message>, at: Timestamp) {
        let status = TaskStatus { state, message, timestamp: Some(at.rfc3339()) };
        let (task_id, context_id) = (self.task.id.clone(), self.context());
        self.tell(Event::Status(StatusUpdate { task_id, context_id, status }));
    }

    fn tell(&mut self, event: Event) {
        self.task.take(&event);
        self.told.push(event);
    }

    /// Puts what a person said among what was said. One message may answer several questions.
    fn heard(&mut self, said: Message) {
        if !self.task.history.contains(&said) {
            self.task.history.push(said);
        }
    }

    fn answer(
        &self,
        place: &dyn std::fmt::Display,
        decision: &Decision,
        by: &Actor,
        sent: Option<&Sent>,
    ) -> Message {
        let said = sent.map_or_else(
            || Message {
                message_id: self.message_id(&format!("{place}.answer")),
                parts: vec![match decision {
                    Decision::Respond { content: serde_json::Value::String(text) } => {
                        Part::text(text.as_str())
                    }
                    other => Part::data(json!(other)),
                }],
                ..Message::default()
            },
            Self::sent,
        );
        let metadata = [("by".to_owned(), by.as_str().into())].into_iter().collect();
        self.placed(Message { role: Role::User, metadata: Some(metadata), ..said })
    }

    /// A message as a client sent it.
    fn sent(sent: &Sent) -> Message {
        let parts = serde_json::from_value(sent.parts.clone()).unwrap_or_default();
        Message { message_id: sent.id.to_string(), parts, ..Message::default() }
    }

    fn says(&self, place: &dyn std::fmt::Display, parts: Vec<Part>) -> Message {
        let message_id = self.message_id(place);
        self.placed(Message { message_id, role: Role::Agent, parts, ..Message::default() })
    }

    fn placed(&self, message: Message) -> Message {
        let (task_id, context_id) = (Some(self.task.id.clone()), self.task.context_id.clone());
        Message { task_id, context_id, ..message }
    }

    fn message_id(&self, place: &dyn std::fmt::Display) -> String {
        format!("msg_{}_{place}", self.run.unique())
    }

    fn context(&self) -> String {
        self.task.context_id.clone().unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
