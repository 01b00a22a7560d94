//! What a text does: it starts a run, answers one, or asks how things stand. Never two of these.

use std::time::Duration;

use serde_json::Value;
use signoff_core::answer::from_text;
use signoff_core::{Decision, Request, RunId, RunStatus, Seq};
use signoff_runtime::{Engine, EngineError, StartRun, new_id};
use signoff_store::RunRecord;

use super::question::{addressed, handle};
use super::talk::Talk;
use crate::access::Caller;
use crate::api::decide_request;
use crate::app::App;
use crate::error::ApiError;
use crate::shape;
use crate::stream::{Tail, Told};

/// How often it is looked again when somebody else was faster.
const TRIES: usize = 3;
/// How long a run is waited for that is to stop.
const PATIENCE: Duration = Duration::from_secs(5);

const HELP: &str = "What you write starts the workflow, or answers what it asks.\n\
    #HANDLE ANSWER  answers one of several questions\n\
    !list           shows what waits for an answer\n\
    !cancel         stops the run\n\
    !help           shows this";

const PAUSED: &str =
    "(The run is paused; your text was not used. Resume it elsewhere, or write !cancel.)";

/// Where the telling begins.
#[derive(Debug)]
pub(super) struct Begun {
    /// What is said before anything else.
    pub(super) lead: Option<String>,
    pub(super) then: Then,
}

/// What follows.
#[derive(Debug)]
pub(super) enum Then {
    /// The run is told from after this entry until it rests. `joined` means that it was under way; else it was
    /// listened to from before it moved, so that no word is missed.
    Follow {
        run: RunId,
        after: Seq,
        joined: bool,
        tail: Box<Tail>,
    },
    /// These questions of that run are shown.
    Show(RunId, Vec<Request>),
    Nothing,
}

impl Begun {
    fn say(lead: impl Into<String>) -> Self {
        Self { lead: Some(lead.into()), then: Then::Nothing }
    }

    fn show(lead: impl Into<String>, run: RunId, pending: Vec<Request>) -> Self {
        Self { lead: Some(lead.into()), then: Then::Show(run, pending) }
    }
}

/// What is to be done.
enum Plan {
    Start,
    Answer {
        root: RunId,
        head: Seq,
        request: Box<Request>,
        decision: Decision,
        lead: Option<String>,
    },
    Cancel(RunId),
    /// It is under way: look how it goes on.
    Join(Box<RunRecord>),
    Tell(Begun),
}

/// Does what the text means.
pub(super) async fn begin(
    app: &App,
    caller: &Caller,
    talk: &Talk,
    text: &str,
) -> Result<Begun, ApiError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let (wanted, words) = (talk.clone(), text.to_owned());
        let plan = app.read(move |engine| plan(engine, &wanted, words.trim())).await?;
        match plan {
            Plan::Tell(begun) => return Ok(begun),
            Plan::Cancel(run) => return cancel(app, caller, run).await,
            Plan::Start => match start(app, caller, talk, text).await {
                // Another terminal was faster: now there is a run.
                Err(EngineError::ConversationBusy { .. }) if tries < TRIES => {}
                started => {
                    let (run, tail) = started?;
                    let then = Then::Follow { run, after: 0, joined: false, tail };
                    return Ok(Begun { lead: None, then });
                }
            },
            Plan::Answer { root, head, request, decision, lead } => {
                let id = request.id.clone();
                let tail = listen(app, &root);
                return match decide_request(app, caller.clone(), id, decision, None).await {
                    Ok(_) => {
                        let then = Then::Follow { run: root, after: head, joined: false, tail };
                        Ok(Begun { lead, then })
                    }
                    Err(error) => too_late(app, root, error).await,
                };
            }
            Plan::Join(run) => {
                let lead = "(It is still at work; your text was not used. It goes on like this.)";
                let tail = listen(app, &run.id);
                let then = Then::Follow { run: run.id, after: run.head, joined: true, tail };
                return Ok(Begun { lead: Some(lead.to_owned()), then });
            }
        }
    }
}

fn listen(app: &App, run: &RunId) -> Box<Tail> {
    Box::new(Tail::new(app, run.clone(), 0))
}

async fn start(
    app: &App,
    caller: &Caller,
    talk: &Talk,
    text: &str,
) -> Result<(RunId, Box<Tail>), EngineError> {
    let input = shape::input(&app.engine, Some(&talk.workflow), &Value::String(text.to_owned()));
    let run = RunId::from_unique(&new_id());
    let tail = Box::new(Tail::of_new(app, run.clone()));
    let start = StartRun {
        run: Some(run.clone()),
        conversation: Some(talk.id.clone()),
        by: caller.actor.clone(),
        ..StartRun::new(talk.workflow.as_str(), input)
    };
    app.engine.start(start).await?;
    app.metrics.run_started();
    Ok((run, tail))
}

/// Somebody else has answered, or the time was over: what waits now is shown, and nothing was used.
async fn too_late(app: &App, run: RunId, error: ApiError) -> Result<Begun, ApiError> {
    if !["already_decided", "expired", "cancelled"].contains(&error.code()) {
        return Err(error);
    }
    let why = error.into_fields().1["message"].as_str().unwrap_or_default().to_owned();
    let id = run.clone();
    let pending = app.read(move |engine| shape::waiting(&**engine.store(), &id)).await?;
    Ok(Begun::show(format!("(Too late: {why}. Your text was not used.)"), run, pending))
}

async fn cancel(app: &App, caller: &Caller, run: RunId) -> Result<Begun, ApiError> {
    match app.engine.cancel(&run, caller.actor.clone(), None).await {
        // It was faster.
        Ok(()) | Err(EngineError::Over(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let ended = async {
        let mut tail = Tail::new(app, run.clone(), 0);
        while !matches!(tail.next().await, Ok(Told::End | Told::Bye) | Err(_)) {}
    };
    Ok(Begun::say(match tokio::time::timeout(PATIENCE, ended).await {
        Ok(()) => "(Stopped. What you write next starts anew.)",
        Err(_) => "(It will stop when it comes to it.)",
    }))
}

fn plan(engine: &Engine, talk: &Talk, text: &str) -> Result<Plan, ApiError> {
    let store = &**engine.store();
    let open = engine.latest_run(&talk.id)?.filter(|run| !run.status.is_over());
    let pending = match &open {
        Some(run) => shape::waiting(store, &run.id)?,
        None => Vec::new(),
    };
    let command = text.to_lowercase();
    Ok(match (command.as_str(), open) {
        ("!help", _) | ("", None) => Plan::Tell(Begun::say(HELP)),
        ("!list" | "!cancel", None) => Plan::Tell(Begun::say("(Nothing is under way here.)")),
        ("!cancel", Some(run)) => Plan::Cancel(run.id),
        ("!list", Some(run)) if !pending.is_empty() => Plan::Tell(list(run, pending)),
        (_, None) => Plan::Start,
        (_, Some(run)) if pending.is_empty() && run.status == RunStatus::Paused => {
            Plan::Tell(Begun::say(PAUSED))
        }
        (_, Some(run)) if pending.is_empty() => Plan::Join(Box::new(run)),
        (_, Some(run)) => answer(engine, run, pending, text)?,
    })
}

fn list(run: RunRecord, pending: Vec<Request>) -> Begun {
    match pending.len() {
        1 => Begun::show("(This waits for an answer.)", run.id, pending),
        many => Begun::show(format!("({many} questions wait for answers.)"), run.id, pending),
    }
}

/// The text as an answer: to the request it names, or to the oldest.
fn answer(
    engine: &Engine,
    run: RunRecord,
    mut pending: Vec<Request>,
    text: &str,
) -> Result<Plan, ApiError> {
    let mut lead = None;
    let named = addressed(text);
    let place = named.and_then(|(wanted, _)| {
        pending.iter().position(|it| handle(&run.id, it) == wanted || it.id.as_str() == wanted)
    });
    let (place, words) = match (place, named) {
        (Some(place), Some((_, words))) => (place, words),
        (None, Some((wanted, _))) if was_asked(engine, &run, wanted)? => {
            let lead = format!("(#{wanted} waits no more; your text was not used.)");
            return Ok(Plan::Tell(Begun::show(lead, run.id, pending)));
        }
        // A text that begins with a sign is a text.
        _ => (0, text),
    };
    if named.is_none() && pending.len() > 1 {
        let oldest = handle(&run.id, &pending[0]);
        lead = Some(format!("(Your text answers [#{oldest}], the oldest question.)"));
    }
    Ok(match from_text(&pending[place].body, words) {
        Ok(decision) => Plan::Answer {
            root: run.id,
            head: run.head,
            request: Box::new(pending.swap_remove(place)),
            decision,
            lead,
        },
        Err(why) => {
            let lead = format!("(Not used: {why}.)");
            let again = if pending.len() > 1 { pending } else { vec![pending.swap_remove(place)] };
            Plan::Tell(Begun::show(lead, run.id, again))
        }
    })
}

/// Whether a request of this number was asked before.
fn was_asked(engine: &Engine, run: &RunRecord, wanted: &str) -> Result<bool, ApiError> {
    let Ok(number) = wanted.parse() else { return Ok(false) };
    Ok(engine.store().request(&run.id.request(number))?.is_some())
}
