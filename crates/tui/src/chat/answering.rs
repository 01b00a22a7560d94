//! Questions that wait in the conversation.

use signoff_client::{Asked, ClientError, Note, Noted};
use signoff_core::request::{RequestBody, RequestStatus};
use signoff_core::{ConversationId, Request, RequestId, RunId, Tenant};

use super::{Chat, Effect, Focus, Phase, Waiting};
use crate::Spoken;
use crate::form::Form;
use crate::mark::Mark;
use crate::text::{fit, line};
use crate::transcript::Item;
use crate::words::decision;

impl Chat {
    /// Takes what a run asks now.
    pub(super) fn take_pending(&mut self, run: &RunId, pending: Vec<Noted>) -> Vec<Effect> {
        if self.run.as_ref() != Some(run) {
            return Vec::new();
        }
        let there = |id: &RequestId| {
            pending
                .iter()
                .any(|it| it.request.id == *id && it.request.status == RequestStatus::Pending)
        };
        self.waiting.retain(|waiting| there(&waiting.request.id));
        let mut effects = Vec::new();
        for Noted { request, notes } in pending {
            if let Some(known) = self.waiting.iter_mut().find(|it| it.request.id == request.id) {
                // Others may have voted, claimed it or said something; what is typed stays.
                (known.request, known.notes) = (request, notes);
            } else if request.status == RequestStatus::Pending && !self.over.contains(&request.id) {
                effects.extend(self.asked(request, notes, Vec::new()));
            }
        }
        if self.waiting.is_empty() {
            self.nothing_waits();
        } else if self.phase != Phase::Continuing || self.waiting.iter().any(|it| !it.sent) {
            self.turn_to(Phase::Awaiting);
        }
        effects
    }

    /// A question has come.
    fn asked(&mut self, request: Request, notes: Vec<Note>, said: Vec<Spoken>) -> Vec<Effect> {
        let question = fit(&line(&request.body.prompt), 120);
        let form = Form::new(&request.body);
        self.waiting.push_back(Waiting { request, form, notes, said, sent: false });
        self.turn_to(Phase::Awaiting);
        if self.waiting.len() == 1 {
            self.hidden = false;
            self.panel_scrolled = None;
            // Whoever is typing is not interrupted.
            if self.editor.is_empty() && self.focus == Focus::Composer {
                self.focus = Focus::Panel;
                self.came_at = Some(self.now);
            } else if self.focus == Focus::Composer {
                self.say("a question has come; Tab goes to it, what you typed stays", false);
            }
        }
        if self.looked_at || !self.settings().bell {
            Vec::new()
        } else {
            vec![Effect::Bell(question)]
        }
    }

    pub(super) fn nothing_waits(&mut self) {
        if self.focus == Focus::Panel {
            self.focus = Focus::Composer;
        }
        if self.phase == Phase::Awaiting {
            self.turn_to(Phase::Continuing);
        }
    }

    /// A question is over, by whoever it was; `how` says it in words.
    pub(super) fn answered(&mut self, id: &RequestId, how: String) {
        self.over.insert(id.clone());
        let here = self.waiting.iter().find(|it| it.request.id == *id);
        if here.is_some_and(|it| !it.sent) {
            self.say(how, true);
        }
        self.waiting.retain(|waiting| waiting.request.id != *id);
        if self.waiting.is_empty() {
            self.nothing_waits();
            if matches!(self.phase, Phase::Awaiting | Phase::Continuing) {
                self.turn_to(Phase::Continuing);
            }
        }
    }

    /// What came of an answer.
    pub(super) fn took_answer(
        &mut self,
        id: &RequestId,
        result: Result<Box<Request>, ClientError>,
    ) -> Vec<Effect> {
        match result {
            Ok(request) if request.status == RequestStatus::Pending => {
                if let Some(waiting) = self.waiting.iter_mut().find(|it| it.request.id == *id) {
                    waiting.sent = false;
                    waiting.form.refuse("it counts; others must agree");
                }
                self.turn_to(Phase::Awaiting);
            }
            Ok(request) => {
                self.over.insert(id.clone());
                self.waiting.retain(|waiting| waiting.request.id != *id);
                if self.waiting.is_empty() {
                    self.focus =
                        if self.focus == Focus::Panel { Focus::Composer } else { self.focus };
                } else {
                    self.turn_to(Phase::Awaiting);
                    self.came_at = Some(self.now);
                }
                // A journal tells what was answered; an endpoint does not.
                if self.plain
                    && let Some(taken) = &request.decision
                {
                    let text = line(&decision(&taken.decision));
                    self.transcript.add(Item::Answer { by: "you".to_owned(), text });
                }
            }
            Err(error) => {
                let late = matches!(error.code(), "already_decided" | "expired" | "cancelled");
                let text =
                    if late { format!("too late: {error}") } else { format!("not sent: {error}") };
                if let Some(waiting) = self.waiting.iter_mut().find(|it| it.request.id == *id) {
                    waiting.sent = false;
                    waiting.form.refuse(&text);
                }
                self.turn_to(Phase::Awaiting);
                self.say(text, true);
                if late && let Some(run) = self.run.clone() {
                    return vec![Effect::Pending(run)];
                }
            }
        }
        Vec::new()
    }

    /// A plain endpoint asks: it is a workflow's.
    pub(super) fn asked_plainly(&mut self, asked: &Asked) -> Vec<Effect> {
        if !std::mem::replace(&mut self.workflow_mode, true) {
            self.transcript.add(Item::Note(
                "a workflow is behind this endpoint; answers go to its questions from now on"
                    .to_owned(),
            ));
        }
        let said = asked.recent.iter();
        let said = said.map(|(by, text)| Spoken { by: line(by), text: line(text) }).collect();
        let mut body = RequestBody::input(asked.prompt.clone());
        if !asked.source.is_empty() {
            body.agent_path = vec![asked.source.as_str().into()];
        }
        let workflow = self.workflow.clone().unwrap_or_default();
        let request = Request {
            id: RequestId::new(&*asked.id),
            version: 1,
            status: RequestStatus::Pending,
            run: RunId::new(""),
            root: RunId::new(""),
            workflow: workflow.into(),
            conversation: ConversationId::new(""),
            tenant: Tenant::local(),
            assignee: None,
            body,
            created_at: self.now,
            decision: None,
            withdrawn: None,
            deferred_until: None,
        };
        if self.waiting.iter().any(|waiting| waiting.request.id == request.id) {
            return Vec::new();
        }
        self.asked(request, Vec::new(), said)
    }

    /// What came of something that was done to a question and decides nothing.
    pub(super) fn marked(
        &mut self,
        mark: &Mark,
        result: Result<Box<Request>, ClientError>,
    ) -> Vec<Effect> {
        match result {
            Ok(request) => {
                self.say(mark.done(), false);
                if request.deferred_until.is_some_and(|at| at > self.now) {
                    self.hidden = true;
                    self.focus = Focus::Composer;
                }
            }
            Err(error) => self.say(error.to_string(), true),
        }
        // What was noted on it is read anew.
        self.run.clone().map(Effect::Pending).into_iter().collect()
    }

    /// Shows the question in front and goes to it.
    pub(super) fn show_panel(&mut self) {
        if !self.waiting.is_empty() {
            self.hidden = false;
            self.focus = Focus::Panel;
            self.came_at = None;
        }
    }
}
