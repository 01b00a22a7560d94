//! What happens in the run that is followed.

use signoff_client::{Run, RunEvent, Said};
use signoff_core::journal::Event;
use signoff_core::{RunId, RunStatus};

use super::{Chat, Effect, Phase};
use crate::text::{fit, line};
use crate::transcript::Item;
use crate::words::decision as words;

impl Chat {
    pub(super) fn started(&mut self, run: &Run) -> Vec<Effect> {
        let id = RunId::new(&*run.id);
        self.run = Some(id.clone());
        self.head = 0;
        self.has_parts = false;
        self.over.clear();
        self.turn_to(Phase::Running);
        self.conversation = Some(run.conversation.clone());
        self.scrolled = None;
        let about = run.input.as_str().map_or_else(|| run.input.to_string(), ToOwned::to_owned);
        let mut effects = vec![Effect::Follow(vec![id], 0)];
        effects.extend(self.keep(&about));
        effects
    }

    pub(super) fn restored(&mut self, conversation: String, runs: &[Run]) -> Vec<Effect> {
        self.restoring = false;
        let Some(last) = runs.last() else {
            self.say("there is nothing in that conversation", true);
            return Vec::new();
        };
        self.conversation = Some(conversation);
        self.run = Some(RunId::new(&*last.id));
        self.turn_to(if last.status.is_over() { Phase::Idle } else { Phase::Running });
        let about = runs
            .first()
            .map(|run| run.input.as_str().map_or_else(|| run.input.to_string(), ToOwned::to_owned));
        let mut effects = vec![
            Effect::Workflow(last.workflow.clone()),
            Effect::Follow(runs.iter().map(|run| RunId::new(&*run.id)).collect(), 0),
        ];
        self.workflow = Some(last.workflow.clone());
        effects.extend(self.keep(&about.unwrap_or_default()));
        effects
    }

    pub(super) fn happened(&mut self, run: &RunId, event: RunEvent) -> Vec<Effect> {
        let current = self.run.as_ref() == Some(run);
        if self.run.is_none() {
            // Something that was on its way when the conversation was let go of.
            return Vec::new();
        }
        match event {
            RunEvent::Entry(entry, request) => {
                self.lost = None;
                self.transcript.read(&entry, &self.me);
                if !current {
                    // An earlier run of the conversation is told again.
                    return Vec::new();
                }
                self.head = entry.seq;
                match &entry.event {
                    Event::Asked { .. } => return vec![Effect::Pending(run.clone())],
                    Event::ChildStarted { .. } => self.has_parts = true,
                    Event::Decided { .. } | Event::Expired { .. } | Event::Withdrawn { .. } => {
                        if let Some(id) = request {
                            self.answered(&id, how(&entry.event));
                        }
                    }
                    event if event.ends_run() => {
                        self.waiting.clear();
                        self.nothing_waits();
                        return vec![Effect::Ended(run.clone())];
                    }
                    _ if self.phase == Phase::Continuing => self.turn_to(Phase::Running),
                    _ => {}
                }
            }
            RunEvent::Delta { agent, text } => {
                self.transcript.delta(&agent, &text);
                if self.phase == Phase::Continuing {
                    self.turn_to(Phase::Running);
                }
            }
            RunEvent::Restart { agent } => self.transcript.restart(&agent),
            RunEvent::Lost { problem } => {
                self.transcript.saying.clear();
                self.lost = Some(line(&problem));
            }
            RunEvent::Back => {
                self.lost = None;
                self.say("the server is there again", false);
                return vec![Effect::Pending(run.clone())];
            }
            RunEvent::Strange(what) => {
                let what = fit(&line(&what), 200);
                self.transcript
                    .add(Item::Problem(format!("the server said something strange: {what}")));
            }
            RunEvent::End => {}
        }
        Vec::new()
    }

    /// How a run ended, which may be an earlier one of the conversation.
    pub(super) fn ended(&mut self, run: &Run) {
        if let (Some(output), RunStatus::Completed) = (&run.output, run.status) {
            self.transcript.output(output);
        }
        if self.run.as_ref().is_some_and(|it| it.as_str() == run.id) && run.status.is_over() {
            self.turn_to(Phase::Idle);
            self.waiting.clear();
            if run.status == RunStatus::Completed {
                self.transcript.add(Item::Note(
                    "done; nothing waits. Say more to go on in this conversation.".to_owned(),
                ));
            }
        }
    }

    /// What a plain endpoint says.
    pub(super) fn said(&mut self, said: Said) -> Vec<Effect> {
        let model = self.workflow.clone().unwrap_or_default();
        match said {
            Said::Text(text) => self.transcript.delta(&model, &text),
            Said::Asked(asked) => return self.asked_plainly(&asked),
            Said::Event(text) => self.transcript.add(Item::Event(line(&text))),
            Said::Failed(why) => {
                self.end_of_turn(&model);
                self.transcript.add(Item::Problem(line(&why)));
                self.turn_to(if self.waiting.is_empty() { Phase::Idle } else { Phase::Awaiting });
            }
            Said::Strange(what) => {
                let what = fit(&line(&what), 200);
                self.transcript
                    .add(Item::Problem(format!("the server said something strange: {what}")));
            }
            Said::End => {
                self.end_of_turn(&model);
                self.turn_to(if self.waiting.is_empty() { Phase::Idle } else { Phase::Awaiting });
            }
        }
        Vec::new()
    }

    fn end_of_turn(&mut self, model: &str) {
        let said: Vec<_> = self.transcript.saying.drain(..).collect();
        for (_, text) in said.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
            self.transcript.add(Item::Agent { agent: model.to_owned(), text });
        }
    }
}

/// How a question came to be over, in words.
fn how(event: &Event) -> String {
    match event {
        Event::Decided { by, decision, .. } => {
            format!("already answered by {}: {}", line(by.as_str()), line(&words(decision)))
        }
        Event::Expired { .. } => "nobody answered in time".to_owned(),
        _ => "the question was taken back".to_owned(),
    }
}
