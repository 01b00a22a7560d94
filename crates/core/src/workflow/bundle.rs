//! Workflows that use each other: every name resolved, every version pinned.

use std::collections::BTreeMap;

use super::Workflow;
use super::diagnostic::{Diagnostic, Problem, locate, quote, suggest};
use super::parse::Parsed;
use super::tree::join;

/// Resolves which workflows use which, and pins their versions, from the bottom up: a version
/// stands for everything below it. Gives the workflows in the order they came in.
pub fn link<P: Into<Parsed>>(files: Vec<(String, P)>) -> Result<Vec<Workflow>, Vec<Diagnostic>> {
    let mut files: Vec<(String, Parsed)> =
        files.into_iter().map(|(name, parsed)| (name, parsed.into())).collect();
    let mut found: Vec<(usize, Problem)> = Vec::new();
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    for (n, (_, parsed)) in files.iter().enumerate() {
        let id = &parsed.workflow.id;
        match by_id.get(id) {
            Some(&first) => {
                let message = format!("the workflow {} is in two files", quote(id));
                let hint = format!("it is already in {}", files[first].0);
                found.push((n, Problem::value("/workflow", message).hint(hint)));
            }
            None => {
                by_id.insert(id.clone(), n);
            }
        }
    }
    let mut uses: Vec<Vec<(String, usize)>> = Vec::with_capacity(files.len());
    for (n, (_, parsed)) in files.iter().enumerate() {
        let mut targets = Vec::new();
        for (executor, id) in includes(&parsed.workflow) {
            let path = join(&join("/executors", executor), "workflow");
            if let Some(&target) = by_id.get(id) {
                targets.push((path, target));
            } else {
                let known = by_id.keys().map(String::as_str);
                let message = format!("there is no workflow {}", quote(id));
                let hint = suggest(id, known, "known here");
                found.push((n, Problem::value(path, message).maybe_hint(hint)));
            }
        }
        uses.push(targets);
    }
    let order = bottom_up(&files, &uses, &mut found);
    if !found.is_empty() {
        return Err(report(&files, found));
    }
    for n in order {
        let pinned = uses[n]
            .iter()
            .map(|(_, target)| {
                let part = &files[*target].1.workflow;
                (part.id.clone(), part.version())
            })
            .collect();
        files[n].1.workflow.uses = pinned;
    }
    Ok(files.into_iter().map(|(_, parsed)| parsed.workflow).collect())
}

fn includes(workflow: &Workflow) -> impl Iterator<Item = (&String, &String)> {
    workflow
        .executors
        .iter()
        .filter_map(|(name, executor)| executor.workflow.as_ref().map(|id| (name, id)))
}

/// The files in an order in which each comes after those it uses. Reports every circle on the way.
fn bottom_up(
    files: &[(String, Parsed)],
    uses: &[Vec<(String, usize)>],
    found: &mut Vec<(usize, Problem)>,
) -> Vec<usize> {
    let mut order = Vec::with_capacity(files.len());
    let mut done = vec![false; files.len()];
    for first in 0..files.len() {
        // The way down to where we are: a file, and which of its uses comes next.
        let mut way: Vec<(usize, usize)> = if done[first] { Vec::new() } else { vec![(first, 0)] };
        while let Some((n, next)) = way.last_mut() {
            let (n, use_number) = (*n, *next);
            *next += 1;
            let Some((path, target)) = uses[n].get(use_number) else {
                done[n] = true;
                order.push(n);
                way.pop();
                continue;
            };
            if let Some(begin) = way.iter().position(|(on_way, _)| on_way == target) {
                let mut names: Vec<&str> =
                    way[begin..].iter().map(|(n, _)| files[*n].1.workflow.id.as_str()).collect();
                names.push(&files[*target].1.workflow.id);
                let message =
                    format!("workflows use each other in a circle: {}", names.join(" -> "));
                found.push((
                    n,
                    Problem::value(path, message).hint("a workflow cannot be part of itself"),
                ));
            } else if !done[*target] {
                way.push((*target, 0));
            }
        }
    }
    order
}

fn report(files: &[(String, Parsed)], found: Vec<(usize, Problem)>) -> Vec<Diagnostic> {
    let mut by_file: BTreeMap<usize, Vec<Problem>> = BTreeMap::new();
    for (n, problem) in found {
        by_file.entry(n).or_default().push(problem);
    }
    by_file
        .into_iter()
        .flat_map(|(n, problems)| {
            let (name, parsed) = &files[n];
            locate(problems, parsed.tree.as_ref())
                .into_iter()
                .map(|problem| problem.in_file(name.clone()))
        })
        .collect()
}
