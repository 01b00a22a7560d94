//! Lease, fence, answer and deadline as a small state space that is searched whole: two nodes, one run, one request, two
//! people, pauses and crashes anywhere, clocks that differ. What holds here holds in every order there is.

#![allow(unreachable_pub)] // each module is used by its neighbours only
#![allow(clippy::expect_used, clippy::print_stdout)] // tests

#[path = "model/search.rs"]
mod search;
#[path = "model/system.rs"]
mod system;

use search::{Found, search};
use system::{Action, Fence, Rules, State};

/// Clocks of the two nodes, as errors in ticks. A lease lasts two.
const CLOCKS: [[i8; 2]; 4] = [[0, 0], [0, 1], [1, -1], [0, 2]];
/// Those of SQLite and of PostgreSQL.
const FENCES: [Fence; 2] = [Fence::Rows, Fence::Number];

/// What must be so in every state; else why not.
fn wrong(state: &State) -> Option<&'static str> {
    if state.performed.iter().any(|times| *times > 1) {
        return Some("a step was carried out twice");
    }
    if state.outcomes().count() > 1 {
        return Some("the journal has two outcomes of one request");
    }
    if state.told.iter().filter(|told| **told == Some(true)).count() > 1 {
        return Some("two answers were accepted");
    }
    let contradicts = state.outcomes().any(|outcome| Some(outcome) != state.request.outcome());
    if contradicts {
        return Some("the run goes on with something else than the inbox says");
    }
    let lost = (0..2).any(|person| {
        state.told[person] == Some(true)
            && state.request.outcome() != Some(system::Outcome::Answer(person))
    });
    lost.then_some("an accepted answer is lost")
}

fn explore(rules: &Rules) -> Found {
    search(State::new(), |state| state.next(rules), wrong, State::is_over)
}

#[test]
fn nothing_goes_wrong_in_any_order() {
    for (clocks, fence) in CLOCKS.into_iter().flat_map(|it| FENCES.map(|fence| (it, fence))) {
        let found = explore(&Rules { fence, clocks, ..Rules::default() });
        assert!(found.problem.is_none(), "clocks {clocks:?}, {fence:?}: {:#?}", found.problem);
        assert!(found.states > 10_000, "only {} states", found.states);
        assert_eq!(found.hopeless, 0, "from some states there is no way to the end");
        println!("clocks {clocks:?}, {fence:?}: {} states", found.states);
    }
}

/// The way to what goes wrong without some part.
fn counterexample(rules: &Rules) -> (&'static str, Vec<Action>) {
    let found = explore(rules);
    let (problem, way) = found.problem.expect("nothing goes wrong without it");
    println!("{problem}:\n  {way:?}");
    (problem, way)
}

#[test]
fn without_the_fence_a_step_is_carried_out_twice() {
    for fence in [Fence::Nothing, Fence::FixedNumber, Fence::BelievedNumber] {
        let (problem, way) = counterexample(&Rules { fence, ..Rules::default() });
        assert_eq!(problem, "a step was carried out twice");
        // Somebody claims what somebody else believes to hold.
        let claims = way.iter().filter(|action| matches!(action, Action::Claim(_))).count();
        assert!(claims >= 2, "{way:?}");
    }
}

#[test]
fn without_compare_and_set_two_answers_are_accepted() {
    let (problem, _) = counterexample(&Rules { compare_and_set: false, ..Rules::default() });
    assert_eq!(problem, "two answers were accepted");
}

#[test]
fn a_deadline_that_is_not_claimed_contradicts_an_answer() {
    let (problem, way) = counterexample(&Rules { claimed_deadline: false, ..Rules::default() });
    assert!(problem.contains("inbox") || problem.contains("lost"), "{problem}");
    assert!(way.iter().any(|action| matches!(action, Action::Deadline(_))), "{way:?}");
}

#[test]
fn a_step_that_is_begun_before_its_intent_is_written_is_carried_out_twice() {
    let (problem, _) = counterexample(&Rules { intent_first: false, ..Rules::default() });
    assert_eq!(problem, "a step was carried out twice");
}
