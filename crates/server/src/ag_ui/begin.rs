//! What a call does: it starts a run, answers one, or follows how things go. Never two of these.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use signoff_core::journal::Event;
use signoff_core::request::RequestStatus;
use signoff_core::{Decision, Request, RequestId, RunId};
use signoff_runtime::{DecideError, DecideRequest, Engine, EngineError, StartRun};
use signoff_store::RunRecord;

use super::input::Input;
use super::interrupt::decision;
use super::telling::Since;
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem, standing};
use crate::idempotency;
use crate::shape;
use crate::stream::Tail;

/// How often it is looked again when somebody else was faster.
const TRIES: usize = 3;

/// Where the telling begins.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) run: RunId,
    pub(super) from: Since,
    /// Whether somebody may be speaking already; else the run was listened to from before it moved.
    pub(super) joined: bool,
    pub(super) tail: Box<Tail>,
    /// What became of each answer.
    pub(super) answers: Vec<Value>,
}

/// What is to be done.
enum Plan {
    Start { run: RunId, text: String },
    Follow { run: RunId, from: Since },
    Answer(Box<Answering>),
}

/// Answers to the requests of one run.
struct Answering {
    root: RunId,
    from: Since,
    /// Those that can be taken.
    decisions: Vec<(RequestId, Decision)>,
    /// What is known of the others, in the order of the answers.
    notes: BTreeMap<usize, Value>,
    /// All requests, in that order.
    requests: Vec<RequestId>,
}

/// Does what a client wants.
pub(super) async fn begin(
    app: &App,
    caller: &Caller,
    workflow: &str,
    input: &Input,
) -> Result<Begun, ApiError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let (wanted, who, id) = (input.clone(), caller.clone(), workflow.to_owned());
        let plan = app.read(move |engine| plan(engine, &who, &id, &wanted)).await?;
        match plan {
            Plan::Start { run, text } => {
                match start(app, caller, workflow, input, run, text).await {
                    // Another client was faster: now there is a run.
                    Err(EngineError::ConversationBusy { .. }) if tries < TRIES => {}
                    started => return Ok(started?),
                }
            }
            Plan::Follow { run, from } => {
                let tail = listen(app, &run);
                return Ok(Begun { run, from, joined: true, tail, answers: Vec::new() });
            }
            Plan::Answer(answering) => match answer(app, caller, *answering).await {
                Err(refused) if tries < TRIES && refused.iter().any(|(_, it)| is_late(it)) => {}
                Err(mut refused) => return Err(refusal(&mut refused)),
                Ok(begun) => return begun,
            },
        }
    }
}

fn listen(app: &App, run: &RunId) -> Box<Tail> {
    Box::new(Tail::new(app, run.clone(), 0))
}

async fn start(
    app: &App,
    caller: &Caller,
    workflow: &str,
    input: &Input,
    run: RunId,
    text: String,
) -> Result<Begun, EngineError> {
    let tail = Box::new(Tail::of_new(app, run.clone()));
    let value = shape::input(&app.engine, Some(workflow), &Value::String(text));
    let start = StartRun {
        run: Some(run.clone()),
        conversation: Some(input.conversation.clone()),
        by: caller.actor.clone(),
        ..StartRun::new(workflow, value)
    };
    let started = app.engine.start(start).await?;
    let mut begun = Begun { run, from: Since::After(0), joined: false, tail, answers: Vec::new() };
    if started.created {
        app.metrics.run_started();
    } else {
        // The same call came twice at once.
        (begun.joined, begun.tail) = (true, listen(app, &begun.run));
    }
    Ok(begun)
}

/// Takes all decisions or none.
async fn answer(
    app: &App,
    caller: &Caller,
    answering: Answering,
) -> Result<Result<Begun, ApiError>, Vec<(usize, DecideError)>> {
    let Answering { root, from, decisions, notes, requests } = answering;
    // Listened to from before it moves.
    let tail = listen(app, &root);
    let joined = decisions.is_empty();
    if !joined {
        let count = decisions.len();
        let decides = decisions.into_iter().map(|(id, decision)| {
            DecideRequest::new(id, decision).by(caller.actor.clone()).with_roles(&caller.roles)
        });
        let taken = app.engine.decide_all(decides.collect()).await;
        app.inbox.look_soon();
        match &taken {
            Ok(()) => (0..count).for_each(|_| app.metrics.decision("taken")),
            Err(refused) => refused.iter().for_each(|(_, it)| app.metrics.decision(it.code())),
        }
        taken?;
    }
    let answers = app.read(move |engine| told(engine, &requests, &notes)).await;
    Ok(answers.map(|answers| Begun { run: root, from, joined, tail, answers }))
}

/// What became of each answer.
fn told(
    engine: &Engine,
    requests: &[RequestId],
    notes: &BTreeMap<usize, Value>,
) -> Result<Vec<Value>, ApiError> {
    let mut told = Vec::new();
    for (n, id) in requests.iter().enumerate() {
        if let Some(note) = notes.get(&n) {
            told.push(note.clone());
            continue;
        }
        let request = engine.store().request(id)?;
        // It counts, and others must agree.
        let open = request.is_some_and(|request| request.status == RequestStatus::Pending);
        let outcome = if open { "counted" } else { "taken" };
        told.push(json!({ "interruptId": id, "outcome": outcome }));
    }
    Ok(told)
}

/// Whether somebody, or the time, was faster.
fn is_late(error: &DecideError) -> bool {
    matches!(
        error,
        DecideError::AlreadyDecided(_) | DecideError::Expired(_) | DecideError::Cancelled(_)
    )
}

fn refusal(refused: &mut Vec<(usize, DecideError)>) -> ApiError {
    if refused.is_empty() {
        return ApiError::internal(&"answers were refused without a reason");
    }
    refused.swap_remove(0).1.into()
}

fn plan(engine: &Engine, caller: &Caller, workflow: &str, input: &Input) -> Result<Plan, ApiError> {
    let store = &**engine.store();
    let latest = engine.latest_run(&input.conversation)?;
    if !input.resume.is_empty() {
        return resumed(engine, caller, workflow, input, latest)
            .map(|it| Plan::Answer(Box::new(it)));
    }
    let derived = idempotency::derive(caller.tenant.as_str(), &input.key(workflow)).run;
    if store.run(&derived)?.is_some() {
        same(engine, &derived, workflow, input)?;
        return Ok(Plan::Follow { run: derived, from: Since::After(0) });
    }
    let is_own = |run: &RunRecord| *run.workflow == *workflow;
    match (latest, &input.said) {
        (Some(run), said) if !run.status.is_over() => {
            if said.is_none() && is_own(&run) {
                let from = Since::After(run.head);
                return Ok(Plan::Follow { run: run.id, from });
            }
            let pending = shape::waiting(store, &run.id)?;
            if pending.is_empty() || !is_own(&run) {
                return Err(EngineError::ConversationBusy { run: run.id }.into());
            }
            Err(uncovered(&pending, "this thread waits for answers, and takes no new input"))
        }
        (_, Some(text)) => Ok(Plan::Start { run: derived, text: text.clone() }),
        (Some(run), None) if is_own(&run) => {
            let from = Since::After(run.head);
            Ok(Plan::Follow { run: run.id, from })
        }
        (_, None) => {
            let message = "there is nothing to start with: the last message is not a user's";
            Err(ApiError::new(Problem::InvalidInput, message))
        }
    }
}

/// Whether what this call started before was given the same.
fn same(engine: &Engine, run: &RunId, workflow: &str, input: &Input) -> Result<(), ApiError> {
    let Some(text) = &input.said else { return Ok(()) };
    let wanted = shape::input(engine, Some(workflow), &Value::String(text.clone()));
    let first = engine.store().entries(run, 0, 1)?.into_iter().next().map(|entry| entry.event);
    if matches!(&first, Some(Event::Started(started)) if started.input == wanted) {
        return Ok(());
    }
    Err(ApiError::new(Problem::IdempotencyConflict, "this `runId` was used for another run before")
        .hint("take a new `runId` for a new run")
        .details(json!({ "run": run })))
}

/// Not all that waits was answered.
fn uncovered(missing: &[Request], message: &str) -> ApiError {
    let ids: Vec<&str> = missing.iter().map(|request| request.id.as_str()).collect();
    ApiError::new(Problem::InterruptsOpen, message)
        .hint("nothing was changed; send `resume` with an answer to each of them")
        .details(json!({ "interruptIds": ids }))
}

fn resumed(
    engine: &Engine,
    caller: &Caller,
    workflow: &str,
    input: &Input,
    latest: Option<RunRecord>,
) -> Result<Answering, ApiError> {
    let store = &**engine.store();
    let (mut decisions, mut notes) = (Vec::new(), BTreeMap::new());
    let mut root = latest.filter(|run| !run.status.is_over() && *run.workflow == *workflow);
    let mut found = Vec::new();
    for (n, answer) in input.resume.iter().enumerate() {
        let unknown = || ApiError::unknown_request(answer.request.as_str());
        let request = store.request(&answer.request)?.ok_or_else(unknown)?;
        let top = store.run(&request.root)?.ok_or_else(unknown)?;
        if top.conversation != input.conversation || *top.workflow != *workflow {
            return Err(unknown());
        }
        root.get_or_insert(top);
        match (request.status, &answer.payload) {
            (RequestStatus::Pending, payload) => {
                decisions.push((request.id.clone(), decision(&request, payload.as_ref())?));
            }
            (RequestStatus::Expired, Some(_)) => {
                return Err(DecideError::Expired(Box::new(request)).into());
            }
            (RequestStatus::Cancelled, Some(_)) => {
                return Err(DecideError::Cancelled(Box::new(request)).into());
            }
            (_, payload) => {
                notes.insert(n, note(caller, &request, payload.as_ref()));
            }
        }
        found.push(request);
    }
    let Some(root) = root else { return Err(ApiError::internal(&"a resume without a run")) };
    let mut missing = shape::waiting(store, &root.id)?;
    missing.retain(|request| found.iter().all(|known| known.id != request.id));
    if !decisions.is_empty() && !missing.is_empty() {
        return Err(uncovered(&missing, "not all that waits in this thread is answered"));
    }
    let own = found.iter().filter(|request| request.run == root.id);
    let numbers: BTreeSet<_> = own.filter_map(|request| Some(request.id.split()?.1)).collect();
    // What its parts were asked is answered in their journals.
    let from = if numbers.is_empty() { Since::After(root.head) } else { Since::Answered(numbers) };
    let requests = found.into_iter().map(|request| request.id).collect();
    Ok(Answering { root: root.id, from, decisions, notes, requests })
}

/// What became of a request that does not wait any more.
fn note(caller: &Caller, request: &Request, payload: Option<&Value>) -> Value {
    let same = request.decision.as_ref().is_some_and(|taken| {
        taken.by == caller.actor
            && decision(request, payload).is_ok_and(|decision| decision == taken.decision)
    });
    let outcome = match request.status {
        RequestStatus::Decided if same => "repeated",
        RequestStatus::Decided => "already_decided",
        RequestStatus::Expired => "expired",
        RequestStatus::Cancelled | RequestStatus::Pending => "withdrawn",
    };
    let mut note = json!({ "interruptId": request.id, "outcome": outcome });
    let known = standing(request);
    if !known["decision"].is_null() {
        note["decision"] = known["decision"].clone();
    }
    note
}
