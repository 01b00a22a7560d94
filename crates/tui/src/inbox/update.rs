//! What becomes of the inbox by what it is told.

use signoff_client::{ClientError, InboxEvent};
use signoff_core::request::RequestStatus;
use signoff_core::{Request, RequestId};

use super::{Effect, Focus, Inbox, Link, Told};
use crate::panel::outcome;
use crate::screen::Input;
use crate::text::line;
use crate::words::decision;

/// Of how many requests it is kept what was noted and said.
const MAX_LOOKED: usize = 500;

impl Inbox {
    /// Takes what it is told, and says what is to be done.
    pub fn update(&mut self, told: Told) -> Vec<Effect> {
        match told {
            Told::Input(Input::Key(key)) => self.key(key),
            Told::Input(Input::Paste(text)) => {
                self.paste(&text);
                Vec::new()
            }
            Told::Input(Input::LookedAt(looked_at)) => {
                self.looked_at = looked_at;
                Vec::new()
            }
            Told::Input(Input::Resized) => Vec::new(),
            Told::Input(Input::Tick(now)) => {
                self.now = now;
                if self.notice.as_ref().is_some_and(|(.., until)| *until <= now) {
                    self.notice = None;
                }
                Vec::new()
            }
            Told::Inbox(event) => self.heard(event),
            Told::Loaded(Ok(requests)) => {
                self.take_all(requests);
                self.loaded = true;
                if self.link == Link::Connecting {
                    self.link = Link::Live;
                }
                self.look()
            }
            Told::Loaded(Err(error)) => {
                self.say(format!("the inbox cannot be read: {error}"), true);
                Vec::new()
            }
            Told::Looked(id, looked) => {
                if self.looked.len() >= MAX_LOOKED {
                    self.looked.clear();
                }
                self.looked.insert(id, *looked);
                Vec::new()
            }
            Told::Decided(id, result) => {
                self.decided(&id, result);
                Vec::new()
            }
            Told::DecidedMany(results) => {
                let (mut taken, mut late) = (0, Vec::new());
                for (id, result) in results {
                    self.busy.remove(&id);
                    match result {
                        Ok(request) => {
                            taken += 1;
                            // Decided here: nothing has to be looked at any more.
                            if self.at.as_ref() == Some(&id)
                                && request.status != RequestStatus::Pending
                            {
                                self.at = None;
                            }
                            self.take_one(request);
                        }
                        Err(error) => late.push(error.to_string()),
                    }
                }
                self.focus_back();
                match late.first() {
                    None => self.say(format!("{taken} decided"), false),
                    Some(why) => {
                        self.say(format!("{taken} decided, {} not: {why}", late.len()), true);
                    }
                }
                Vec::new()
            }
            Told::Marked(mark, Ok(request)) => {
                self.say(mark.done(), false);
                let (id, run) = (request.id.clone(), request.run.clone());
                self.take_one(request);
                vec![Effect::Look(id, run)]
            }
            Told::Marked(_, Err(error)) => {
                self.say(error.to_string(), true);
                Vec::new()
            }
        }
    }

    fn heard(&mut self, event: InboxEvent) -> Vec<Effect> {
        match event {
            InboxEvent::Listening => {
                self.link = Link::Live;
                vec![Effect::Load]
            }
            InboxEvent::Lost { problem } => {
                self.link = Link::Lost(line(&problem));
                Vec::new()
            }
            InboxEvent::Refused(problem) => {
                self.link = Link::Lost(line(&problem));
                self.say(problem, true);
                Vec::new()
            }
            InboxEvent::Strange(what) => {
                self.say(format!("the server said something strange: {what}"), true);
                Vec::new()
            }
            InboxEvent::Change { change, request } => self.changed(&change, *request),
        }
    }

    fn changed(&mut self, change: &str, request: Request) -> Vec<Effect> {
        let id = request.id.clone();
        let meant = self.at.as_ref() == Some(&id);
        // Who we are does not tell: others may come in under the same name.
        let ours = self.busy.contains(&id);
        if meant && request.status != RequestStatus::Pending && !ours {
            self.say(outcome(&request).unwrap_or_default(), true);
            if let Some(form) = &mut self.form {
                form.refuse(&outcome(&request).unwrap_or_default());
            }
        }
        let question = line(&request.body.prompt);
        let run = request.run.clone();
        let new = self.take_one(request);
        let mut effects = Vec::new();
        let calls = matches!(change, "asked" | "reopened");
        if new && calls && !self.looked_at && self.bell {
            effects.push(Effect::Bell(crate::text::fit(&question, 120)));
        }
        if meant && !matches!(change, "asked" | "decided" | "expired" | "cancelled") {
            effects.push(Effect::Look(id, run));
        }
        effects
    }

    fn decided(&mut self, id: &RequestId, result: Result<Request, ClientError>) {
        self.busy.remove(id);
        match result {
            Ok(request) => {
                let what = request.decision.as_ref().map(|it| decision(&it.decision));
                let waits = request.status == RequestStatus::Pending;
                let what = what.unwrap_or_else(|| "it counts; others must agree".to_owned());
                self.say(format!("{what} · {}", line(&request.body.prompt)), false);
                // Decided here: nothing has to be looked at any more.
                let meant = self.at.as_ref() == Some(id);
                if meant && !waits {
                    self.at = None;
                    self.take_one(request);
                    self.focus_back();
                } else {
                    self.take_one(request);
                }
            }
            Err(error) => {
                let text = match &error {
                    error if error.code() == "already_decided" => {
                        format!("too late: {error}")
                    }
                    error if error.may_pass() => format!("not sent: {error}; it still waits"),
                    error => error.to_string(),
                };
                if self.at.as_ref() == Some(id)
                    && let Some(form) = &mut self.form
                {
                    form.refuse(&text);
                }
                self.say(text, true);
            }
        }
    }

    fn focus_back(&mut self) {
        if self.focus == Focus::Detail {
            self.focus = Focus::List;
        }
    }
}
