//! The promises, kept under faults: random programs on a store that fails, in processes that die,
//! with clocks that jump and people who answer twice.
//!
//! Each seed is a world of its own and replays as it was. `SIGNOFF_SIM_SEEDS=5000` tries more of
//! them, `SIGNOFF_SIM_SEED=17` only that one.

#![allow(unreachable_pub)] // each module is used by its neighbours only
#![allow(clippy::unwrap_used)]

#[path = "simulation/check.rs"]
mod check;
#[path = "simulation/dice.rs"]
mod dice;
#[path = "simulation/disk.rs"]
mod disk;
#[path = "simulation/found.rs"]
mod found;
#[path = "simulation/program.rs"]
mod program;
#[path = "simulation/world.rs"]
mod world;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use disk::Broken;
use world::World;

const SEEDS: u64 = 300;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn seeds() -> Range<u64> {
    match number("SIGNOFF_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIGNOFF_SIM_SEEDS").unwrap_or(SEEDS),
    }
}

fn try_seed(seed: u64, broken: Broken) -> Result<(), String> {
    let mut world = World::new(seed, broken);
    world.live().and_then(|()| check::check(&world)).map_err(|problem| {
        let program = &world.program;
        format!(
            "seed {seed} (SIGNOFF_SIM_SEED={seed}, strict {}): {problem}\n{program:#?}",
            world.strict
        )
    })
}

/// Tries seeds on all processors until `most` have failed; returns what is wrong, by seed.
fn try_all(seeds: Range<u64>, broken: Broken, most: usize) -> Vec<(u64, String)> {
    let next = AtomicU64::new(seeds.start);
    let failed = std::sync::Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || failed.lock().unwrap().len() >= most {
                        return;
                    }
                    if let Err(problem) = try_seed(seed, broken) {
                        failed.lock().unwrap().push((seed, problem));
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    failed
}

#[test]
fn the_promises_hold_whatever_fails() {
    let failed = try_all(seeds(), Broken::No, usize::MAX);
    let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
    if let Some((_, problem)) = failed.first() {
        for (_, problem) in failed.iter().skip(1) {
            println!("{}", problem.lines().next().unwrap_or_default());
        }
        panic!("{} seeds fail: {seeds:?}\n{problem}", failed.len());
    }
}

#[test]
fn a_store_without_a_fence_is_noticed() {
    assert!(!try_all(0..SEEDS, Broken::Fence, 1).is_empty(), "no seed noticed");
}

#[test]
fn a_store_that_decides_twice_is_noticed() {
    assert!(!try_all(0..SEEDS, Broken::Decide, 1).is_empty(), "no seed noticed");
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
