//! `kill -9` at any moment.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use signoff_testkit::{Chance, Ended};

use crate::support::{Place, Reference, on_two_threads};

const KILLS: usize = 200;
/// How many of them must have hit a run on its way for this to have been a test.
const HITS: usize = KILLS / 4;
/// Each commit takes a little longer, so that more kills fall into one.
const SLOWLY: [(&str, &str); 1] = [("SIGNOFF_COMMIT_DELAY_MS", "3")];

#[derive(Default)]
struct Count {
    killed: AtomicUsize,
    hit: AtomicUsize,
    runs: AtomicUsize,
}

/// Kills processes that work on `place`.
struct Killer<'a> {
    place: &'a mut Place,
    chance: &'a mut Chance,
    count: &'a Count,
    /// How long a process works that nobody kills, about.
    usual: Duration,
}

impl Killer<'_> {
    /// Starts the binary and kills it at a moment that falls anywhere, unless it is done before.
    fn run(&mut self, args: &[&str]) -> Ended {
        let mut process = self.place.start(args, &SLOWLY);
        // Much of its time it only starts: half of them die from their first line on.
        let shown = self.chance.one_in(2) && process.line().is_some();
        let within = if shown { self.usual / 6 } else { self.usual };
        let ended = process.kill_in(self.chance.span(Duration::ZERO..within)).quiet();
        self.place.saw(&ended);
        if ended.was_killed() {
            self.count.killed.fetch_add(1, Ordering::Relaxed);
        } else {
            assert!(matches!(ended.code, Some(0 | 3)), "{ended:#?}");
        }
        ended
    }

    /// Written answers: the same process asks and answers.
    fn followed(&mut self) {
        let mut args: Vec<String> = Place::PLAN.map(str::to_owned).to_vec();
        loop {
            let strs: Vec<&str> = args.iter().map(String::as_str).collect();
            if self.run(&strs).code == Some(0) {
                return;
            }
            if let Some(run) = self.place.run_id() {
                self.count.hit.fetch_add(1, Ordering::Relaxed);
                args = ["resume", &run, "--answers", "answers.json", "--json"]
                    .map(str::to_owned)
                    .to_vec();
            }
        }
    }

    /// One process starts the run, others answer, others go on.
    fn queued(&mut self) {
        let run = loop {
            self.run(&Place::PLAN_QUEUED);
            if let Some(run) = self.place.run_id() {
                break run;
            }
        };
        loop {
            let pending = self.place.pending();
            let ended = if let Some((request, answer)) = &pending {
                self.run(&["inbox", "answer", request, answer, "--as", "ada", "--json"])
            } else {
                self.run(&["resume", &run, "--no-prompt", "queue", "--json"])
            };
            if pending.is_none() && ended.code == Some(0) {
                return;
            }
            if ended.was_killed() {
                self.count.hit.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn two_hundred_kills_lose_nothing_and_repeat_nothing() {
    let reference = Reference::new();
    let since = Instant::now();
    drop(Place::new().run(&Place::PLAN, &SLOWLY).exits(0));
    let usual = since.elapsed();
    let chance = Mutex::new(Chance::for_test("kill"));
    let count = Count::default();
    on_two_threads(2, |_| {
        let mut chance = chance.lock().unwrap().split();
        while count.killed.load(Ordering::Relaxed) < KILLS {
            let mut place = Place::new();
            let mut killer =
                Killer { place: &mut place, chance: &mut chance.split(), count: &count, usual };
            if chance.one_in(2) {
                killer.followed();
            } else {
                killer.queued();
            }
            reference.assert_same(&place);
            count.runs.fetch_add(1, Ordering::Relaxed);
        }
    });
    let Count { killed, hit, runs } = count;
    println!("{killed:?} killed, {hit:?} of them with the run on its way, in {runs:?} runs");
    assert!(hit.into_inner() >= HITS, "the kills came too early or too late");
}
