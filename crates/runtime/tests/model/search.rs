//! Breadth first through all states there are.

use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;

use super::system::Action;

/// What a search has found.
#[derive(Debug)]
pub struct Found {
    pub states: usize,
    /// What is wrong, and a shortest way to it.
    pub problem: Option<(&'static str, Vec<Action>)>,
    /// From how many states there is no way to the end.
    pub hopeless: usize,
}

/// Goes through everything that can follow from `first`, until something is wrong.
pub fn search<S: Clone + Debug + Eq + Hash>(
    first: S,
    next: impl Fn(&S) -> Vec<(Action, S)>,
    wrong: impl Fn(&S) -> Option<&'static str>,
    is_over: impl Fn(&S) -> bool,
) -> Found {
    let mut known = HashMap::from([(first.clone(), 0_usize)]);
    // Each state with where it was first reached from, and by what.
    let mut came_from: Vec<Option<(usize, Action)>> = vec![None];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut ends = Vec::new();
    let mut queue = VecDeque::from([(0, first)]);
    while let Some((place, state)) = queue.pop_front() {
        if let Some(problem) = wrong(&state) {
            let way = way_to(place, &came_from);
            return Found { states: known.len(), problem: Some((problem, way)), hopeless: 0 };
        }
        if is_over(&state) {
            ends.push(place);
        }
        for (action, then) in next(&state) {
            let fresh = known.len();
            let there = *known.entry(then.clone()).or_insert(fresh);
            if there == fresh {
                came_from.push(Some((place, action)));
                before.push(Vec::new());
                queue.push_back((there, then));
            }
            before[there].push(place);
        }
    }
    let mut hopeful = vec![false; known.len()];
    let mut open = ends;
    while let Some(place) = open.pop() {
        if !std::mem::replace(&mut hopeful[place], true) {
            open.extend(&before[place]);
        }
    }
    let hopeless = hopeful.iter().filter(|hopeful| !**hopeful).count();
    Found { states: known.len(), problem: None, hopeless }
}

fn way_to(mut place: usize, came_from: &[Option<(usize, Action)>]) -> Vec<Action> {
    let mut way = Vec::new();
    while let Some((from, action)) = came_from[place] {
        way.push(action);
        place = from;
    }
    way.reverse();
    way
}
