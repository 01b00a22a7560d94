//! Carries out what the inbox asks for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use signoff_client::{ClientError, Filter, Server};
use signoff_core::{RequestId, RunId};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::{Effect, Looked, Told, many};
use crate::transcript::{RECENT_ENTRIES, said_before};

/// How long the cursor must rest on a request before more is read about it.
const REST: Duration = Duration::from_millis(100);

/// Talks to the server for the inbox.
#[derive(Clone, Debug)]
pub struct Performer {
    server: Server,
    told: UnboundedSender<Told>,
    /// What is being looked at.
    looking: Arc<Mutex<Option<AbortHandle>>>,
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
        Self { server, told, looking: Arc::default() }
    }

    /// Begins to carry out `effect`; what is for the terminal is not meant for here.
    pub fn perform(&self, effect: Effect) {
        let Self { server, told, .. } = self.clone();
        let looks = matches!(effect, Effect::Look(..));
        let task = tokio::spawn(async move {
            let tell = match effect {
                Effect::Load => Told::Loaded(server.all_requests(&Filter::pending()).await),
                Effect::Look(id, run) => match look(&server, &id, &run).await {
                    Ok(looked) => Told::Looked(id, Box::new(looked)),
                    // It is shown if it can be read.
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
                Effect::Mark(id, mark) => {
                    let marked = mark.carry_out(&server, &id).await;
                    Told::Marked(mark, marked)
                }
                Effect::Bell(_) | Effect::Quit => return,
            };
            // Whoever asked may be gone.
            let _ = told.send(tell);
        });
        // Whoever goes through the list looks at the last one only.
        if looks
            && let Ok(mut looking) = self.looking.lock()
            && let Some(before) = looking.replace(task.abort_handle())
        {
            before.abort();
        }
    }
}

/// What was noted on a request, and what was said last in its run.
async fn look(server: &Server, id: &RequestId, run: &RunId) -> Result<Looked, ClientError> {
    tokio::time::sleep(REST).await;
    let noted = server.request(id).await?;
    // Without what was said it can be decided as well.
    let entries = server.last_entries(run, RECENT_ENTRIES).await.unwrap_or_default();
    let said = said_before(&entries, &noted.request.body.prompt);
    Ok(Looked { notes: noted.notes, said })
}
