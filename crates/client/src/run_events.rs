//! A run as it happens. Comes back by itself, without gap or repeat.

use std::time::Duration;

use serde_json::Value;
use signoff_core::journal::Entry;
use signoff_core::{RequestId, RunId, Seq};

use crate::address::segment;
use crate::entry;
use crate::retry::Pauses;
use crate::server::Server;
use crate::stream::{Next, Opened};

/// What happens in a run, or to the way to it.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// The next entry of its journal, and the request it is about.
    Entry(Box<Entry>, Option<RequestId>),
    /// A model is saying this.
    Delta {
        /// Who.
        agent: String,
        /// What.
        text: String,
    },
    /// What that agent was saying begins again.
    Restart {
        /// Who.
        agent: String,
    },
    /// The way to the server is broken; it is tried again by itself.
    Lost {
        /// What is wrong.
        problem: String,
    },
    /// The way is there again.
    Back,
    /// Something that this client does not know. It goes on.
    Strange(String),
    /// There will be no more.
    End,
}

/// A run that is followed.
#[derive(Debug)]
pub struct RunEvents {
    server: Server,
    run: RunId,
    after: Seq,
    stream: Option<Opened>,
    pauses: Pauses,
    pause: Option<Duration>,
    lost: bool,
    over: bool,
}

impl RunEvents {
    pub(crate) fn new(server: Server, run: RunId, after: Seq) -> Self {
        Self {
            server,
            run,
            after,
            stream: None,
            pauses: Pauses::default(),
            pause: None,
            lost: false,
            over: false,
        }
    }

    /// The last entry that was seen.
    pub fn seen(&self) -> Seq {
        self.after
    }

    /// What happens next. After `End` it is `End` again. May be given up at any point and asked again.
    pub async fn next(&mut self) -> RunEvent {
        loop {
            if self.over {
                return RunEvent::End;
            }
            if let Some(pause) = self.pause {
                tokio::time::sleep(pause).await;
                self.pause = None;
            }
            let Some(stream) = &mut self.stream else {
                match self.open().await {
                    Some(event) => return event,
                    None => continue,
                }
            };
            match stream.next().await {
                Next::Event(name, data) => {
                    if let Some(event) = self.read(&name, data) {
                        return event;
                    }
                }
                Next::Garbage(text) => {
                    return RunEvent::Strange(format!("something that is not JSON: {text}"));
                }
                Next::End if !self.lost && self.pauses.fresh() => {
                    // After its last entry a run is asked for once more, and is told to be over.
                    self.stream = None;
                    self.pause = Some(self.pauses.next());
                }
                Next::End => return self.broke("the server ended the stream".to_owned()),
                Next::Broke(problem) => return self.broke(problem),
            }
        }
    }

    async fn open(&mut self) -> Option<RunEvent> {
        let path = format!("/v1/runs/{}/events?after={}", segment(self.run.as_str()), self.after);
        match self.server.open(&path).await {
            Ok(None) => {
                self.over = true;
                None
            }
            Ok(Some(opened)) => {
                self.stream = Some(opened);
                std::mem::take(&mut self.lost).then_some(RunEvent::Back)
            }
            Err(error) if error.may_pass() => Some(self.broke(error.to_string())),
            Err(error) => {
                self.over = true;
                Some(RunEvent::Strange(error.to_string()))
            }
        }
    }

    fn broke(&mut self, problem: String) -> RunEvent {
        self.stream = None;
        self.pause = Some(self.pauses.next());
        self.lost = true;
        RunEvent::Lost { problem }
    }

    fn read(&mut self, name: &str, data: Value) -> Option<RunEvent> {
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        match name {
            "entry" => {
                let seq = data["seq"].as_u64();
                // One that was seen already is not told again.
                if seq.is_some_and(|seq| seq <= self.after) {
                    return None;
                }
                self.pauses.worked();
                let read = entry::read(data);
                if let Some(seq) = seq {
                    self.after = seq;
                }
                Some(match read {
                    Ok((entry, request)) => {
                        self.over = entry.event.ends_run();
                        RunEvent::Entry(Box::new(entry), request)
                    }
                    Err(problem) => RunEvent::Strange(problem),
                })
            }
            "delta" => Some(RunEvent::Delta { agent: text("agent"), text: text("text") }),
            "restart" => Some(RunEvent::Restart { agent: text("agent") }),
            "bye" => {
                let reason = text("reason");
                Some(self.broke(reason))
            }
            other => Some(RunEvent::Strange(format!("an event `{other}` that is not known here"))),
        }
    }
}
