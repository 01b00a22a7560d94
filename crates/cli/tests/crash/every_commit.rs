//! A crash before and after each commit that a command makes.

use std::sync::atomic::{AtomicU64, Ordering};

use signoff_testkit::Chance;

use crate::support::{Place, Reference, count, on_two_threads};

/// Commits beyond those that were counted at which a crash is tried: how many there are depends on
/// how fast things go.
const MARGIN: u64 = 3;

/// Before and after each of `commits` and a few more.
fn points(commits: u64) -> Vec<String> {
    let each = 1..=commits + MARGIN;
    each.flat_map(|n| [format!("before:{n}"), format!("after:{n}")]).collect()
}

fn any_point(chance: &mut Chance) -> String {
    let side = if chance.one_in(2) { "before" } else { "after" };
    format!("{side}:{}", chance.within(1..9))
}

/// Goes on with whatever there is until the run is over, with `crashes` more crashes on the way.
fn finish(place: &mut Place, chance: &mut Chance, mut crashes: u32) {
    loop {
        let crash = if crashes > 0 { any_point(chance) } else { String::new() };
        crashes = crashes.saturating_sub(1);
        let env = [("SIGNOFF_CRASH_AT", crash.as_str())];
        let ended = match place.run_id() {
            None => place.run(&Place::PLAN, &env),
            Some(run) => place.run(&["resume", &run, "--answers", "answers.json", "--json"], &env),
        };
        if !ended.crashed() {
            drop(ended.exits(0));
            return;
        }
    }
}

#[test]
fn a_run_goes_on_after_a_crash_at_any_commit() {
    let reference = Reference::new();
    let points = points(reference.commits);
    let chance = Chance::for_test("run");
    let crashes = AtomicU64::new(0);
    on_two_threads(points.len(), |n| {
        let mut place = Place::new();
        if place.run(&Place::PLAN, &[("SIGNOFF_CRASH_AT", &points[n])]).crashed() {
            crashes.fetch_add(1, Ordering::Relaxed);
        }
        finish(&mut place, &mut chance.for_case(n as u64), 1);
        reference.assert_same(&place);
    });
    println!("{crashes:?} crashes; {} commits without one", reference.commits);
    assert!(crashes.into_inner() >= reference.commits, "most points were not reached");
}

#[test]
fn an_answer_is_taken_once_through_a_crash_at_any_commit() {
    let reference = Reference::new();
    let mut parked = Place::new();
    drop(parked.run(&Place::PLAN_QUEUED, &[]).exits(3));
    let (request, answer) = parked.pending().unwrap();
    let args = ["inbox", "answer", &request, answer, "--as", "ada", "--json"];
    let (ended, commits) = count(&mut parked.copy(), &args);
    drop(ended.exits(0));
    let points = points(commits);
    let chance = Chance::for_test("answer");
    on_two_threads(points.len(), |n| {
        let mut place = parked.copy();
        let ended = place.run(&args, &[("SIGNOFF_CRASH_AT", &points[n])]);
        assert!(ended.crashed() || ended.code == Some(0), "{ended:#?}");
        // Whoever was not told tries again. If it had been taken, that changes nothing.
        drop(place.run(&args, &[]).exits(0));
        finish(&mut place, &mut chance.for_case(n as u64), 1);
        reference.assert_same(&place);
    });
}
