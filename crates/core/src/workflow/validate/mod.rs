//! Whether a definition makes sense: names that exist, graphs that end, schemas that compile.
//!
//! Finds everything at once. Works on the definition alone, so that one built in Rust is judged by
//! the same rules as one from a file.

mod agents;
mod conversations;
mod costs;
mod cycles;
mod graph;
mod phases;
mod schemas;

use std::collections::BTreeSet;

use crate::policy::gate_problems;

use super::diagnostic::{Diagnostic, Problem, locate, quote, suggest};
use super::tree::join;
use super::{Pattern, Workflow};

/// What exists outside of a file that a file may name.
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// Tools, besides the canned ones of the file itself.
    pub tools: Vec<&'a str>,
    /// Servers whose tools are named `mcp:SERVER/TOOL`.
    pub sources: Vec<&'a str>,
    /// Agents that run elsewhere.
    pub remotes: Vec<&'a str>,
    /// Functions registered with the engine.
    pub functions: Vec<&'a str>,
    /// Workflows that may be used as executors. None: not looked at here, because the files are
    /// linked later.
    pub workflows: Option<Vec<&'a str>>,
    /// Model aliases. None: not looked at here.
    pub models: Option<Vec<&'a str>>,
    /// Ids of workflows that are always there; no other one may have them.
    pub taken: Vec<&'a str>,
}

impl Workflow {
    /// Whether the definition makes sense; if not, every reason.
    pub fn validate(&self, known: &Known<'_>) -> Result<(), Vec<Diagnostic>> {
        let problems = problems(self, known, true);
        if problems.is_empty() { Ok(()) } else { Err(locate(problems, None)) }
    }
}

/// Every problem of `workflow`. Without `whole`, parts of the file are known to be missing, and
/// nothing is said about what seems unused.
pub(super) fn problems(workflow: &Workflow, known: &Known<'_>, whole: bool) -> Vec<Problem> {
    let mut check = Check { workflow, known, whole, problems: Vec::new() };
    check.names();
    check.limits();
    check.gates();
    check.costs();
    check.sections();
    check.agents();
    check.schemas();
    match workflow.pattern {
        Pattern::Coordinator => check.coordinator(),
        Pattern::Sequential => check.sequential(),
        Pattern::Concurrent => check.concurrent(),
        Pattern::Handoff => check.handoff(),
        Pattern::GroupChat => check.group_chat(),
        Pattern::Phases => check.phases(),
        Pattern::Graph => check.graph(),
    }
    check.problems
}

struct Check<'a> {
    workflow: &'a Workflow,
    known: &'a Known<'a>,
    whole: bool,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reports `name` at `path` unless it is among `known`.
    fn must_know<'k>(
        &mut self,
        what: &str,
        name: &str,
        path: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> bool {
        let found = known.clone().any(|known| known == name);
        if !found {
            let hint = suggest(name, known, "known here");
            let message = format!("there is no {what} {}", quote(name));
            self.report(Problem::value(path, message).maybe_hint(hint));
        }
        found
    }

    fn must_know_agent(&mut self, name: &str, path: &str) -> bool {
        let agents = &self.workflow.agents;
        self.must_know("agent", name, path, agents.keys().map(String::as_str))
    }

    fn must_know_model(&mut self, name: &str, path: &str) {
        if let Some(models) = &self.known.models {
            self.must_know("model", name, path, models.iter().copied());
        }
    }

    /// Files were checked by the schema; definitions built in Rust were not.
    fn names(&mut self) {
        let workflow = self.workflow;
        if !is_name(&workflow.id) {
            self.report(Problem::value("/workflow", bad_name(&workflow.id)));
        }
        if self.known.taken.contains(&workflow.id.as_str()) {
            let message = format!(
                "{} is a workflow that is always there; give this one another id",
                quote(&workflow.id)
            );
            self.report(Problem::value("/workflow", message));
        }
        let keys = [
            ("/agents", workflow.agents.keys().collect::<Vec<_>>()),
            ("/types", workflow.types.keys().collect()),
            ("/tools", workflow.tools.keys().collect()),
            ("/executors", workflow.executors.keys().collect()),
        ];
        for (section, names) in keys {
            for name in names.into_iter().filter(|name| !is_name(name)) {
                self.report(Problem::key(join(section, name), bad_name(name)));
            }
        }
        self.must_know_model(&workflow.model, "/model");
    }

    fn limits(&mut self) {
        let limits = &self.workflow.limits;
        let zero = [
            ("model_calls", limits.model_calls == 0),
            ("activations", limits.activations == 0),
            ("wall", limits.wall.is_some_and(|wall| wall.0 == 0)),
        ];
        for (name, _) in zero.iter().filter(|(_, zero)| *zero) {
            let path = format!("/limits/{name}");
            self.report(Problem::value(path, format!("`{name}` must be more than nothing")));
        }
    }

    fn gates(&mut self) {
        let workflow = self.workflow;
        for (path, message) in gate_problems(&workflow.gates, workflow.smart.as_ref()) {
            self.report(Problem::value(path, message));
        }
    }

    /// The section that the pattern needs is there, and no other one is.
    fn sections(&mut self) {
        let workflow = self.workflow;
        let sections = [
            ("coordinator", Pattern::Coordinator, workflow.coordinator.is_some()),
            ("sequential", Pattern::Sequential, workflow.sequential.is_some()),
            ("concurrent", Pattern::Concurrent, workflow.concurrent.is_some()),
            ("handoff", Pattern::Handoff, workflow.handoff.is_some()),
            ("group_chat", Pattern::GroupChat, workflow.group_chat.is_some()),
            ("phases", Pattern::Phases, workflow.phases.is_some()),
            ("executors", Pattern::Graph, !workflow.executors.is_empty()),
            ("edges", Pattern::Graph, !workflow.edges.is_empty()),
            ("start", Pattern::Graph, workflow.start.is_some()),
        ];
        let pattern = workflow.pattern;
        for (name, belongs, present) in sections {
            if present && belongs != pattern {
                let (is, wants) = (pattern.as_str(), belongs.as_str());
                self.report(
                    Problem::key(
                        format!("/{name}"),
                        format!(
                            "`{name}` belongs to `pattern: {wants}`, and this is `pattern: {is}`"
                        ),
                    )
                    .hint(format!("drop `{name}`, or write `pattern: {wants}`")),
                );
            }
            let needed = belongs == pattern && !matches!(name, "executors" | "edges");
            if needed && !present && self.whole {
                let is = pattern.as_str();
                self.report(
                    Problem::value("/pattern", format!("`pattern: {is}` needs `{name}`"))
                        .hint(format!("add `{name}:`")),
                );
            }
        }
    }

    /// A list of agents that must exist, each once. Gives those that do.
    pub(super) fn agent_list(&mut self, names: &[String], path: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        if names.is_empty() {
            self.report(Problem::value(path, "at least one agent is needed here"));
        }
        for (n, name) in names.iter().enumerate() {
            let path = format!("{path}/{n}");
            if seen.contains(name) {
                self.report(Problem::value(path, format!("{} is here twice", quote(name))));
            } else {
                self.must_know_agent(name, &path);
                seen.insert(name.clone());
            }
        }
        seen
    }

    /// Reports the agents that no run would ever hear.
    pub(super) fn all_used(&mut self, used: &BTreeSet<String>) {
        if !self.whole {
            return;
        }
        let unused: Vec<&String> =
            self.workflow.agents.keys().filter(|name| !used.contains(*name)).collect();
        for name in unused {
            self.report(
                Problem::key(join("/agents", name), format!("agent {} is never used", quote(name)))
                    .hint("remove it, or name it where agents are put to work"),
            );
        }
    }
}

pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn bad_name(name: &str) -> String {
    format!("{} cannot be a name", quote(name))
}
