//! Which workflow is talked to, and in which conversation.

use super::{Chat, Effect, Focus, Phase, Picked, Picker};
use crate::text::line;
use crate::transcript::Item;

impl Chat {
    /// Lets go of the conversation: nothing is decided, and what the run does is not told here any more.
    pub(super) fn begin_anew(&mut self) -> Vec<Effect> {
        let waits = self.waiting.len();
        self.waiting.clear();
        self.run = None;
        self.conversation = None;
        self.workflow_mode = !self.plain || self.bridge;
        self.turn_to(Phase::Idle);
        self.focus = Focus::Composer;
        self.scrolled = None;
        self.transcript.saying.clear();
        let left = match waits {
            0 => "a new conversation begins with what you say next".to_owned(),
            n => format!(
                "{n} left in the inbox, undecided; a new conversation begins with what you say next"
            ),
        };
        self.transcript.add(Item::Note(left));
        vec![Effect::Follow(Vec::new(), 0)]
    }

    pub(super) fn resume(&mut self, rest: &str) -> Vec<Effect> {
        let here: Vec<_> =
            self.saved.sessions.iter().filter(|it| it.place == self.place).cloned().collect();
        if here.is_empty() {
            self.say("no session was saved here yet", true);
            return Vec::new();
        }
        if let Some(session) = rest.parse::<usize>().ok().and_then(|n| here.get(n.checked_sub(1)?))
        {
            return self.go_on_with(&session.conversation.clone());
        }
        let of = here
            .iter()
            .map(|it| (it.conversation.clone(), format!("{}: {}", it.workflow, it.about)))
            .collect();
        self.picker = Picker { title: "Sessions".to_owned(), of, at: 0, what: Picked::Session };
        self.focus = Focus::Picker;
        Vec::new()
    }

    pub(super) fn go_on_with(&mut self, conversation: &str) -> Vec<Effect> {
        let mut effects = self.begin_anew();
        self.transcript.clear();
        self.restoring = true;
        effects.push(Effect::Restore(conversation.to_owned()));
        effects
    }

    pub(super) fn pick_workflow(&mut self) {
        let of = self
            .workflows
            .iter()
            .map(|it| (it.id.clone(), line(it.description.as_deref().unwrap_or_default())))
            .collect();
        let at = self
            .workflows
            .iter()
            .position(|it| Some(&it.id) == self.workflow.as_ref())
            .unwrap_or(0);
        self.picker =
            Picker { title: "Which workflow?".to_owned(), of, at, what: Picked::Workflow };
        self.focus = Focus::Picker;
    }

    pub(super) fn take_workflow(&mut self, id: &str) -> Vec<Effect> {
        if self.phase != Phase::Idle {
            self.say("the run goes on; /new begins a new conversation first", true);
            return Vec::new();
        }
        if self.workflow.as_deref().is_some_and(|now| now != id) {
            self.conversation = None;
        }
        vec![Effect::Workflow(id.to_owned())]
    }
}
