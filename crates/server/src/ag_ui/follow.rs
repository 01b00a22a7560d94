//! The answer to a call, from its first event to where the run rests.

use bytes::Bytes;
use serde_json::{Value, json};

use super::begin::Begun;
use super::events::Events;
use super::input::Input;
use super::telling::Telling;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::stream::sse::{Counted, KEEP_ALIVE, STILL_HERE};
use crate::stream::{Following, Rest, Step, Told};

/// The version of the protocol that is spoken.
const PROTOCOL: &str = "1.0";

/// A stream under way.
#[derive(Debug)]
pub(super) struct Stream {
    _counted: Counted,
    events: Events,
    run: Option<Run>,
}

/// A run that is followed, and how it is told.
#[derive(Debug)]
struct Run {
    following: Following,
    telling: Telling,
    /// Whether it was said that nothing moves.
    rests: bool,
}

impl Stream {
    /// A stream that tells what was begun, or why nothing was.
    pub(super) async fn new(app: &App, input: Input, begun: Result<Begun, ApiError>) -> Self {
        let mut events = Events::default();
        let started = json!({
            "threadId": input.thread,
            "runId": input.run,
            "parentRunId": input.parent,
            "protocolVersion": PROTOCOL,
        });
        events.emit("RUN_STARTED", started);
        let mut stream = Self { _counted: Counted::new(app), events, run: None };
        match begun {
            Ok(begun) => {
                if let Err(error) = stream.follow(app, input, begun).await {
                    stream.fail(error);
                }
            }
            Err(error) => stream.fail(error),
        }
        stream
    }

    async fn follow(&mut self, app: &App, input: Input, begun: Begun) -> Result<(), ApiError> {
        let Begun { run, from, joined, tail, answers } = begun;
        if !answers.is_empty() {
            self.events.emit("CUSTOM", json!({ "name": "signoff.resume", "value": answers }));
        }
        let id = run.clone();
        let definition = app.read(move |engine| {
            let record = engine.store().run(&id)?;
            Ok(record.and_then(|it| engine.definition(&it.version).ok()))
        });
        let telling = Telling::new(run.clone(), input, from, joined, definition.await?);
        let following = Following::new(app, run, tail);
        self.run = Some(Run { following, telling, rests: false });
        Ok(())
    }

    /// Ends the stream with an error. The run, if there is one, goes on by itself.
    fn fail(&mut self, error: ApiError) {
        self.run = None;
        let mut fields = error.into_fields().1;
        let (code, message) = (fields["code"].take(), fields["message"].take());
        let mut about = serde_json::Map::new();
        for name in ["hint", "details"] {
            if let Some(value) = fields.get(name).filter(|value| !value.is_null()) {
                about.insert(name.to_owned(), value.clone());
            }
        }
        let about = if about.is_empty() { Value::Null } else { json!({ "signoff": about }) };
        let fields = json!({ "message": message, "code": code, "metadata": about });
        self.events.emit("RUN_ERROR", fields);
    }

    /// The next piece of the body; none at its end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.events.next() {
                return Some(event);
            }
            self.run.as_ref()?;
            match tokio::time::timeout(KEEP_ALIVE, self.go_on()).await {
                Err(_) => return Some(STILL_HERE),
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.fail(error),
            }
        }
    }

    /// Goes on until there is something to tell. May be dropped while it waits; nothing is lost by that.
    async fn go_on(&mut self) -> Result<(), ApiError> {
        while self.events.is_empty() {
            let Some(Run { following, telling, rests }) = &mut self.run else { return Ok(()) };
            let events = &mut self.events;
            let told = match following.next().await? {
                Step::Rest(Rest::Waiting(asked)) => {
                    telling.asks(events, &asked);
                    self.run = None;
                    return Ok(());
                }
                Step::Rest(rest) => {
                    // It goes on some time, and so does the stream.
                    if !std::mem::replace(rests, true) {
                        let why = if matches!(rest, Rest::Paused) { "paused" } else { "asleep" };
                        let fields = json!({ "name": "signoff.rest", "value": { "why": why } });
                        events.emit("CUSTOM", fields);
                    }
                    continue;
                }
                Step::Told(told) => told,
            };
            match told {
                Told::Entry(entry) => {
                    *rests = false;
                    telling.take(events, &entry).map_err(|error| ApiError::internal(&error))?;
                }
                // What its parts say is not told; what they give is.
                Told::Delta { run, agent, text, call } if run == *following.run() => {
                    telling.delta(events, &agent, call, &text);
                }
                Told::Restart { run, call, .. } if run == *following.run() => {
                    telling.restart(events, &call);
                }
                Told::Delta { .. } | Told::Restart { .. } => {}
                Told::End => {
                    telling.ends(events);
                    self.run = None;
                }
                Told::Bye => {
                    let error = ApiError::new(Problem::ShuttingDown, "the server is stopping");
                    return Err(error.hint("what was taken counts; call again when it is back"));
                }
            }
        }
        Ok(())
    }
}
