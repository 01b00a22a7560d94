//! The promises, kept under faults: random programs on a store that fails, in processes that die or stop,
//! with clocks that jump and people who answer twice.
//!
//! Each seed is a world of its own and replays as it was. `SIGNOFF_SIM_SEEDS=5000` tries more of
//! them, `SIGNOFF_SIM_SEED=17` only that one.

#![allow(unreachable_pub)] // each module is used by its neighbours only
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "simulation/check.rs"]
mod check;
#[path = "simulation/day.rs"]
mod day;
#[path = "simulation/dice.rs"]
mod dice;
#[path = "simulation/disk.rs"]
mod disk;
#[path = "simulation/found.rs"]
mod found;
#[path = "simulation/history.rs"]
mod history;
#[path = "simulation/planted.rs"]
mod planted;
#[path = "simulation/process.rs"]
mod process;
#[path = "simulation/program.rs"]
mod program;
#[path = "simulation/world.rs"]
mod world;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use planted::Broken;
use world::{Troubles, World};

const SEEDS: u64 = 1000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn seeds() -> Range<u64> {
    match number("SIGNOFF_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIGNOFF_SIM_SEEDS").unwrap_or(SEEDS),
    }
}

fn try_seed(seed: u64, broken: Broken) -> (Result<(), String>, Troubles) {
    let mut world = World::new(seed, broken);
    let end = world.live().and_then(|()| check::check(&world)).map_err(|problem| {
        let program = &world.program;
        format!(
            "seed {seed} (SIGNOFF_SIM_SEED={seed}, strict {}): {problem}\n{program:#?}",
            world.strict
        )
    });
    (end, world.troubles())
}

/// Calls `each` with seeds in turn, on all processors, until it says stop.
fn on_all_processors(seeds: Range<u64>, each: impl Fn(u64) -> bool + Sync) {
    let next = AtomicU64::new(seeds.start);
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    if !each(seed) {
                        next.store(seeds.end, Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

#[test]
fn the_promises_hold_whatever_fails() {
    let failed = Mutex::new(Vec::new());
    let went_through = Mutex::new(Troubles::default());
    on_all_processors(seeds(), |seed| {
        let (end, troubles) = try_seed(seed, Broken::No);
        *went_through.lock().unwrap() += troubles;
        failed.lock().unwrap().extend(end.err().map(|problem| (seed, problem)));
        true
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
    if let Some((_, problem)) = failed.first() {
        for (_, problem) in failed.iter().skip(1) {
            println!("{}", problem.lines().next().unwrap_or_default());
        }
        panic!("{} seeds fail: {seeds:?}\n{problem}", failed.len());
    }
    let all = went_through.into_inner().unwrap();
    println!("{all:?}");
    if number("SIGNOFF_SIM_SEED").is_none() {
        let Troubles { crashes, power_losses, stops, jumps, .. } = all;
        let Troubles { failures, fenced, too_late, expired, shown, .. } = all;
        let kinds = [crashes, power_losses, stops, jumps, failures, fenced, too_late, expired];
        assert!(kinds.iter().all(|kind| *kind > 20) && shown > 1000, "too quiet: {all:?}");
    }
}

/// Whether a world with such a store is found out, by a complaint that has one of these texts.
fn is_noticed(broken: Broken, complaints: &[&str]) {
    let noticed = Mutex::new(None);
    let others = Mutex::new(Vec::new());
    on_all_processors(seeds(), |seed| {
        if let (Err(problem), _) = try_seed(seed, broken) {
            let first = problem.lines().take(2).collect::<Vec<_>>().join(" ");
            if complaints.iter().any(|complaint| problem.contains(complaint)) {
                noticed.lock().unwrap().get_or_insert(first);
            } else {
                others.lock().unwrap().push(first);
            }
        }
        noticed.lock().unwrap().is_none()
    });
    match noticed.into_inner().unwrap() {
        Some(problem) => println!("{broken:?}: {problem}"),
        None => panic!("{broken:?} goes unseen; {:#?}", others.into_inner().unwrap()),
    }
}

#[test]
fn a_store_without_a_fence_is_noticed() {
    is_noticed(Broken::Fence, &["was shown after", "ended twice", "happened 2 times"]);
}

#[test]
fn a_store_that_decides_twice_is_noticed() {
    is_noticed(Broken::Decide, &["two answers to", "was accepted, but"]);
}

#[test]
fn a_store_that_acknowledges_before_it_syncs_is_noticed() {
    let lost = ["was acknowledged and is lost", "is gone", "was accepted, but", "shown as durable"];
    is_noticed(Broken::Sync, &lost);
}

#[test]
fn a_deadline_that_is_not_claimed_is_noticed() {
    is_noticed(Broken::Timer, &["in the journal, Some"]);
}

#[test]
fn an_event_that_is_sent_before_its_commit_is_noticed() {
    is_noticed(Broken::Event, &["was shown as durable"]);
}

#[test]
fn a_seed_replays_as_it_was() {
    for seed in 0..12 {
        let journals = || {
            let mut world = World::new(seed, Broken::No);
            let end = world.live();
            format!("{end:?} {}", world.journals())
        };
        assert!(journals() == journals(), "seed {seed}");
    }
}
