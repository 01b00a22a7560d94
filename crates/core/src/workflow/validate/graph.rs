//! A graph as listed: its executors, its edges, and whether a run can go through it and come out.

use std::collections::{BTreeMap, BTreeSet};

use super::Check;
use crate::deciders::Who;
use crate::expr::Expr;
use crate::request::RequestKind;
use crate::time::Span;
use crate::workflow::compile::{EDGE_VARIABLES, EXECUTOR_KINDS, TRANSFORM_VARIABLES};
use crate::workflow::diagnostic::{Problem, quote};
use crate::workflow::tree::join;
use crate::workflow::{AskFile, EdgeFile, ExecutorFile, OneOrMany};

/// An edge with its place in the file, reduced to where it starts and where it can lead.
pub(super) struct Way<'a> {
    pub(super) path: String,
    pub(super) from: Vec<&'a str>,
    pub(super) to: Vec<&'a str>,
    pub(super) bounded: bool,
    pub(super) fan_in: bool,
}

impl<'a> Check<'a> {
    pub(super) fn graph(&mut self) {
        let workflow = self.workflow;
        for (name, executor) in &workflow.executors {
            self.executor(executor, &join("/executors", name));
        }
        let names: BTreeSet<&str> =
            workflow.executors.keys().chain(workflow.agents.keys()).map(String::as_str).collect();
        let mut ways = Vec::new();
        for (n, edge) in workflow.edges.iter().enumerate() {
            ways.push(self.edge(edge, format!("/edges/{n}"), &names));
        }
        if let Some(start) = &workflow.start
            && self.must_know("executor", start, "/start", names.iter().copied())
        {
            self.reachable(start, &ways);
        }
        self.loops_end(&ways);
    }

    fn executor(&mut self, file: &ExecutorFile, path: &str) {
        let ExecutorFile { agent, function, transform, ask, ask_given, workflow } = file;
        let kinds = [
            ("agent", agent.is_some()),
            ("function", function.is_some()),
            ("transform", transform.is_some()),
            ("ask", ask.is_some()),
            ("ask_given", ask_given.is_some()),
            ("workflow", workflow.is_some()),
        ];
        let given: Vec<&str> =
            kinds.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        if given.len() != 1 {
            let message = match given.as_slice() {
                [] => "an executor needs a kind".to_owned(),
                given => format!("an executor has one kind, this one has {}", given.join(" and ")),
            };
            let hint = format!("write exactly one of {EXECUTOR_KINDS}");
            self.report(Problem::key(path, message).hint(hint));
        }
        if let Some(agent) = agent {
            self.must_know_agent(agent, &format!("{path}/agent"));
        }
        if let Some(function) = function {
            let known = self.known.functions.iter().copied();
            self.must_know("function", function, &format!("{path}/function"), known);
        }
        if let Some(source) = transform {
            self.expression(source, TRANSFORM_VARIABLES, format!("{path}/transform"));
        }
        if let (Some(id), Some(workflows)) = (workflow, &self.known.workflows) {
            self.must_know("workflow", id, &format!("{path}/workflow"), workflows.iter().copied());
        }
        if let Some(ask) = ask {
            self.ask(ask, &format!("{path}/ask"));
        }
        if let Some(ask) = ask_given {
            self.within(ask.within, &format!("{path}/ask_given"));
            if let Some(problem) = ask.who.as_ref().and_then(Who::problem) {
                self.report(Problem::value(format!("{path}/ask_given/who"), problem));
            }
        }
    }

    fn ask(&mut self, ask: &AskFile, path: &str) {
        let options = format!("{path}/options");
        if ask.prompt.trim().is_empty() {
            self.report(Problem::value(format!("{path}/prompt"), "the question is empty"));
        }
        match ask.kind {
            RequestKind::Selection if ask.options.is_empty() => {
                self.report(
                    Problem::key(path, "a selection needs `options`").hint("list the answers"),
                );
            }
            RequestKind::Selection => {
                let mut seen = BTreeSet::new();
                for (n, option) in ask.options.iter().enumerate() {
                    if !seen.insert(option) {
                        let message = format!("{} is here twice", quote(option));
                        self.report(Problem::value(format!("{options}/{n}"), message));
                    }
                }
            }
            RequestKind::Input | RequestKind::Approval => {
                if !ask.options.is_empty() {
                    self.report(
                        Problem::key(options, "only a selection has `options`")
                            .hint("write `kind: selection`, or drop the options"),
                    );
                }
            }
            other => self.report(
                Problem::value(format!("{path}/kind"), format!("a workflow cannot ask `{other}`"))
                    .hint("write input, selection or approval"),
            ),
        }
        self.within(ask.within, path);
    }

    fn within(&mut self, within: Option<Span>, path: &str) {
        if within.is_some_and(|within| within.0 == 0) {
            let message = "`within` must be more than nothing";
            self.report(Problem::value(format!("{path}/within"), message));
        }
    }

    pub(super) fn expression(&mut self, source: &str, variables: &[&str], path: String) {
        if let Err(problem) = Expr::compile(source, variables) {
            let message = format!("the expression {} is wrong: {problem}", quote(source));
            self.report(Problem::value(path, message));
        }
    }

    fn edge(&mut self, edge: &'a EdgeFile, path: String, names: &BTreeSet<&str>) -> Way<'a> {
        let from = self.ends(&edge.from, &format!("{path}/from"), names);
        let fan_in = from.len() > 1;
        let mut to = match &edge.to {
            Some(to) => self.ends(to, &format!("{path}/to"), names),
            None => Vec::new(),
        };
        match (edge.to.is_some(), !edge.switch.is_empty()) {
            (true, true) => self.report(
                Problem::key(format!("{path}/switch"), "an edge has `to` or `switch`, not both")
                    .hint("drop one of them"),
            ),
            (false, false) => self.report(
                Problem::value(&path, "the edge leads nowhere").hint("add `to` or `switch`"),
            ),
            _ => {}
        }
        for (n, case) in edge.switch.iter().enumerate() {
            let path = format!("{path}/switch/{n}");
            let known = names.iter().copied();
            self.must_know("executor", &case.to, &format!("{path}/to"), known);
            to.push(&case.to);
            match &case.when {
                Some(when) => self.expression(when, EDGE_VARIABLES, format!("{path}/when")),
                None if n + 1 < edge.switch.len() => self.report(
                    Problem::value(path, "only the last case may do without `when`")
                        .hint("the cases after it would never be looked at"),
                ),
                None => {}
            }
        }
        if let Some(when) = &edge.when {
            self.expression(when, EDGE_VARIABLES, format!("{path}/when"));
            if !edge.switch.is_empty() {
                let hint = "put the condition into the cases";
                self.report(
                    Problem::key(format!("{path}/when"), "a switch has no `when` of its own")
                        .hint(hint),
                );
            }
        }
        if edge.max == Some(0) {
            self.report(Problem::value(format!("{path}/max"), "`max` must be at least 1"));
        }
        if fan_in {
            let wrong = [
                ("when", edge.when.is_some()),
                ("max", edge.max.is_some()),
                ("switch", !edge.switch.is_empty()),
            ];
            for (name, _) in wrong.iter().filter(|(_, given)| *given) {
                self.report(
                    Problem::key(format!("{path}/{name}"), format!("a fan-in has no `{name}`"))
                        .hint("it waits for all its sources, once each time"),
                );
            }
            if edge.to.as_ref().is_some_and(|to| to.names().len() > 1) {
                self.report(
                    Problem::value(format!("{path}/to"), "a fan-in leads to one executor")
                        .hint("lead it to one, and from there to the others"),
                );
            }
        }
        Way { path, from, to, bounded: edge.max.is_some() && !fan_in, fan_in }
    }

    /// The executors at one end of an edge.
    fn ends(&mut self, ends: &'a OneOrMany, path: &str, names: &BTreeSet<&str>) -> Vec<&'a str> {
        let list: Vec<(&str, String)> = match ends {
            OneOrMany::One(name) => vec![(name, path.to_owned())],
            OneOrMany::Many(all) => all
                .iter()
                .enumerate()
                .map(|(n, name)| (name.as_str(), format!("{path}/{n}")))
                .collect(),
        };
        if list.is_empty() {
            self.report(Problem::value(path, "at least one executor is needed here"));
        }
        let mut seen = BTreeSet::new();
        for (name, path) in &list {
            if seen.insert(*name) {
                self.must_know("executor", name, path, names.iter().copied());
            } else {
                self.report(Problem::value(path, format!("{} is here twice", quote(name))));
            }
        }
        list.into_iter().map(|(name, _)| name).collect()
    }

    /// Every executor can be reached, and so can everything a fan-in waits for.
    fn reachable(&mut self, start: &str, ways: &[Way<'_>]) {
        if !self.whole {
            return;
        }
        let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for way in ways {
            for from in &way.from {
                next.entry(from).or_default().extend(&way.to);
            }
        }
        let mut reached = BTreeSet::from([start]);
        let mut open = vec![start];
        while let Some(name) = open.pop() {
            for to in next.get(name).into_iter().flatten() {
                if reached.insert(to) {
                    open.push(to);
                }
            }
        }
        let workflow = self.workflow;
        for name in workflow.executors.keys().filter(|name| !reached.contains(name.as_str())) {
            self.report(
                Problem::key(
                    join("/executors", name),
                    format!("executor {} cannot be reached from {}", quote(name), quote(start)),
                )
                .hint("lead an edge to it, or remove it"),
            );
        }
        for way in ways.iter().filter(|way| way.fan_in) {
            for (n, from) in way.from.iter().enumerate() {
                if !reached.contains(from) && way.from.iter().any(|from| reached.contains(from)) {
                    self.report(
                        Problem::value(
                            format!("{}/from/{n}", way.path),
                            format!("this fan-in would wait for ever for {}", quote(from)),
                        )
                        .hint(format!("{} is never reached", quote(from))),
                    );
                }
            }
        }
        // An agent works as an executor of its own name, unless that name is taken, or where named.
        let mut used: BTreeSet<String> = reached
            .iter()
            .filter(|name| !workflow.executors.contains_key(**name))
            .map(ToString::to_string)
            .collect();
        used.extend(workflow.executors.values().filter_map(|executor| executor.agent.clone()));
        self.all_used(&used);
    }
}
