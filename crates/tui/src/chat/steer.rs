//! What is done with the run and with the question in front.

use signoff_core::{Decision, RunId, answer};

use super::{Chat, Effect, Phase};
use crate::mark::Mark;

impl Chat {
    pub(super) fn answer_command(&mut self, text: &str) -> Vec<Effect> {
        if self.waiting.is_empty() {
            self.say("nothing is asked here", true);
            return Vec::new();
        }
        self.show_panel();
        if text.is_empty() {
            return Vec::new();
        }
        let Some(waiting) = self.waiting.front() else { return Vec::new() };
        match answer::from_text(&waiting.request.body, text) {
            Ok(decision) => self.send_answer(decision),
            Err(problem) => {
                self.say(problem, true);
                Vec::new()
            }
        }
    }

    pub(super) fn cancel(&mut self, reason: &str) -> Vec<Effect> {
        let run = if self.plain { Some(RunId::new("")) } else { self.run.clone() };
        let Some(run) = run.filter(|_| self.phase != Phase::Idle) else {
            self.say("no run is under way", true);
            return Vec::new();
        };
        let reason = if reason.is_empty() { "stopped from the chat" } else { reason };
        vec![Effect::Cancel(run, reason.to_owned())]
    }

    pub(super) fn fork(&mut self, rest: &str) -> Vec<Effect> {
        let (at, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match (&self.run, at.parse()) {
            (Some(run), Ok(at)) => {
                vec![Effect::Fork(
                    run.clone(),
                    at,
                    Some(text.trim().to_owned()).filter(|it| !it.is_empty()),
                )]
            }
            (None, _) => {
                self.say("there is no run to fork yet", true);
                Vec::new()
            }
            (_, Err(_)) => {
                self.say(
                    "write /fork SEQ: the number of a journal entry; /events on shows them",
                    true,
                );
                Vec::new()
            }
        }
    }

    /// Does something to the question in front that decides nothing.
    pub(super) fn mark(&mut self, mark: Result<Mark, String>) -> Vec<Effect> {
        let id = self.waiting.front().map(|waiting| waiting.request.id.clone());
        match (id, mark) {
            (Some(id), Ok(mark)) => return vec![Effect::Mark(id, mark)],
            (None, _) => self.say("nothing is asked here", true),
            (_, Err(problem)) => self.say(problem, true),
        }
        Vec::new()
    }

    /// Sends an answer to the question in front.
    pub(super) fn send_answer(&mut self, decision: Decision) -> Vec<Effect> {
        let Some(waiting) = self.waiting.front_mut() else { return Vec::new() };
        if std::mem::replace(&mut waiting.sent, true) {
            return Vec::new();
        }
        let (id, version) = (waiting.request.id.clone(), waiting.request.version);
        self.turn_to(Phase::Continuing);
        vec![Effect::Answer(id, version, decision)]
    }
}
