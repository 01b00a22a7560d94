//! The loop of the inbox.

use std::io;
use std::time::Duration;

use signoff_client::Server;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::{Input, Now, Screen};
use crate::inbox::{Effect, Inbox, Performer, Told};

/// How often the time is looked at.
const TICK: Duration = Duration::from_secs(1);

/// Shows the inbox until it is left.
pub async fn inbox(
    screen: &mut Screen,
    server: Server,
    mut state: Inbox,
    now: Now,
) -> io::Result<()> {
    let (told, mut tells) = mpsc::unbounded_channel();
    let performer = Performer::start(server, told);
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        screen.draw(|frame| state.draw(frame))?;
        let waiting = state.waiting();
        let sign = if waiting > 0 { "(!) " } else { "" };
        screen.title(&format!("{sign}{waiting} waiting · signoff inbox"))?;
        let first = tokio::select! {
            input = screen.next() => match input {
                Some(input) => Told::Input(input),
                None => return Ok(()),
            },
            Some(tell) = tells.recv() => tell,
            _ = ticks.tick() => Told::Input(Input::Tick(now())),
        };
        // All that is there already is taken before it is drawn.
        let mut next = Some(first);
        while let Some(tell) = next {
            if matches!(tell, Told::Input(Input::Key(_)) | Told::Inbox(_)) {
                state.update(Told::Input(Input::Tick(now())));
            }
            for effect in state.update(tell) {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Bell(text) => screen.call(&text)?,
                    other => performer.perform(other),
                }
            }
            next = tells.try_recv().ok();
        }
    }
}
