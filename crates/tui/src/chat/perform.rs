//! Carries out what the chat asks of a Signoff server.

use std::sync::{Arc, Mutex};

use signoff_client::{ClientError, RunEvent, RunFilter, Server, Start};
use signoff_core::{RequestId, RunId, Seq, answer};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use super::{Effect, Told};
use crate::saved::Saved;

/// How many runs of a conversation are told again.
const MAX_RUNS: u32 = 50;

/// Talks to the server for the chat.
#[derive(Clone, Debug)]
pub struct Performer {
    server: Server,
    told: UnboundedSender<Told>,
    following: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Performer {
    /// One that tells what comes of it to `told`. Begins to listen to the inbox at once.
    pub fn start(server: Server, told: UnboundedSender<Told>) -> Self {
        let mut events = server.inbox();
        let listener = told.clone();
        tokio::spawn(
            async move { while listener.send(Told::Inbox(events.next().await)).is_ok() {} },
        );
        Self { server, told, following: Arc::default() }
    }

    /// Begins to carry out `effect`; what is for the terminal is not meant for here.
    pub fn perform(&self, effect: Effect) {
        if let Effect::Follow(runs, after) = effect {
            return self.follow(runs, after);
        }
        let Self { server, told, .. } = self.clone();
        tokio::spawn(async move {
            if let Some(tell) = carry_out(&server, effect).await {
                // Whoever asked may be gone.
                let _ = told.send(tell);
            }
        });
    }

    /// Follows runs one after the other, instead of what was followed before.
    fn follow(&self, runs: Vec<RunId>, after: Seq) {
        let (server, told) = (self.server.clone(), self.told.clone());
        let task = tokio::spawn(async move {
            let (mut after, last) = (after, runs.last().cloned());
            for run in runs {
                let mut events = server.follow(&run, std::mem::take(&mut after));
                loop {
                    let event = events.next().await;
                    let over = event == RunEvent::End;
                    if told.send(Told::Run(run.clone(), event)).is_err() {
                        return;
                    }
                    if over {
                        break;
                    }
                }
                // What an earlier run gave belongs before the next one; if it cannot be read, what was said is there.
                if Some(&run) != last.as_ref()
                    && let Ok(ended) = server.run(&run).await
                    && told.send(Told::Ended(Ok(Box::new(ended)))).is_err()
                {
                    return;
                }
            }
        });
        if let Ok(mut following) = self.following.lock()
            && let Some(before) = following.replace(task)
        {
            before.abort();
        }
    }
}

async fn carry_out(server: &Server, effect: Effect) -> Option<Told> {
    Some(match effect {
        Effect::Start { workflow, input, conversation } => {
            let start = Start { workflow, input, conversation, idempotency_key: None };
            Told::Started(server.start(&start).await.map(Box::new))
        }
        Effect::Pending(run) => {
            let asked = match server.run(&run).await {
                Ok(found) => found.pending,
                // The stream says that the server is away, and asks again when it is back.
                Err(_) => return None,
            };
            let mut pending = Vec::new();
            for id in asked {
                if let Ok(noted) = server.request(&RequestId::new(id)).await {
                    pending.push(noted);
                }
            }
            Told::Pending(run, pending)
        }
        Effect::Ended(run) => Told::Ended(server.run(&run).await.map(Box::new)),
        Effect::Answer(id, version, decision) => {
            let decided = server.decide(&id, version, &decision).await;
            Told::Answered(id, decided.map(Box::new))
        }
        Effect::Mark(id, mark) => {
            let marked = mark.carry_out(server, &id).await;
            Told::Marked(mark, marked.map(Box::new))
        }
        Effect::Cancel(run, reason) => Told::Done(match server.cancel(&run, &reason).await {
            Ok(run) => Ok(format!("the run is {}", run.status)),
            Err(error) => Err(error.to_string()),
        }),
        Effect::Fork(run, at, text) => match fork(server, &run, at, text.as_deref()).await {
            Ok(forked) => Told::Started(Ok(Box::new(forked))),
            Err(error) => Told::Done(Err(error.to_string())),
        },
        Effect::Workflows => Told::Workflows(server.workflows().await),
        Effect::Workflow(id) => Told::Workflow(server.workflow(&id).await.map(Box::new)),
        Effect::Restore(conversation) => {
            let filter = RunFilter {
                conversation: Some(conversation.clone()),
                limit: Some(MAX_RUNS),
                ..RunFilter::default()
            };
            let runs = server.runs(&filter).await;
            let oldest_first = |mut runs: Vec<signoff_client::Run>| {
                runs.retain(|run| run.root.is_none());
                runs.reverse();
                runs
            };
            Told::Restored(conversation, runs.map(oldest_first))
        }
        other => return on_disk(other),
    })
}

/// A fork; what is typed as the answer is mapped on what the new run asks.
async fn fork(
    server: &Server,
    run: &RunId,
    at: Seq,
    text: Option<&str>,
) -> Result<signoff_client::Run, ClientError> {
    let forked = server.fork(run, at, None).await?;
    let Some(text) = text else { return Ok(forked) };
    let id = RunId::new(&*forked.id);
    // A fork of a question has it waiting at once.
    let pending = server.run(&id).await?.pending;
    let Some(first) = pending.first() else {
        return Err(ClientError::Strange(format!("no request waits at {at}")));
    };
    let request = server.request(&RequestId::new(&**first)).await?.request;
    let decision = answer::from_text(&request.body, text).map_err(ClientError::Strange)?;
    server.decide(&request.id, request.version, &decision).await?;
    Ok(forked)
}

/// What is done with files, whatever is talked to.
pub(super) fn on_disk(effect: Effect) -> Option<Told> {
    match effect {
        Effect::Export(path, text) => {
            let mut options = std::fs::OpenOptions::new();
            let file = options.write(true).create_new(true).open(&path);
            let written =
                file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
            Some(Told::Done(match written {
                Ok(()) => Ok(format!("written to {}", path.display())),
                Err(error) => Err(format!("{}: {error}", path.display())),
            }))
        }
        Effect::Save(saved) => kept(&saved),
        _ => None,
    }
}

fn kept(saved: &Saved) -> Option<Told> {
    let error = saved.write().err()?;
    Some(Told::Done(Err(format!("settings and sessions cannot be kept: {error}"))))
}
