//! The answer to a text, from its first event to where the run rests.

use std::collections::VecDeque;

use bytes::Bytes;
use serde_json::{Value, json};
use signoff_core::state::RunEnd;
use signoff_core::{Request, RunId};

use super::begin::{Begun, Then};
use super::frame::{Frames, info};
use super::talk::Talk;
use super::telling::Telling;
use crate::app::App;
use crate::error::ApiError;
use crate::stream::sse::{Counted, KEEP_ALIVE, STILL_HERE};
use crate::stream::{Following, Rest, Step, Told};

/// An answer under way.
#[derive(Debug)]
pub(super) struct Answer {
    _counted: Counted,
    frames: Frames,
    ready: VecDeque<Bytes>,
    /// All text, for clients that want it in one piece.
    text: String,
    questions: Vec<Value>,
    failed: bool,
    run: Option<RunId>,
    following: Option<Run>,
    over: bool,
}

/// A run that is followed, and how it is told.
#[derive(Debug)]
struct Run {
    following: Following,
    telling: Telling,
}

impl Answer {
    pub(super) async fn new(app: &App, talk: &Talk, begun: Begun) -> Result<Self, ApiError> {
        let Begun { lead, then } = begun;
        let run = match &then {
            Then::Follow { run, .. } | Then::Show(run, _) => Some(run.clone()),
            Then::Nothing => None,
        };
        let mut answer = Self {
            _counted: Counted::new(app),
            frames: Frames::new(talk),
            ready: VecDeque::new(),
            text: String::new(),
            questions: Vec::new(),
            failed: false,
            run,
            following: None,
            over: false,
        };
        let created = answer.frames.created(answer.run.as_ref());
        answer.ready.push_back(created);
        match then {
            Then::Follow { run, after, joined, tail } => {
                let id = run.clone();
                let definition = app
                    .read(move |engine| {
                        let record = engine.store().run(&id)?;
                        Ok(record.and_then(|it| engine.definition(&it.version).ok()))
                    })
                    .await?;
                let mut telling = Telling::new(after, joined, definition);
                if let Some(lead) = &lead {
                    telling.note(lead);
                }
                let following = Following::new(app, run, tail);
                answer.following = Some(Run { following, telling });
            }
            Then::Show(run, pending) => {
                if let Some(lead) = &lead {
                    answer.say(lead);
                }
                answer.ask(&run, &pending, |_| false);
                answer.finish();
            }
            Then::Nothing => {
                if let Some(lead) = &lead {
                    answer.say(lead);
                }
                answer.finish();
            }
        }
        Ok(answer)
    }

    fn say(&mut self, text: &str) {
        self.text.push_str(text);
        let frame = self.frames.text(text);
        self.ready.push_back(frame);
    }

    fn ask(&mut self, run: &RunId, pending: &[Request], said: impl Fn(&Request) -> bool) {
        let several = pending.len() > 1;
        for request in pending {
            let frame = self.frames.question(run, request, several, said(request));
            self.ready.push_back(frame);
            let info = info(run, request, several, said(request));
            self.questions.push(info);
        }
    }

    fn fail(&mut self, message: &str) {
        self.failed = true;
        self.text.push_str(message);
        let frame = self.frames.error(message);
        self.ready.push_back(frame);
    }

    fn finish(&mut self) {
        self.over = true;
        self.following = None;
        let frame = self.frames.completed(self.run.as_ref());
        self.ready.push_back(frame);
        self.ready.push_back(Bytes::from_static(b"data: [DONE]\n\n"));
    }

    /// The next piece of the answer's body; none at its end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.over {
                return None;
            }
            match tokio::time::timeout(KEEP_ALIVE, self.go_on()).await {
                Err(_) => return Some(STILL_HERE),
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let why = error.into_fields().1["message"].clone();
                    self.fail(&format!(
                        "{}; the run goes on by itself",
                        why.as_str().unwrap_or_default()
                    ));
                    self.finish();
                }
            }
        }
    }

    /// Goes on until there is something to tell. May be dropped while it waits; nothing is lost by that.
    async fn go_on(&mut self) -> Result<(), ApiError> {
        while self.ready.is_empty() {
            let Some(Run { following, telling }) = &mut self.following else { return Ok(()) };
            let mut ended = false;
            match following.next().await? {
                Step::Rest(rest) => {
                    self.rest(rest);
                    return Ok(());
                }
                Step::Told(told) => match told {
                    Told::Entry(entry) => {
                        telling.take(&entry).map_err(|error| ApiError::internal(&error))?;
                    }
                    // What its parts say is not told; what they give is.
                    Told::Delta { run, agent, text, call } if run == *following.run() => {
                        telling.delta(&agent, call, &text);
                    }
                    Told::Restart { run, call, .. } if run == *following.run() => {
                        telling.restart(&call);
                    }
                    Told::Delta { .. } | Told::Restart { .. } => {}
                    Told::End => ended = true,
                    Told::Bye => {
                        self.spoken();
                        self.fail("the server is stopping; write again when it is back");
                        self.finish();
                        return Ok(());
                    }
                },
            }
            if ended {
                telling.end();
            }
            self.spoken();
            if ended {
                self.end();
            }
        }
        Ok(())
    }

    /// Sends what the telling has ready.
    fn spoken(&mut self) {
        let Some(following) = &mut self.following else { return };
        let texts: Vec<String> = following.telling.ready.drain(..).collect();
        if !texts.is_empty() {
            self.say(&texts.concat());
        }
    }

    /// The run rests: what it asks ends the answer.
    fn rest(&mut self, rest: Rest) {
        let Some(following) = &mut self.following else { return };
        following.telling.end();
        let note = match &rest {
            Rest::Waiting(_) => None,
            Rest::Paused => Some("(The run was paused.)"),
            Rest::Asleep => {
                Some("(The run waits for a time to come. Write anything to see how it stands.)")
            }
        };
        if let Some(note) = note {
            following.telling.note(note);
        }
        self.spoken();
        if let (Rest::Waiting(pending), Some(following)) = (rest, self.following.take()) {
            let telling = following.telling;
            self.ask(following.following.run(), &pending, |it| {
                telling.has_just_said(&it.body.prompt)
            });
        }
        self.finish();
    }

    /// The run is over.
    fn end(&mut self) {
        let state = self.following.as_ref().and_then(|it| it.telling.state.as_ref());
        match state.and_then(|state| state.end.clone()) {
            Some(RunEnd::Failed(error)) => {
                let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                self.fail(&format!("{}{hint}", error.message));
            }
            Some(RunEnd::Cancelled { by, reason }) => {
                let why = reason.map(|why| format!(": {why}")).unwrap_or_default();
                self.say(&format!("\n\n(Stopped by {by}{why}.)"));
            }
            Some(RunEnd::Completed) | None => {}
        }
        self.finish();
    }

    /// The whole answer at once.
    pub(super) async fn whole(mut self) -> Value {
        while self.next().await.is_some() {}
        for question in &self.questions {
            let prompt = question["data"]["prompt"].as_str().unwrap_or_default();
            if !prompt.is_empty() {
                self.text.push_str("\n\n");
                self.text.push_str(prompt);
            }
        }
        let content =
            json!([{ "type": "output_text", "text": self.text.trim(), "annotations": [] }]);
        let output = json!([{ "type": "message", "role": "assistant", "status": "completed", "content": content }]);
        let status = if self.failed { "failed" } else { "completed" };
        let mut response = self.frames.response(status, &output, self.run.as_ref());
        response["requests"] = self.questions.into();
        response
    }
}
