//! What a client sent, done: a run started, or requests answered. Never both, and never a new run while
//! one of its conversation is not over.

use serde_json::{Value, json};
use signoff_core::answer::accepted;
use signoff_core::request::RequestStatus;
use signoff_core::{ConversationId, Decision, Request, RequestId, RunId};
use signoff_runtime::{DecideError, Engine, EngineError, StartRun, new_id};
use signoff_store::RunRecord;

use super::again::{self, Again, Done};
use super::answer::decision;
use super::decide::{Answering, Unlisted, answer};
use super::fault::{Fault, InParam as _};
use super::follow::{Heard, as_it_stands};
use super::id::{Manner, ResponseId};
use super::input::Create;
use super::object::Ending;
use super::stretch::Of;
use super::{conversations, said};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::shape::{input, waiting};
use crate::stream::Tail;

/// What is to be done.
enum Plan {
    Start(Box<StartRun>),
    /// It was started before.
    Started(RunId),
    Answer(Vec<(Request, Decision)>),
}

/// The same with what was read for it.
enum Step {
    Start(Box<StartRun>),
    Started(RunId),
    Answer(Box<Answering>),
}

/// A response that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) id: ResponseId,
    /// Its run, if that was listened to.
    pub(super) heard: Option<Heard>,
    /// Its conversation, if nothing is kept of that and it was not begun right now.
    pub(super) unlisted: Option<Unlisted>,
}

impl Begun {
    /// The same response, told in another manner.
    pub(super) fn told(self, manner: Manner) -> Self {
        Self { id: self.id.told(manner), ..self }
    }
}

impl From<ResponseId> for Begun {
    fn from(id: ResponseId) -> Self {
        Self { id, heard: None, unlisted: None }
    }
}

/// Does what a client wants. The response begins there.
pub(super) async fn begin(
    app: &App,
    caller: Caller,
    create: Create,
    again: Again,
) -> Result<Begun, Fault> {
    app.takes_work()?;
    let reading = App::clone(app);
    // A fault is an answer here, not a failure to read.
    match app.read(move |_| Ok(step(&reading, create, again))).await?? {
        Step::Start(start) => started(app, StartRun { by: caller.actor, ..*start }).await,
        Step::Started(run) => Ok(ResponseId::at(run, 1).into()),
        Step::Answer(answering) => answer(app, caller, *answering).await,
    }
}

/// Reads what is needed to go on.
fn step(app: &App, create: Create, again: Again) -> Result<Step, Fault> {
    Ok(match plan(&app.engine, create, again)? {
        Plan::Start(start) => Step::Start(start),
        Plan::Started(run) => Step::Started(run),
        Plan::Answer(answers) => Step::Answer(Box::new(Answering::read(app, answers)?)),
    })
}

/// Starts a run. It is listened to from the beginning, unless its id says that it may have begun before.
async fn started(app: &App, start: StartRun) -> Result<Begun, Fault> {
    let new = start.run.is_none().then(|| RunId::from_unique(&new_id()));
    let tail = new.clone().map(|run| Tail::of_new(app, run));
    let workflow = start.workflow.as_str().into();
    let started = app.engine.start(StartRun { run: new.or(start.run.clone()), ..start }).await?;
    app.metrics.run_started();
    let of = Of {
        workflow,
        conversation: started.conversation,
        head: 1,
        updated_at: app.engine.clock().now(),
    };
    let heard = tail.map(|tail| Heard { of, tail, taken: Vec::new() });
    Ok(Begun { id: ResponseId::at(started.run, 1), heard, unlisted: None })
}

fn plan(engine: &Engine, create: Create, again: Again) -> Result<Plan, Fault> {
    if !create.answers.is_empty() {
        return named(engine, &create);
    }
    let page = create.devui;
    let store = &**engine.store();
    let is_start = create.is_start();
    let value = create.value.unwrap_or_default();
    let input = input(engine, create.workflow.as_deref(), &value);
    if let Some(ids) = &again.ids
        && again::started(engine, &ids.run, create.workflow.as_deref(), &input)?
    {
        return Ok(Plan::Started(ids.run.clone()));
    }
    let (conversation, pending) = if let Some(previous) = &create.previous {
        let stretch = as_it_stands(engine, previous)?;
        let record = store
            .run(&previous.run)?
            .ok_or_else(|| ApiError::unknown_run(previous.run.as_str()))?;
        match stretch.ending() {
            Some(Ending::Waiting | Ending::Refused) => {
                fits(&record, create.workflow.as_deref())?;
                let found: Result<Vec<_>, _> =
                    stretch.pending().iter().map(|id| request(engine, id)).collect();
                (record.conversation, found?)
            }
            None | Some(Ending::Paused) => return Err(busy(&record)),
            Some(_) => {
                let latest = engine.latest_run(&record.conversation)?;
                let next = latest.filter(|latest| again.repeated && latest.id != record.id);
                if let Some(next) = next
                    && let Some(Done::Started(run)) = again::done(engine, &next, &value, &input)?
                {
                    return Ok(Plan::Started(run));
                }
                (record.conversation, Vec::new())
            }
        }
    } else if let Some(conversation) = create.conversation {
        if engine.conversation(&conversation)?.is_some_and(|record| record.deleted) {
            return Err(conversations::unknown(&conversation));
        }
        let latest = engine.latest_run(&conversation)?;
        if let (true, Some(record)) = (again.repeated, &latest)
            && let Some(done) = again::done(engine, record, &value, &input)?
        {
            return Ok(match done {
                Done::Started(run) => Plan::Started(run),
                Done::Answered(request, decision) => Plan::Answer(vec![(*request, decision)]),
            });
        }
        match latest {
            Some(record) if !record.status.is_over() => {
                fits(&record, create.workflow.as_deref())?;
                let pending = waiting(store, &record.id)?;
                if pending.is_empty() {
                    return Err(busy(&record));
                }
                (conversation, pending)
            }
            _ => (conversation, Vec::new()),
        }
    } else if let Some(id) = &create.request {
        let request = request(engine, id)?;
        (request.conversation.clone(), vec![request])
    } else {
        return start(engine, create.workflow, input, None, again, page);
    };
    if pending.is_empty() {
        return start(engine, create.workflow, input, Some(conversation), again, page);
    }
    if let (Some(first), true) = (pending.first(), is_start) {
        return Err(EngineError::ConversationBusy { run: first.root.clone() }.into());
    }
    let chosen = match (&create.request, &pending[..]) {
        (Some(id), all) => all
            .iter()
            .find(|request| request.id == *id)
            .ok_or_else(|| ApiError::unknown_request(id.as_str()).in_param("metadata"))?,
        (None, [one]) => one,
        (None, several) => return Err(ambiguous(several)),
    };
    let decision = decision(chosen, &value)?;
    Ok(Plan::Answer(vec![(chosen.clone(), decision)]))
}

/// Answers that name their requests.
fn named(engine: &Engine, create: &Create) -> Result<Plan, Fault> {
    let mut found: Vec<(Request, &Value)> = Vec::new();
    for (id, value) in &create.answers {
        let request = request(engine, id)?;
        let foreign = create.conversation.as_ref().is_some_and(|it| *it != request.conversation)
            || create.previous.as_ref().is_some_and(|it| it.run != request.root)
            || found.first().is_some_and(|(first, _)| first.root != request.root);
        if foreign {
            return Err(ApiError::unknown_request(id.as_str()).in_param("input"));
        }
        if found.iter().all(|(known, _)| known.id != request.id) {
            found.push((request, value));
        }
    }
    // Clients send old answers again along with new ones.
    let is_open = |request: &Request| request.status == RequestStatus::Pending;
    if found.iter().any(|(request, _)| is_open(request)) {
        found.retain(|(request, _)| is_open(request));
    }
    let answers = found.into_iter().map(|(request, value)| {
        let decision = decision(&request, value)?;
        Ok((request, decision))
    });
    Ok(Plan::Answer(answers.collect::<Result<_, Fault>>()?))
}

fn request(engine: &Engine, id: &RequestId) -> Result<Request, Fault> {
    let found = engine.store().request(id)?;
    found.ok_or_else(|| DecideError::Unknown(id.clone()).into())
}

fn busy(record: &RunRecord) -> Fault {
    EngineError::ConversationBusy { run: record.id.clone() }.into()
}

/// Whether a run that is not over is one of the named workflow.
fn fits(record: &RunRecord, workflow: Option<&str>) -> Result<(), Fault> {
    match workflow {
        Some(workflow) if *record.workflow != *workflow => Err(busy(record)),
        _ => Ok(()),
    }
}

fn ambiguous(pending: &[Request]) -> Fault {
    let listed: Vec<Value> = pending
        .iter()
        .map(|request| {
            json!({
                "request": request.id,
                "prompt": request.body.prompt,
                "accepted": accepted(&request.body),
            })
        })
        .collect();
    let message = format!("{} questions wait here; say which one this answers", listed.len());
    ApiError::new(Problem::AmbiguousAnswer, message)
        .hint("send a `function_call_output` with the `call_id`, or `metadata.request_id`")
        .details(json!({ "pending": listed }))
        .in_param("input")
}

fn start(
    engine: &Engine,
    workflow: Option<String>,
    input: Value,
    conversation: Option<ConversationId>,
    again: Again,
    page: bool,
) -> Result<Plan, Fault> {
    let Some(workflow) = workflow else {
        return Err(Fault::invalid("model", "`model` is missing: it names a workflow"));
    };
    let (run, made) = again.ids.map(|ids| (ids.run, ids.conversation)).unzip();
    let start = StartRun::new(workflow, input);
    let added = match &conversation {
        Some(id) => said::since(engine, id)?,
        None => Vec::new(),
    };
    // What pages begin is listed among their sessions.
    let about = page.then(|| conversations::session(&start.workflow));
    let start = StartRun { conversation: conversation.or(made), added, run, about, ..start };
    Ok(Plan::Start(Box::new(start)))
}
