//! `kill -9`, at every commit and at any moment: nothing is lost, nothing is done twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use signoff_testkit::workflows::{ERRANDS, EVENT_PLANNER};
use signoff_testkit::{Chance, Ended};

use crate::support::{Doubts, Place, Reference};

/// Commits beyond those of the reference at which a crash is tried: how many there are depends on how
/// fast things go.
const MARGIN: u64 = 3;

impl Doubts {
    fn add(&mut self, other: &Self) {
        self.retried += other.retried;
        self.had_happened += other.had_happened;
    }
}

/// Does `work` for each number below `count`, on two threads, and adds up what it found.
fn on_two_threads(count: u64, work: impl Fn(u64) -> Doubts + Sync) -> Doubts {
    let next = AtomicU64::new(0);
    let total = Mutex::new(Doubts::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return;
                    }
                    let found = work(n);
                    total.lock().unwrap_or_else(PoisonError::into_inner).add(&found);
                }
            });
        }
    });
    total.into_inner().unwrap()
}

fn crash_at_every_commit(workflow: &'static str) {
    let chance = Chance::for_test(workflow);
    let reference = Reference::of(workflow);
    let doubts = on_two_threads((reference.commits + MARGIN) * 2, |n| {
        let mut chance = chance.for_case(n);
        let side = if n % 2 == 0 { "before" } else { "after" };
        let place = Place::new();
        let mut crash = format!("{side}:{}", n / 2 + 1);
        loop {
            let ended = place.finisher(workflow, &[("SIGNOFF_CRASH_AT", &crash)]).wait();
            if !ended.crashed() {
                return reference.assert_same(&place, &ended.exits(0));
            }
            // Half of those that go on crash too, most of them while they still recover.
            let side = if chance.one_in(2) { "before" } else { "after" };
            let again = chance.one_in(2);
            crash = if again { format!("{side}:{}", chance.within(1..7)) } else { String::new() };
        }
    });
    println!("{workflow}: {} commits, {doubts:?}", reference.commits);
    assert!(doubts.retried > 0, "no crash between an intent and its effect");
    assert!(doubts.had_happened > 0, "no crash between an effect and its result");
}

#[test]
fn an_event_is_planned_through_a_crash_at_every_commit() {
    crash_at_every_commit(EVENT_PLANNER);
}

#[test]
fn errands_are_done_once_through_a_crash_at_every_commit() {
    crash_at_every_commit(ERRANDS);
}

/// Kills workers at any moment until `kills` of them are dead.
fn kill_at_random(workflow: &'static str, kills: u64, delay_ms: &str) {
    let chance = Mutex::new(Chance::for_test(workflow));
    let reference = Reference::of(workflow);
    let killed = AtomicU64::new(0);
    let doubts = on_two_threads(2, |_| {
        let mut chance = chance.lock().unwrap().split();
        let mut doubts = Doubts::default();
        while killed.load(Ordering::Relaxed) < kills {
            let place = Place::new();
            let ended = kill_until_over(&place, &mut chance, &killed, workflow, delay_ms);
            doubts.add(&reference.assert_same(&place, &ended.exits(0)));
        }
        doubts
    });
    println!("{workflow}: {killed:?} killed, {doubts:?}");
}

fn kill_until_over(
    place: &Place,
    chance: &mut Chance,
    killed: &AtomicU64,
    workflow: &'static str,
    delay_ms: &str,
) -> Ended {
    loop {
        let mut worker = place.finisher(workflow, &[("SIGNOFF_COMMIT_DELAY_MS", delay_ms)]);
        // Most of the time from its first sign of life on, which is an answer.
        let alive = chance.one_in(2) && worker.line().is_some();
        let within = Duration::from_millis(if alive { 60 } else { 400 });
        let ended = worker.kill_in(chance.span(Duration::ZERO..within));
        if !ended.was_killed() {
            return ended;
        }
        killed.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_event_is_planned_though_its_processes_are_killed() {
    kill_at_random(EVENT_PLANNER, 60, "3");
}

#[test]
fn errands_are_done_once_though_their_processes_are_killed() {
    kill_at_random(ERRANDS, 60, "5");
}
