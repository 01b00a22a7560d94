//! Processes that come and go, people who answer, and time that jumps.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use signoff_core::journal::{Entry, to_json};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{
    Actor, ConversationId, Decision, RequestId, RequestKind, RunId, RunState, RunStatus, Span,
    Tenant,
};
use signoff_runtime::{DecideError, DecideRequest, Engine, StartRun};
use signoff_store::{RequestFilter, RunFilter, RunRecord, Scope, Store as _};

use super::dice::Dice;
use super::disk::{Disk, Fate, Faulty};
use super::history::{Log, Outcome, Told};
use super::planted::Broken;
use super::process::{Process, SkewedClock, Stopped};
use super::program::{Lab, Program};

/// How long a process may drive a run without a sign of life.
const LEASE: Span = Span::seconds(9);
/// The same where leases must not run out while their holder lives.
const LONG_LEASE: Span = Span::seconds(1_000_000);
/// Steps after which a run that is not over is stuck.
const PATIENCE: u32 = 400;

/// One seed's world.
pub struct World {
    dice: Dice,
    pub program: Program,
    pub lab: Arc<Lab>,
    pub disk: Arc<Disk>,
    pub log: Arc<Mutex<Log>>,
    /// One process at a time, and no lease runs out under it: then effects happen exactly once.
    pub strict: bool,
    clock: Arc<AtomicI64>,
    processes: Vec<Process>,
    born: usize,
    conversations: usize,
    /// How often calls fail, in a thousand.
    trouble: u64,
    pub troubles: Troubles,
}

/// What has happened to a world, to see that worlds are as rough as they are meant to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Troubles {
    pub crashes: usize,
    pub power_losses: usize,
    pub stops: usize,
    pub jumps: usize,
    pub failures: usize,
    pub fenced: usize,
    pub too_late: usize,
    pub expired: usize,
    pub shown: usize,
}

impl std::ops::AddAssign for Troubles {
    fn add_assign(&mut self, other: Self) {
        self.crashes += other.crashes;
        self.power_losses += other.power_losses;
        self.stops += other.stops;
        self.jumps += other.jumps;
        self.failures += other.failures;
        self.fenced += other.fenced;
        self.too_late += other.too_late;
        self.expired += other.expired;
        self.shown += other.shown;
    }
}

impl World {
    pub fn new(seed: u64, broken: Broken) -> Self {
        let mut dice = Dice::new(seed);
        let program = Program::new(&mut dice);
        let trouble = [0, 5, 30, 80][dice.below(4)];
        let reads = if dice.per_mille(300) { 10 } else { 0 };
        let disk = Disk::new(Dice::new(dice.next()), reads, broken);
        Self {
            program,
            lab: Arc::default(),
            disk: Arc::new(disk),
            log: Arc::default(),
            strict: dice.per_mille(400),
            clock: Arc::new(AtomicI64::new(1_794_700_800_000)),
            processes: Vec::new(),
            born: 0,
            conversations: 1 + dice.below(2),
            trouble,
            troubles: Troubles::default(),
            dice,
        }
    }

    /// What it went through.
    pub fn troubles(&self) -> Troubles {
        let log = self.log.lock().unwrap();
        let expired =
            RequestFilter { status: Some(RequestStatus::Expired), ..RequestFilter::default() };
        Troubles {
            fenced: self.disk.fenced.load(Ordering::Relaxed),
            too_late: log.too_late(),
            shown: log.shown.len(),
            expired: self.disk.store.requests(&expired, None, 1000).unwrap().items.len(),
            ..self.troubles
        }
    }

    /// Lives through a time of trouble and then through a quiet one, until every run is over.
    pub fn live(&mut self) -> Result<(), String> {
        let steps = 100 + self.dice.below(500);
        for _ in 0..steps {
            self.step();
        }
        self.settle()
    }

    fn step(&mut self) {
        for n in (0..self.processes.len()).rev() {
            match &mut self.processes[n].doomed {
                Some(0) => self.crash(n),
                Some(left) => *left -= 1,
                None => {}
            }
        }
        for process in &mut self.processes {
            process.stopped = process.stopped.and_then(|stopped| {
                let left = stopped.left.checked_sub(1)?;
                Some(Stopped { left, ..stopped })
            });
        }
        if self.processes.is_empty() {
            self.give_birth();
        }
        match self.dice.below(100) {
            0..=34 => {
                let (n, moments) = (self.any_process(), 1 + self.dice.below(3));
                if self.processes[n].stopped.is_none() {
                    self.processes[n].turn(moments);
                }
            }
            35..=69 => self.carry_out_one(),
            70..=74 => {
                let n = self.any_process();
                let millis = [10, 150, 1000, 6000][self.dice.below(4)];
                if self.processes[n].stopped.is_none() {
                    self.processes[n].pass(millis);
                }
            }
            75..=78 => self.jump(),
            79..=80 => {
                let n = self.any_process();
                self.crash(n);
            }
            81 if !self.strict && self.processes.len() < 3 => self.give_birth(),
            82..=90 => self.answer_something(),
            91..=92 => self.pause_or_resume(),
            93..=95 => self.begin_something(),
            96 => self.resume_something(),
            97 if self.dice.per_mille(300) => self.lose_power(),
            98 if !self.strict => self.stop_something(),
            _ => {
                let n = self.any_process();
                self.look(n);
            }
        }
    }

    fn any_process(&mut self) -> usize {
        self.dice.below(self.processes.len())
    }

    fn give_birth(&mut self) {
        let id = self.born;
        self.born += 1;
        let error = if self.strict { 0 } else { [0, 0, 4000, -4000][self.dice.below(4)] };
        let clock = SkewedClock { shared: Arc::clone(&self.clock), error };
        let store = Faulty { process: id, disk: Arc::clone(&self.disk) };
        let builder = Engine::builder(Arc::new(store))
            .node(format!("node{id}").into())
            .clock(Arc::new(clock))
            .lease(if self.strict { LONG_LEASE } else { LEASE });
        let engine = self.program.install(&self.lab, builder).build().unwrap();
        let process = Process::new(id, engine);
        process.watched_by(&self.log);
        if self.dice.per_mille(600) {
            let engine = process.engine.clone();
            process.runtime.spawn(async move {
                loop {
                    let _ = engine.schedule(Scope::All).await;
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            });
        }
        self.processes.push(process);
    }

    /// A process is stopped, for longer than its leases last.
    fn stop_something(&mut self) {
        let n = self.any_process();
        let left = 5 + u32::try_from(self.dice.below(60)).unwrap_or(0);
        let cut_off = self.dice.per_mille(500);
        self.processes[n].stopped = Some(Stopped { left, cut_off });
        self.advance(LEASE.0 + 1_000);
        self.troubles.stops += 1;
    }

    /// All processes are gone at once, and with them what the disk does not have.
    fn lose_power(&mut self) {
        while !self.processes.is_empty() {
            self.crash(0);
        }
        self.disk.lose_power();
        self.troubles.power_losses += 1;
    }

    fn crash(&mut self, n: usize) {
        self.troubles.crashes += 1;
        let process = self.processes.swap_remove(n);
        self.disk.cut_off(process.id, &mut self.dice);
        drop(process);
        if self.strict {
            // Its leases run out before anybody else comes.
            while self.carry_out_any(Fate::Done) {}
            self.advance(LONG_LEASE.0 + 1);
        }
    }

    fn advance(&self, millis: u64) {
        self.clock.fetch_add(i64::try_from(millis).unwrap_or(0), Ordering::SeqCst);
    }

    fn jump(&mut self) {
        let jumps = [500, 5_000, 16_000, 100_000, -3_000, -20_000];
        let by = self.dice.pick(&jumps).copied().unwrap_or(0);
        self.clock.fetch_add(by, Ordering::SeqCst);
        self.troubles.jumps += 1;
    }

    fn carry_out_any(&mut self, fate: Fate) -> bool {
        let waiting = self.disk.waiting();
        let Some(queue) = self.dice.pick(&waiting) else { return false };
        self.disk.carry_out(queue, fate);
        true
    }

    fn carry_out_one(&mut self) {
        let mut waiting = self.disk.waiting();
        let cut_off = |process: &Process| process.stopped.is_some_and(|stopped| stopped.cut_off);
        for process in self.processes.iter().filter(|process| cut_off(process)) {
            waiting.retain(|(caller, _)| *caller != process.id);
        }
        let Some(queue) = self.dice.pick(&waiting) else { return };
        let fate = if self.dice.per_mille(self.trouble) {
            [Fate::Refused, Fate::Misreported, Fate::Silent][self.dice.below(3)]
        } else {
            Fate::Done
        };
        self.disk.carry_out(queue, fate);
        self.troubles.failures += usize::from(fate != Fate::Done);
        let caller = queue.0;
        if fate == Fate::Silent {
            // Nobody waits for ever for an answer that does not come: the process dies of it.
            let left = u32::try_from(self.dice.below(20)).unwrap_or(0);
            for process in self.processes.iter_mut().filter(|process| process.id == caller) {
                process.doomed.get_or_insert(left);
            }
        }
    }

    fn look(&self, n: usize) {
        let engine = self.processes[n].engine.clone();
        self.processes[n].runtime.spawn(async move {
            let _ = engine.look_for_work(&Scope::All).await;
        });
    }

    fn conversation(n: usize) -> ConversationId {
        ConversationId::from_unique(&n.to_string())
    }

    fn begin_something(&mut self) {
        let n = self.dice.below(self.conversations);
        self.begin(n);
    }

    fn begin(&mut self, conversation: usize) {
        let conversation = Self::conversation(conversation);
        if self.disk.store.latest_run(&Tenant::local(), &conversation).unwrap().is_some() {
            return;
        }
        let mut start = StartRun::new(
            self.program.top(),
            json!({ "path": "", "n": 0, "v": 0, "for": conversation }),
        );
        start.conversation = Some(conversation);
        let process = &self.processes[self.dice.below(self.processes.len())];
        let (engine, log) = (process.engine.clone(), Arc::clone(&self.log));
        process.runtime.spawn(async move {
            if let Ok(started) = engine.start(start).await {
                log.lock().unwrap().started.push(started.run);
            }
        });
    }

    fn resume_something(&mut self) {
        let runs = self.open_runs();
        let n = self.any_process();
        if let Some(run) = self.dice.pick(&runs) {
            let (engine, run) = (self.processes[n].engine.clone(), run.id.clone());
            self.processes[n].runtime.spawn(async move {
                engine.resume(&run).await;
            });
        }
    }

    fn pause_or_resume(&mut self) {
        let runs = self.open_runs();
        if let Some(run) = self.dice.pick(&runs) {
            let pause = self.dice.per_mille(400);
            self.set_paused(&run.id.clone(), pause);
        }
    }

    fn set_paused(&mut self, run: &RunId, pause: bool) {
        let n = self.any_process();
        let (engine, run) = (self.processes[n].engine.clone(), run.clone());
        self.processes[n].runtime.spawn(async move {
            let _ = if pause {
                engine.pause(&run, Actor::local(), None).await
            } else {
                engine.unpause(&run, Actor::local()).await
            };
        });
    }

    pub fn runs(&self) -> Vec<RunRecord> {
        let mut runs = self.disk.store.runs(&RunFilter::default(), None, 1000).unwrap().items;
        runs.reverse();
        runs
    }

    /// All journals, with runs numbered instead of named.
    pub fn journals(&self) -> String {
        let runs = self.runs();
        let mut text = String::new();
        for run in &runs {
            let entries = self.disk.store.entries(&run.id, 0, 100_000).unwrap();
            for entry in entries {
                text = format!("{text}{} {}\n", run.id, to_json(&entry));
            }
        }
        for (n, run) in runs.iter().filter(|run| run.root == run.id).enumerate() {
            text = text.replace(run.id.as_str(), &n.to_string());
        }
        text
    }

    fn open_runs(&self) -> Vec<RunRecord> {
        let mut runs = self.runs();
        runs.retain(|run| !run.status.is_over());
        runs
    }

    fn pending(&self) -> Vec<Request> {
        let filter =
            RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
        self.disk.store.requests(&filter, None, 1000).unwrap().items
    }

    /// What a person who looks at the world would answer.
    fn answer_to(&mut self, request: &Request) -> Decision {
        if request.body.kind == RequestKind::InDoubt {
            let place = request.body.context["action"]["place"].as_str().unwrap_or_default();
            return if self.lab.deed(request.run.as_str(), place).times > 0 {
                Decision::respond(Lab::value(place))
            } else {
                Decision::Retry { feedback: None }
            };
        }
        Decision::respond(["a", "b", "c"][self.dice.below(3)])
    }

    fn answer_something(&mut self) {
        let pending = self.pending();
        let Some(request) = self.dice.pick(&pending).cloned() else { return };
        let decision = self.answer_to(&request);
        self.answer(&request.id, decision.clone(), "ann");
        match self.dice.below(6) {
            0 => self.answer(&request.id, decision, "ann"),
            1 => self.answer(&request.id, decision, "bob"),
            2 | 3 => {
                let other = self.answer_to(&request);
                self.answer(&request.id, other, "bob");
            }
            _ => {}
        }
    }

    /// Has one of the processes take an answer.
    fn answer(&mut self, request: &RequestId, decision: Decision, by: &str) {
        let n = self.any_process();
        let (engine, log) = (self.processes[n].engine.clone(), Arc::clone(&self.log));
        let (request, by) = (request.clone(), Actor::new(by));
        self.processes[n].runtime.spawn(async move {
            let decide = DecideRequest::new(request.clone(), decision.clone()).by(by.clone());
            let outcome = match engine.decide(decide).await {
                Ok(outcome) if outcome.changed => Outcome::Taken,
                Ok(_) => Outcome::Stands,
                Err(
                    DecideError::AlreadyDecided(request)
                    | DecideError::Expired(request)
                    | DecideError::Cancelled(request),
                ) => Outcome::TooLate(request),
                Err(_) => return,
            };
            log.lock().unwrap().told.push(Told { request, decision, by, outcome });
        });
    }

    /// No more faults: everything is answered and everything runs, until nothing is left.
    fn settle(&mut self) -> Result<(), String> {
        self.disk.heal();
        for n in (0..self.processes.len()).rev() {
            self.processes[n].stopped = None;
            if self.processes[n].doomed.is_some() {
                self.crash(n);
            }
        }
        if self.processes.is_empty() {
            self.give_birth();
        }
        for round in 1..=PATIENCE {
            self.calm_down()?;
            for conversation in 0..self.conversations {
                self.begin(conversation);
            }
            let open = self.open_runs();
            if open.is_empty() && self.runs().iter().any(|run| run.root == run.id) {
                self.calm_down()?;
                if self.open_runs().is_empty() && self.all_begun() {
                    return Ok(());
                }
            }
            for run in &open {
                if run.status == RunStatus::Paused {
                    self.set_paused(&run.id, false);
                }
            }
            for request in self.pending() {
                let decision = self.answer_to(&request);
                self.answer(&request.id, decision, "eve");
            }
            // Both times pass alike, so that whoever lives keeps what it holds.
            for _ in 0..3 {
                self.advance(2_000);
                for process in &self.processes {
                    process.pass(2_000);
                }
                self.calm_down()?;
            }
            for n in 0..self.processes.len() {
                self.look(n);
            }
            if self.strict && round % 10 == 0 {
                self.crash(0);
                self.give_birth();
            }
        }
        let open: Vec<String> = self
            .open_runs()
            .iter()
            .map(|run| {
                let entries = self.disk.store.entries(&run.id, 0, 100_000).unwrap();
                let broken = RunState::fold(&entries).err();
                format!("  {} is {} {broken:?}\n{}", run.id, run.status, show(&entries))
            })
            .collect();
        Err(format!("stuck; {} pending\n{}", self.pending().len(), open.join("\n")))
    }

    fn all_begun(&self) -> bool {
        (0..self.conversations).all(|n| {
            self.disk.store.latest_run(&Tenant::local(), &Self::conversation(n)).unwrap().is_some()
        })
    }

    /// Carries out everything until nobody has anything to do at this moment.
    fn calm_down(&mut self) -> Result<(), String> {
        let mut quiet = 0;
        for _ in 0..20_000 {
            while self.carry_out_any(Fate::Done) {
                quiet = 0;
            }
            for process in &self.processes {
                process.turn(4);
            }
            quiet += 1;
            if quiet > 4 {
                return Ok(());
            }
        }
        Err("the processes never come to rest".to_owned())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.processes.clear();
    }
}

/// A journal to read, if need be only its end.
pub fn show(entries: &[Entry]) -> String {
    let last = entries.iter().skip(entries.len().saturating_sub(40));
    let lines: Vec<String> = last.map(|entry| format!("    {}", to_json(entry))).collect();
    lines.join("\n")
}
