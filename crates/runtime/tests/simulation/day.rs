//! A day in the life of two nodes, faster than it passes: a thousand questions wait, people answer them at all hours, each
//! twice and the second time differently, nodes die now and then, and both are replaced by the next release.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use signoff_core::journal::Event;
use signoff_core::request::{RequestBody, RequestStatus};
use signoff_core::state::Answer;
use signoff_core::{Actor, Decision, RequestId, RunStatus, Span};
use signoff_runtime::{
    Context, DecideError, DecideRequest, Effect, Engine, StartRun, WorkflowBuilder,
};
use signoff_store::{RequestFilter, Scope, Store as _};

use super::dice::Dice;
use super::disk::{Disk, Fate, Faulty};
use super::planted::Broken;
use super::process::{Process, SkewedClock};

const WAITING: usize = 1000;
const MINUTES: usize = 24 * 60;
const MINUTE: Span = Span::seconds(60);
/// When the first node is replaced, and when the second.
const UPGRADES: [usize; 2] = [8 * 60, 9 * 60];

/// What was done outside, and under which keys: a tool that honours them does each once.
type Deeds = Arc<Mutex<BTreeMap<(String, &'static str), BTreeSet<String>>>>;

/// Somebody who wants to answer, and tries again until they are told what came of it.
#[derive(Clone, Debug)]
struct Person {
    name: &'static str,
    request: RequestId,
    answer: String,
    minute: usize,
}

/// What they were told, by whom and request: whether theirs is the answer.
type ToldAll = Arc<Mutex<BTreeMap<(RequestId, &'static str), bool>>>;

struct Day {
    dice: Dice,
    disk: Arc<Disk>,
    clock: Arc<AtomicI64>,
    deeds: Deeds,
    told: ToldAll,
    nodes: Vec<Process>,
    born: usize,
    release: &'static str,
}

fn workflow(release: &str, deeds: &Deeds) -> WorkflowBuilder {
    let deeds = Arc::clone(deeds);
    let work = move |ctx: Context, input: Arc<Value>| {
        let deeds = Arc::clone(&deeds);
        let act = move |ctx: Context, what: &'static str| {
            let deeds = Arc::clone(&deeds);
            async move {
                let run = ctx.run().to_string();
                ctx.effect(what, Effect::repeatable(), |key| async move {
                    tokio::task::yield_now().await;
                    let mut deeds = deeds.lock().unwrap();
                    deeds.entry((run, what)).or_default().insert(key.to_string());
                    Ok(json!(what))
                })
                .await
            }
        };
        async move {
            act(ctx.clone(), "before").await?;
            let body = RequestBody::input(format!("What about {input}?"));
            let answer = match ctx.ask("q", body).await? {
                Answer::Decided { decision: Decision::Respond { content }, .. } => content,
                other => json!(format!("{other:?}")),
            };
            act(ctx.clone(), "after").await?;
            ctx.sleep("rest", Span::seconds(600)).await?;
            act(ctx, "late").await?;
            Ok(answer)
        }
    };
    WorkflowBuilder::new("day").description(format!("release {release}")).function("work", work)
}

impl Day {
    fn new(seed: u64) -> Self {
        let mut day = Self {
            dice: Dice::new(seed),
            disk: Arc::new(Disk::new(Dice::new(seed), 0, Broken::No)),
            clock: Arc::new(AtomicI64::new(1_794_700_800_000)),
            deeds: Deeds::default(),
            told: ToldAll::default(),
            nodes: Vec::new(),
            born: 0,
            release: "1",
        };
        day.nodes = (0..2).map(|_| day.node()).collect();
        day
    }

    fn node(&mut self) -> Process {
        let id = self.born;
        self.born += 1;
        let clock = SkewedClock {
            shared: Arc::clone(&self.clock),
            error: [0, 2000, -2000][self.dice.below(3)],
        };
        let store = Faulty { process: id, disk: Arc::clone(&self.disk) };
        let engine = Engine::builder(Arc::new(store))
            .node(format!("node{id}").into())
            .clock(Arc::new(clock))
            .built(workflow(self.release, &self.deeds))
            .build()
            .unwrap();
        Process::new(id, engine)
    }

    /// Some things happen, in whatever order.
    fn happen(&mut self, steps: usize) {
        for _ in 0..steps {
            let waiting = self.disk.waiting();
            let carry_out = self.dice.per_mille(600);
            match self.dice.pick(&waiting) {
                Some(queue) if carry_out => self.disk.carry_out(queue, Fate::Done),
                _ => {
                    let n = self.dice.below(self.nodes.len());
                    self.nodes[n].turn(1);
                }
            }
        }
    }

    /// Everything that can happen at this moment does.
    fn rest(&mut self) {
        let mut quiet = 0;
        while quiet < 4 {
            for queue in self.disk.waiting() {
                self.disk.carry_out(&queue, Fate::Done);
                quiet = 0;
            }
            for node in &self.nodes {
                node.turn(3);
            }
            quiet += 1;
        }
    }

    /// A minute passes for everybody.
    fn pass(&mut self) {
        self.clock.fetch_add(i64::try_from(MINUTE.0).unwrap(), Ordering::SeqCst);
        for node in &self.nodes {
            node.pass(MINUTE.0);
            let engine = node.engine.clone();
            node.runtime.spawn(async move {
                let _ = engine.look_for_work(&Scope::All).await;
            });
        }
    }

    fn crash(&mut self) {
        let n = self.dice.below(self.nodes.len());
        let fresh = self.node();
        let dead = std::mem::replace(&mut self.nodes[n], fresh);
        self.disk.cut_off(dead.id, &mut self.dice);
    }

    /// A node of the old release takes on nothing new, finishes what it has, and goes; one of the new release comes.
    fn replace(&mut self, n: usize) {
        self.release = "2";
        let fresh = self.node();
        let old = std::mem::replace(&mut self.nodes[n], fresh);
        for _ in 0..100_000 {
            old.turn(1);
            self.happen(3);
            let idle = old.runtime.block_on(async { old.engine.idle().now_or_never().is_some() });
            let asked_for = self.disk.waiting().iter().any(|(caller, _)| *caller == old.id);
            if idle && !asked_for {
                return;
            }
        }
        panic!("the old node never comes to rest");
    }

    fn answer(&mut self, person: &Person) {
        let n = self.dice.below(self.nodes.len());
        let (engine, told) = (self.nodes[n].engine.clone(), Arc::clone(&self.told));
        let Person { name, request, answer, .. } = person.clone();
        self.nodes[n].runtime.spawn(async move {
            let decision = Decision::respond(answer.as_str());
            let decide = DecideRequest::new(request.clone(), decision).by(Actor::new(name));
            let theirs = match engine.decide(decide).await {
                Ok(_) => true,
                Err(DecideError::AlreadyDecided(_)) => false,
                Err(_) => return,
            };
            let before = told.lock().unwrap().insert((request.clone(), name), theirs);
            assert!(
                before.is_none_or(|before| before == theirs),
                "{name} was told both: {request}"
            );
        });
    }
}

/// Two people for each question, at some time of the day.
fn people(dice: &mut Dice, requests: &[RequestId]) -> Vec<Person> {
    let mut people = Vec::new();
    for (n, request) in requests.iter().enumerate() {
        for name in ["ann", "bob"] {
            let minute = 1 + dice.below(MINUTES - 30);
            let answer = format!("{name} says {n}");
            people.push(Person { name, request: request.clone(), answer, minute });
        }
        // Half of them at the same time.
        if dice.per_mille(500)
            && let Some(last) = people.len().checked_sub(1)
        {
            people[last].minute = people[last - 1].minute;
        }
    }
    people
}

#[test]
fn a_thousand_questions_over_a_day_and_a_rolling_upgrade() {
    let mut day = Day::new(7);
    for n in 0..WAITING {
        let node = &day.nodes[n % 2];
        let engine = node.engine.clone();
        node.runtime.spawn(async move { engine.start(StartRun::new("day", n)).await.map(|_| ()) });
    }
    day.rest();
    let pending =
        RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    let waiting = day.disk.store.requests(&pending, None, 1000).unwrap().items;
    let requests: Vec<RequestId> = waiting.into_iter().map(|request| request.id).collect();
    assert_eq!(requests.len(), WAITING);
    let people = people(&mut day.dice.clone(), &requests);
    let mut open: Vec<Person> = people.clone();
    open.sort_by_key(|person| person.minute);
    let mut crashes = 0;
    for minute in 0..MINUTES {
        day.pass();
        if let Some(n) = UPGRADES.iter().position(|upgrade| *upgrade == minute) {
            day.replace(n);
        }
        open.retain(|person| {
            let told = day.told.lock().unwrap();
            !told.contains_key(&(person.request.clone(), person.name))
        });
        let now: Vec<Person> =
            open.iter().take_while(|person| person.minute <= minute).cloned().collect();
        for person in &now {
            day.answer(person);
        }
        let steps = 5 + day.dice.below(60);
        day.happen(steps);
        if day.dice.per_mille(15) {
            day.crash();
            crashes += 1;
        }
        if day.dice.per_mille(500) {
            day.rest();
        }
    }
    day.rest();
    assert!(crashes > 5, "{crashes} crashes");
    check(&day, &people);
}

/// All are answered, none twice; everybody was told how it is; nothing was done under two keys.
fn check(day: &Day, people: &[Person]) {
    let store = &day.disk.store;
    let told = day.told.lock().unwrap();
    let mut lines: BTreeMap<(bool, RequestId), usize> = BTreeMap::new();
    for line in store.audit(None, 0, 10_000).unwrap() {
        *lines.entry((line.ends_request(), line.request)).or_default() += 1;
    }
    let mut by_both = 0;
    for (pair, n) in people.chunks(2).zip(0..) {
        let request = store.request(&pair[0].request).unwrap().unwrap();
        let taken = request.decision.as_ref().unwrap_or_else(|| panic!("{n} is not answered"));
        for ends in [false, true] {
            assert_eq!(lines[&(ends, request.id.clone())], 1, "{n} was asked or answered twice");
        }
        for person in pair {
            let theirs = told.get(&(request.id.clone(), person.name));
            let is_theirs = taken.by.as_str() == person.name;
            assert_eq!(theirs, Some(&is_theirs), "{n}: what {} was told", person.name);
        }
        by_both += usize::from(taken.by.as_str() == "bob");
        let run = store.run(&request.run).unwrap().unwrap();
        assert_eq!(run.status, RunStatus::Completed, "{n}: {:?}", run.error);
        let journal = store.entries(&run.id, 0, 1000).unwrap();
        let decided =
            journal.iter().filter(|entry| matches!(entry.event, Event::Decided { .. })).count();
        assert_eq!(decided, 1, "{n}");
        let state = signoff_core::RunState::fold(&journal).unwrap();
        let answer = pair.iter().find(|person| person.name == taken.by.as_str()).unwrap();
        assert_eq!(state.output(), Some(json!(answer.answer)), "{n}");
        let deeds = day.deeds.lock().unwrap();
        for what in ["before", "after", "late"] {
            assert_eq!(deeds[&(run.id.to_string(), what)].len(), 1, "{n}: {what}");
        }
    }
    assert!((100..900).contains(&by_both), "{by_both} of the answers are bob's");
}
