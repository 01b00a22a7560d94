//! What must be true once everything has come to an end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{Entry, Event, to_json};
use signoff_core::request::{RequestBody, RequestStatus};
use signoff_core::{Decision, RequestId, RequestKind, RunId, RunState, RunStatus, Span, Timestamp};
use signoff_runtime::{DecideRequest, Engine, ManualClock, StartRun};
use signoff_store::{AuditEntry, MemoryStore, RequestFilter, RunRecord, Scope, Store};

use super::history::Outcome;
use super::process::paused_runtime;
use super::program::{Deed, Lab, Program, canonical};
use super::world::{World, show};

/// What was answered to each question of a run and its sub-runs; none if nobody did in time.
type Answers = BTreeMap<String, Option<Decision>>;

/// Everything that can be told from outside about a run and its sub-runs.
#[derive(Debug, PartialEq)]
struct Seen {
    output: Value,
    said: Vec<String>,
    effects: BTreeSet<String>,
}

macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

pub fn check(world: &World) -> Result<(), String> {
    shown(world)?;
    let runs = world.runs();
    let mut journals = BTreeMap::new();
    for run in &runs {
        journals.insert(run.id.clone(), journal(world, run)?);
    }
    for run in &world.log.lock().unwrap().started {
        ensure!(journals.contains_key(run), "the start of {run} was acknowledged and is lost");
    }
    let asked = requests(world, &journals)?;
    told(world)?;
    deeds(world, &journals, &asked)?;
    nothing_left(world)?;
    for top in runs.iter().filter(|run| run.root == run.id) {
        let tree: BTreeMap<&RunId, &Vec<Entry>> = runs
            .iter()
            .filter(|run| run.root == top.id)
            .map(|run| (&run.id, &journals[&run.id]))
            .collect();
        let answers = answers(&tree);
        let found = result(&tree, &top.id, &world.lab)?;
        let expected = reference(&world.program, &answers, &tree[&top.id][0])?;
        ensure!(found == expected, "without faults: {expected:#?}\nwith faults: {found:#?}");
    }
    Ok(())
}

/// What watchers were shown is in the journal, at that place, and each of them was shown it in order.
fn shown(world: &World) -> Result<(), String> {
    let mut last = BTreeMap::new();
    for shown in &world.log.lock().unwrap().shown {
        let run = &shown.run;
        for entry in &*shown.entries {
            let before = last.insert((shown.by, run), entry.seq).unwrap_or(0);
            ensure!(before < entry.seq, "{run}: entry {} was shown after {before}", entry.seq);
            let stored = world.disk.store.entries(run, entry.seq - 1, 1).unwrap_or_default();
            ensure!(
                stored.first() == Some(entry),
                "{run}: {} was shown as durable, and there is {stored:?}",
                to_json(entry)
            );
        }
    }
    Ok(())
}

/// The journal is whole, makes sense, and says what the store says.
fn journal(world: &World, run: &RunRecord) -> Result<Vec<Entry>, String> {
    let store = &world.disk.store;
    let entries = store.entries(&run.id, 0, 100_000).map_err(|error| error.to_string())?;
    ensure!(entries.len() as u64 == run.head, "{}: head {} is wrong", run.id, run.head);
    for (entry, seq) in entries.iter().zip(1..) {
        ensure!(entry.seq == seq, "{}: entry {} stands at {seq}", run.id, entry.seq);
    }
    let state = RunState::fold(&entries).map_err(|error| format!("{}: {error}", run.id))?;
    ensure!(state.status() == run.status, "{}: {} is not {}", run.id, run.status, state.status());
    ensure!(
        run.status == RunStatus::Completed,
        "{} is {}: {:?}\n{}",
        run.id,
        run.status,
        run.error,
        show(&entries)
    );
    let mut done = BTreeSet::new();
    for entry in &entries {
        if let Event::Effect { activation, key, .. } = &entry.event {
            ensure!(done.insert((activation, key)), "{}: {key} ended twice", run.id);
        }
    }
    Ok(entries)
}

/// Each request got one answer, the same in the journal, the inbox and the audit. Returns all that
/// were asked.
fn requests(
    world: &World,
    journals: &BTreeMap<RunId, Vec<Entry>>,
) -> Result<BTreeMap<RequestId, RequestBody>, String> {
    let store = &world.disk.store;
    let audit = store.audit(None, 0, 100_000).map_err(|error| error.to_string())?;
    let mut asked = BTreeMap::new();
    for (run, entries) in journals {
        let mut answered: BTreeMap<u32, Option<(&Decision, &signoff_core::Actor)>> =
            BTreeMap::new();
        for entry in entries {
            let (request, answer) = match &entry.event {
                Event::Asked { request, body, .. } => {
                    let id = run.request(*request);
                    ensure!(asked.insert(id, (**body).clone()).is_none(), "asked twice");
                    continue;
                }
                Event::Decided { request, decision, by, .. } => (request, Some((decision, by))),
                Event::Expired { request } => (request, None),
                _ => continue,
            };
            ensure!(answered.insert(*request, answer).is_none(), "{run}: {request} twice");
        }
        for (request, answer) in answered {
            let id = run.request(request);
            let row = store.request(&id).ok().flatten().ok_or_else(|| format!("{id} is gone"))?;
            let stored = row.decision.as_ref().map(|taken| (&taken.decision, &taken.by));
            ensure!(stored == answer, "{id}: {answer:?} in the journal, {stored:?} in the inbox");
            let ends = audit.iter().filter(|line| line.request == id && line.ends_request());
            let lines = ends.count();
            ensure!(lines == 1, "{id} ends {lines} times in the audit");
        }
    }
    let requested = |line: &&AuditEntry| line.decision.contains(r#""decision":"requested""#);
    let mut begun: Vec<&RequestId> =
        audit.iter().filter(requested).map(|line| &line.request).collect();
    begun.sort();
    ensure!(begun.into_iter().eq(asked.keys()), "each is asked once in the audit");
    let all = store.requests(&RequestFilter::default(), None, 1000).map_err(|e| e.to_string())?;
    for row in all.items {
        ensure!(row.status != RequestStatus::Pending, "{} is still pending", row.id);
        ensure!(row.status != RequestStatus::Cancelled, "{} was taken back", row.id);
        ensure!(asked.contains_key(&row.id), "{} is not in the journal", row.id);
    }
    Ok(asked)
}

/// What people were told is how it is.
fn told(world: &World) -> Result<(), String> {
    let mut taken = BTreeSet::new();
    for told in &world.log.lock().unwrap().told {
        let id = &told.request;
        let row = world.disk.store.request(id).ok().flatten();
        let row = row.ok_or_else(|| format!("{id} is gone"))?;
        let stands = row.decision.as_ref();
        match &told.outcome {
            Outcome::Taken | Outcome::Stands => {
                if matches!(told.outcome, Outcome::Taken) {
                    ensure!(taken.insert(id.clone()), "two answers to {id} were accepted");
                }
                let kept = stands.is_some_and(|s| s.decision == told.decision && s.by == told.by);
                ensure!(kept, "{told:?} was accepted, but {stands:?} stands");
            }
            Outcome::TooLate(shown) => {
                ensure!(
                    shown.decision == row.decision && shown.status == row.status,
                    "{told:?}, but {row:?} stands"
                );
            }
        }
    }
    Ok(())
}

/// Nothing that must happen once happened more often than people allowed.
fn deeds(
    world: &World,
    journals: &BTreeMap<RunId, Vec<Entry>>,
    asked: &BTreeMap<RequestId, RequestBody>,
) -> Result<(), String> {
    for (run, entries) in journals {
        let mut once: BTreeMap<String, u32> = BTreeMap::new();
        for entry in entries {
            match &entry.event {
                Event::Intent { action, .. } => {
                    let place = action["place"].as_str().unwrap_or_default();
                    once.entry(place.to_owned()).or_default();
                }
                Event::Decided { request, decision: Decision::Retry { .. }, .. } => {
                    let body = &asked[&run.request(*request)];
                    let place = body.context["action"]["place"].as_str().unwrap_or_default();
                    *once.entry(place.to_owned()).or_default() += 1;
                }
                _ => {}
            }
        }
        for (place, retries) in once {
            let Deed { times, keys } = world.lab.deed(run.as_str(), &place);
            ensure!(keys.len() == 1, "{run} {place} was given several keys: {keys:?}");
            let most = if world.strict { 1 } else { 1 + retries };
            ensure!(
                (1..=most).contains(&times),
                "{run} {place} happened {times} times, with {retries} retries"
            );
        }
    }
    Ok(())
}

/// Nothing is ready, leased or due.
fn nothing_left(world: &World) -> Result<(), String> {
    let store = &world.disk.store;
    let due = store.next_due().map_err(|error| error.to_string())?;
    ensure!(due.is_none(), "something is still due at {due:?}");
    let (node, end) = ("last".into(), Timestamp(i64::MAX - 1));
    let claim = store.claim(Scope::All, &node, end, Span(0), 100);
    let ready = futures_util::FutureExt::now_or_never(claim);
    ensure!(matches!(&ready, Some(Ok(leases)) if leases.is_empty()), "still ready: {ready:?}");
    Ok(())
}

fn answers(tree: &BTreeMap<&RunId, &Vec<Entry>>) -> Answers {
    let mut answers = Answers::new();
    for entries in tree.values() {
        let mut prompts = BTreeMap::new();
        for entry in *entries {
            match &entry.event {
                Event::Asked { request, body, .. } if body.kind != RequestKind::InDoubt => {
                    prompts.insert(*request, body.prompt.clone());
                }
                Event::Decided { request, decision, .. } => {
                    if let Some(prompt) = prompts.get(request) {
                        answers.insert(prompt.clone(), Some(decision.clone()));
                    }
                }
                Event::Expired { request } => {
                    if let Some(prompt) = prompts.get(request) {
                        answers.insert(prompt.clone(), None);
                    }
                }
                _ => {}
            }
        }
    }
    answers
}

fn result(tree: &BTreeMap<&RunId, &Vec<Entry>>, top: &RunId, lab: &Lab) -> Result<Seen, String> {
    let mut said = Vec::new();
    let mut output = Value::Null;
    for (id, entries) in tree {
        let state = RunState::fold(entries).map_err(|error| error.to_string())?;
        said.extend(state.messages.iter().map(|message| message.text()));
        if *id == top {
            output = canonical(&state.output().unwrap_or_default());
        }
    }
    said.sort();
    let effects = lab
        .deeds()
        .into_keys()
        .filter(|(run, _)| tree.contains_key(&RunId::new(run.as_str())))
        .map(|(_, place)| place)
        .collect();
    Ok(Seen { output, said, effects })
}

/// The same program with the same input and the same answers, in a world without faults.
fn reference(program: &Program, answers: &Answers, first: &Entry) -> Result<Seen, String> {
    let Event::Started(started) = &first.event else { return Err("no start".to_owned()) };
    let lab: Arc<Lab> = Arc::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let clock = Arc::new(ManualClock::new(Timestamp(1_794_700_800_000)));
    let builder = Engine::builder(Arc::clone(&store)).clock(clock.clone());
    let engine = program.install(&lab, builder).build().map_err(|error| error.to_string())?;
    let runtime = paused_runtime();
    let top = runtime.block_on(async {
        let start = StartRun::new(program.top(), started.input.clone());
        let top = engine.run(start).await.map_err(|error| error.to_string())?.run;
        for _ in 0..1000 {
            engine.idle().await;
            if store.run(&top).ok().flatten().is_some_and(|run| run.status.is_over()) {
                return Ok(top);
            }
            let filter =
                RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
            let pending = store.requests(&filter, None, 1000).map_err(|e| e.to_string())?.items;
            let mut answered = false;
            for request in pending {
                let prompt = &request.body.prompt;
                let Some(answer) = answers.get(prompt) else {
                    return Err(format!("without faults, `{prompt}` is asked as well"));
                };
                if let Some(decision) = answer {
                    let decide = DecideRequest::new(request.id, decision.clone());
                    engine.decide(decide).await.map_err(|error| error.to_string())?;
                    engine.idle().await;
                    answered = true;
                }
            }
            if !answered {
                clock.advance(Span::seconds(3600));
                engine.look_for_work(&Scope::All).await.map_err(|error| error.to_string())?;
            }
        }
        Err("without faults, the run does not end".to_owned())
    })?;
    let runs = store.runs(&signoff_store::RunFilter::default(), None, 1000);
    let mut journals = BTreeMap::new();
    for run in runs.map_err(|error| error.to_string())?.items {
        let entries = store.entries(&run.id, 0, 100_000).map_err(|error| error.to_string())?;
        ensure!(run.status == RunStatus::Completed, "without faults: {}", json!(run.error));
        journals.insert(run.id, entries);
    }
    result(&journals.iter().collect(), &top, &lab)
}
