//! Every loop of a graph has a bound.

use std::collections::{BTreeMap, BTreeSet};

use super::Check;
use super::graph::Way;
use crate::workflow::diagnostic::{Problem, quote};

/// How many unbounded loops are reported.
const MAX_LOOPS: usize = 10;
/// How many executors of one loop are named.
const MAX_NAMED: usize = 12;

impl Check<'_> {
    pub(super) fn loops_end(&mut self, ways: &[Way<'_>]) {
        let mut unbounded: Vec<(usize, &str, &str)> = ways
            .iter()
            .enumerate()
            .filter(|(_, way)| !way.bounded)
            .flat_map(|(n, way)| {
                way.from.iter().flat_map(move |from| way.to.iter().map(move |to| (n, *from, *to)))
            })
            .collect();
        for _ in 0..MAX_LOOPS {
            let Some((closing, names)) = find_loop(&unbounded) else {
                return;
            };
            let (from, to) = (names[names.len() - 1], names[0]);
            let mut shown: Vec<&str> = names.iter().copied().take(MAX_NAMED).collect();
            if names.len() > MAX_NAMED {
                shown.push("…");
                shown.push(from);
            }
            shown.push(to);
            let fix = if ways[closing].fan_in {
                "put `max: 3` on an edge of the loop that is not a fan-in".to_owned()
            } else {
                format!("put `max: 3` on this edge from {} to {}", quote(from), quote(to))
            };
            self.report(
                Problem::value(
                    ways[closing].path.clone(),
                    format!("the loop {} has no bound", shown.join(" -> ")),
                )
                .hint(fix),
            );
            // Goes on as if it had been repaired, to find the loops that would be left.
            unbounded.retain(|(n, _, _)| *n != closing);
        }
    }
}

/// The executors of some loop, in order, and the edge that closes it.
fn find_loop<'a>(edges: &[(usize, &'a str, &'a str)]) -> Option<(usize, Vec<&'a str>)> {
    let mut out: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    let mut into: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, from, to) in edges {
        out.entry(from).or_default().push((*n, to));
        into.entry(to).or_default().push(from);
        *left.entry(from).or_default() += 1;
        left.entry(to).or_default();
    }
    // Whatever leads only to an end is in no loop. What is left always leads on, so walking it must
    // come back to where it was.
    let mut ends: Vec<&str> =
        left.iter().filter(|(_, n)| **n == 0).map(|(name, _)| *name).collect();
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    while let Some(end) = ends.pop() {
        gone.insert(end);
        for from in into.get(end).into_iter().flatten() {
            if let Some(n) = left.get_mut(from) {
                *n -= 1;
                if *n == 0 {
                    ends.push(from);
                }
            }
        }
    }
    // Starts where the file starts, so that a loop is told from its entrance.
    let first = edges.iter().map(|(_, from, _)| *from).find(|from| !gone.contains(from))?;
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut walk: Vec<&str> = Vec::new();
    let mut current = first;
    loop {
        seen.insert(current, walk.len());
        walk.push(current);
        let (edge, next) = out.get(current)?.iter().find(|(_, to)| !gone.contains(to))?;
        if let Some(begin) = seen.get(next) {
            return Some((*edge, walk.split_off(*begin)));
        }
        current = next;
    }
}
