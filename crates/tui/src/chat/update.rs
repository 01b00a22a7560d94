//! What becomes of the chat by what it is told.

use signoff_client::InboxEvent;

use super::{Chat, Effect, Focus, Phase, Told};
use crate::screen::Input;
use crate::text::line;
use crate::transcript::Item;

impl Chat {
    /// Takes what it is told, and says what is to be done.
    pub fn update(&mut self, told: Told) -> Vec<Effect> {
        self.laid_out.get_mut().clear();
        match told {
            Told::Input(Input::Key(key)) => return self.key(key),
            Told::Input(Input::Paste(text)) => self.paste(&text),
            Told::Input(Input::LookedAt(looked_at)) => self.looked_at = looked_at,
            Told::Input(Input::Resized) => {}
            Told::Input(Input::Tick(now)) => {
                self.now = now;
                if self.notice.as_ref().is_some_and(|(.., until)| *until <= now) {
                    self.notice = None;
                }
            }
            Told::Started(Ok(run)) => return self.started(&run),
            Told::Started(Err(error)) => {
                self.turn_to(Phase::Idle);
                self.transcript
                    .add(Item::Problem(format!("not sent: {}", line(&error.to_string()))));
                if let Some(hint) = error.hint() {
                    self.transcript.add(Item::Note(line(hint)));
                }
                // Nothing that was typed is lost.
                if self.editor.is_empty()
                    && let Some(last) = self.saved.history.last().cloned()
                {
                    self.editor.set(&last);
                }
            }
            Told::Run(run, event) => return self.happened(&run, event),
            Told::Pending(run, pending) => return self.take_pending(&run, pending),
            Told::Ended(Ok(run)) => self.ended(&run),
            Told::Ended(Err(error)) => {
                self.turn_to(Phase::Idle);
                self.say(format!("how it ended cannot be read: {error}"), true);
            }
            Told::Answered(id, result) => return self.took_answer(&id, result),
            Told::Marked(mark, result) => return self.marked(&mark, result),
            Told::Workflows(Ok(workflows)) => {
                self.workflows = workflows;
                let free = matches!(self.focus, Focus::Composer | Focus::Picker);
                if self.workflow.is_none() && !self.restoring && free {
                    self.pick_workflow();
                }
            }
            Told::Workflows(Err(error)) | Told::Restored(_, Err(error)) => {
                self.restoring = false;
                self.say(error.to_string(), true);
            }
            Told::Workflow(Ok(workflow)) => {
                self.transcript.learn(&workflow);
                self.input_is_text =
                    workflow.input_schema["type"] == "string" || workflow.input_schema.is_null();
                self.samples = workflow.samples().iter().map(|sample| line(sample)).collect();
                self.workflow = Some(workflow.id);
                if self.focus == Focus::Picker {
                    self.focus = Focus::Composer;
                }
            }
            Told::Workflow(Err(error)) => {
                self.say(error.to_string(), true);
                if self.conversation.is_none() {
                    self.workflow = None;
                    self.pick_workflow();
                }
            }
            Told::Restored(conversation, Ok(runs)) => return self.restored(conversation, &runs),
            Told::Inbox(event) => return self.elsewhere(event),
            Told::Said(said) => return self.said(said),
            Told::Done(Ok(text)) => self.say(text, false),
            Told::Done(Err(text)) => self.say(text, true),
            Told::Edited(text) => self.editor.set(text.trim_end_matches('\n')),
        }
        Vec::new()
    }

    /// The whole inbox moved. What parts of our run ask is found there.
    fn elsewhere(&mut self, event: InboxEvent) -> Vec<Effect> {
        let InboxEvent::Change { change, request } = event else { return Vec::new() };
        let Some(run) = self.run.clone() else { return Vec::new() };
        let look = vec![Effect::Pending(run.clone())];
        let ends = matches!(&*change, "decided" | "expired" | "cancelled");
        if run != request.run {
            // The journal tells what the run itself asks; what its parts ask is not in it.
            let parts = self.has_parts && (ends || change == "asked");
            return if parts { look } else { Vec::new() };
        }
        let here = self.waiting.iter().find(|it| it.request.id == request.id);
        let Some(sent) = here.map(|it| it.sent).filter(|_| change != "asked") else {
            return Vec::new();
        };
        if let Some(text) = crate::panel::outcome(&request).filter(|_| !sent) {
            self.say(text, true);
        }
        look
    }
}
