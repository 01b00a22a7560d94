//! The loop of the chat.

use std::io;
use std::time::Duration;

use signoff_client::{Endpoint, Server};
use tokio::sync::mpsc;

use super::{Input, Now, Screen, inbox};
use crate::chat::{Chat, Effect, Performer, Plain, Told};
use crate::inbox::Inbox;

/// How often the time is looked at, while something moves and while nothing does.
const TICKS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// How long a frame stays at least, so that a fast stream is not drawn piece by piece.
const FRAME: Duration = Duration::from_millis(16);

/// What is talked to.
#[derive(Clone, Debug)]
pub enum Behind {
    /// A Signoff server.
    Server(Server),
    /// An endpoint of Responses.
    Endpoint(Box<Endpoint>),
}

/// How a chat was left.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// The conversation, if there was one.
    pub conversation: Option<String>,
    /// The run that was last followed.
    pub run: Option<String>,
    /// How many questions wait in it.
    pub waiting: usize,
}

enum Works {
    Server(Box<(Performer, Server)>),
    Endpoint(Plain),
}

impl Works {
    fn perform(&self, effect: Effect) {
        match self {
            Self::Server(both) => both.0.perform(effect),
            Self::Endpoint(plain) => plain.perform(effect),
        }
    }
}

/// Shows the chat until it is left. `edit` lets a text be changed by the editor of the person.
pub async fn chat(
    screen: &mut Screen,
    behind: Behind,
    mut state: Chat,
    begin: (Option<String>, Option<String>),
    now: Now,
    me: &str,
    edit: impl Fn(&str) -> io::Result<String>,
) -> io::Result<Left> {
    let (told, mut tells) = mpsc::unbounded_channel();
    let works = match behind {
        Behind::Server(server) => {
            Works::Server(Box::new((Performer::start(server.clone(), told.clone()), server)))
        }
        Behind::Endpoint(endpoint) => Works::Endpoint(Plain::new(*endpoint, told.clone())),
    };
    for effect in state.begin(begin.0, begin.1) {
        works.perform(effect);
    }
    let mut drawn = tokio::time::Instant::now();
    loop {
        screen.draw(|frame| state.draw(frame))?;
        let sign = if state.waiting() > 0 { "(!) " } else { "" };
        screen.title(&format!("{sign}signoff chat"))?;
        let tick = TICKS[usize::from(!state.moves())];
        let first = tokio::select! {
            input = screen.next() => match input {
                Some(input) => Told::Input(input),
                None => return Ok(left(&state)),
            },
            Some(tell) = tells.recv() => {
                tokio::time::sleep_until(drawn + FRAME).await;
                tell
            }
            () = tokio::time::sleep(tick) => Told::Input(Input::Tick(now())),
        };
        drawn = tokio::time::Instant::now();
        let mut next = Some(first);
        while let Some(tell) = next {
            state.at(now());
            for effect in state.update(tell) {
                match effect {
                    Effect::Quit => return Ok(left(&state)),
                    Effect::Bell(text) => screen.call(&text)?,
                    Effect::Edit(text) => {
                        let text = if text.is_empty() { state.typed().to_owned() } else { text };
                        match screen.lend(|| edit(&text))? {
                            Ok(text) => state.update(Told::Edited(text)),
                            Err(error) => {
                                state.update(Told::Done(Err(format!("the editor: {error}"))))
                            }
                        };
                    }
                    Effect::Inbox => {
                        if let Works::Server(both) = &works {
                            let settings = state.settings();
                            let other = Inbox::new(me, settings.theme, settings.bell, now());
                            inbox(screen, both.1.clone(), other, now).await?;
                        }
                    }
                    other => works.perform(other),
                }
            }
            next = tells.try_recv().ok();
        }
    }
}

fn left(state: &Chat) -> Left {
    Left {
        conversation: state.conversation().map(ToOwned::to_owned),
        run: state.run().map(|run| run.as_str().to_owned()),
        waiting: state.waiting(),
    }
}
