//! Carries out what the inbox asks for.

use signoff_client::{Filter, Server};
use tokio::sync::mpsc::UnboundedSender;

use super::{Effect, Told, many};

/// Talks to the server for the inbox.
#[derive(Clone, Debug)]
pub struct Performer {
    server: Server,
    told: UnboundedSender<Told>,
}

impl Performer {
    /// One that tells what comes of it to `told`. Begins to listen at once.
    pub fn start(server: Server, told: UnboundedSender<Told>) -> Self {
        let mut events = server.inbox();
        let listener = told.clone();
        tokio::spawn(async move {
            loop {
                let event = events.next().await;
                if listener.send(Told::Inbox(event)).is_err() {
                    return;
                }
            }
        });
        Self { server, told }
    }

    /// Begins to carry out `effect`; what is for the terminal is not meant for here.
    pub fn perform(&self, effect: Effect) {
        let Self { server, told } = self.clone();
        tokio::spawn(async move {
            let tell = match effect {
                Effect::Load => Told::Loaded(server.all_requests(&Filter::pending()).await),
                Effect::Notes(id) => match server.request(&id).await {
                    Ok(noted) => Told::Notes(id, noted.notes),
                    // They are shown if they can be read.
                    Err(_) => return,
                },
                Effect::Decide(id, version, decision) => {
                    let decided = server.decide(&id, version, &decision).await;
                    Told::Decided(id, decided)
                }
                Effect::Many(items) => {
                    let ids = items.iter().map(|(id, ..)| id.clone());
                    Told::DecidedMany(match server.decide_many(&many(&items)).await {
                        Ok(results) => ids.zip(results).collect(),
                        Err(error) => ids.map(|id| (id, Err(error.clone()))).collect(),
                    })
                }
                Effect::Claim(id, true) => Told::Marked("claimed", server.claim(&id).await),
                Effect::Claim(id, false) => Told::Marked("let go", server.release(&id).await),
                Effect::Comment(id, text) => {
                    Told::Marked("commented", server.comment(&id, &text).await)
                }
                Effect::Bell(_) | Effect::Quit => return,
            };
            // Whoever asked may be gone.
            let _ = told.send(tell);
        });
    }
}
