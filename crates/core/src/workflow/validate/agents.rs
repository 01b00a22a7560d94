//! Agents, their tools, and the patterns that are made of agents only.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Check;
use crate::workflow::Agent;
use crate::workflow::diagnostic::{Problem, quote};
use crate::workflow::tree::join;
use crate::workflow::types::PREFIX;

/// The longest pattern of a canned reply.
pub(crate) const MAX_REPLY_PATTERN_BYTES: usize = 1024;

impl Check<'_> {
    pub(super) fn agents(&mut self) {
        let workflow = self.workflow;
        let canned = workflow.tools.keys().map(String::as_str);
        let tools: Vec<&str> = canned.chain(self.known.tools.iter().copied()).collect();
        for (name, agent) in &workflow.agents {
            let path = join("/agents", name);
            if let Some(remote) = &agent.remote {
                self.remote_agent(agent, remote, &path);
            } else if agent.instructions.trim().is_empty() {
                let path = format!("{path}/instructions");
                self.report(Problem::value(path, "the instructions are empty"));
            }
            let mut seen = BTreeSet::new();
            for (n, tool) in agent.tools.iter().enumerate() {
                let path = format!("{path}/tools/{n}");
                if seen.insert(tool) {
                    if let Some(remote) = tool.strip_prefix("mcp:") {
                        self.remote_tool(remote, &path);
                    } else {
                        self.must_know("tool", tool, &path, tools.iter().copied());
                    }
                } else {
                    self.report(Problem::value(path, format!("{} is here twice", quote(tool))));
                }
            }
            if let Some(model) = &agent.model {
                self.must_know_model(model, &format!("{path}/model"));
            }
            if agent.max_steps == 0 {
                let path = format!("{path}/max_steps");
                self.report(Problem::value(path, "`max_steps` must be at least 1"));
            }
            if agent.answer_within.is_some_and(|within| within.0 == 0) {
                let path = format!("{path}/answer_within");
                self.report(Problem::value(path, "`answer_within` must be more than nothing"));
            }
        }
        for (name, tool) in &workflow.tools {
            let path = join("/tools", name);
            if tool.replies.is_empty() {
                let path = format!("{path}/replies");
                self.report(Problem::value(path, "at least one reply is needed here"));
            }
            for (n, reply) in tool.replies.iter().enumerate() {
                if reply.when.as_ref().is_some_and(|when| when.len() > MAX_REPLY_PATTERN_BYTES) {
                    self.report(Problem::value(
                        format!("{path}/replies/{n}/when"),
                        format!("a pattern has at most {MAX_REPLY_PATTERN_BYTES} bytes"),
                    ));
                }
            }
        }
    }

    /// An agent that runs elsewhere has its instructions, tools and model there.
    fn remote_agent(&mut self, agent: &Agent, remote: &str, path: &str) {
        let known = self.known.remotes.clone();
        self.must_know("remote agent", remote, &format!("{path}/remote"), known.into_iter());
        let ours = [
            ("instructions", !agent.instructions.is_empty()),
            ("tools", !agent.tools.is_empty()),
            ("model", agent.model.is_some()),
            ("context_tokens", agent.context_tokens.is_some()),
            ("max_steps", agent.max_steps != Agent::default().max_steps),
        ];
        for (key, _) in ours.iter().filter(|(_, given)| *given) {
            self.report(
                Problem::key(format!("{path}/{key}"), format!("`{key}` does not go with `remote`"))
                    .hint(
                        "an agent that runs elsewhere has its instructions, tools and model there",
                    ),
            );
        }
    }

    /// `SERVER/TOOL`, `SERVER/BEGINNING*` or `SERVER/*`.
    fn remote_tool(&mut self, name: &str, path: &str) {
        match name.split_once('/') {
            Some((server, tool)) if !tool.is_empty() => {
                let known = self.known.sources.clone();
                self.must_know("tool server", server, path, known.into_iter());
            }
            _ => self.report(
                Problem::value(path, format!("{} names no tool", quote(name)))
                    .hint("write mcp:SERVER/TOOL, or mcp:SERVER/* for all of them"),
            ),
        }
    }

    pub(super) fn coordinator(&mut self) {
        let Some(settings) = &self.workflow.coordinator else {
            return;
        };
        self.must_know_agent(&settings.agent, "/coordinator/agent");
        let mut used = self.agent_list(&settings.specialists, "/coordinator/specialists");
        for (n, name) in settings.specialists.iter().enumerate() {
            let path = format!("/coordinator/specialists/{n}");
            if *name == settings.agent {
                let message = format!("{} is the coordinator itself", quote(name));
                self.report(Problem::value(path, message));
            }
            self.says_who_is_next(name);
        }
        if let Some(start) = &settings.start {
            let specialists = settings.specialists.iter().map(String::as_str);
            self.must_know("specialist", start, "/coordinator/start", specialists);
        }
        if settings.max_visits == 0 {
            let message = "`max_visits` must be at least 1";
            self.report(Problem::value("/coordinator/max_visits", message));
        }
        used.insert(settings.agent.clone());
        self.all_used(&used);
    }

    /// The coordinator reads from a specialist's output where to go next.
    fn says_who_is_next(&mut self, specialist: &str) {
        let Some(schema) =
            self.workflow.agents.get(specialist).and_then(|agent| agent.output.as_ref())
        else {
            return;
        };
        if !self.has_property(schema, "next_agent", 0) {
            let hint = "add `next_agent: { type: [string, \"null\"] }` to its properties";
            self.report(
                Problem::value(
                    join(&join("/agents", specialist), "output"),
                    format!("the output of specialist {} has no `next_agent`", quote(specialist)),
                )
                .hint(hint),
            );
        }
    }

    fn has_property(&self, schema: &Value, property: &str, depth: usize) -> bool {
        if depth > 16 || schema["properties"].get(property).is_some() {
            return true;
        }
        let referred = schema["$ref"]
            .as_str()
            .and_then(|target| target.strip_prefix(PREFIX))
            .and_then(|name| self.workflow.types.get(name));
        referred.is_some_and(|found| self.has_property(found, property, depth + 1))
            || schema["allOf"].as_array().is_some_and(|parts| {
                parts.iter().any(|part| self.has_property(part, property, depth + 1))
            })
    }

    pub(super) fn sequential(&mut self) {
        if let Some(settings) = &self.workflow.sequential {
            let used = self.agent_list(&settings.agents, "/sequential/agents");
            self.all_used(&used);
        }
    }

    pub(super) fn concurrent(&mut self) {
        let Some(settings) = &self.workflow.concurrent else {
            return;
        };
        let mut used = self.agent_list(&settings.agents, "/concurrent/agents");
        if let Some(aggregator) = &settings.aggregator {
            self.must_know_agent(aggregator, "/concurrent/aggregator");
            if !used.insert(aggregator.clone()) {
                let message = format!("{} is one of the agents it listens to", quote(aggregator));
                self.report(Problem::value("/concurrent/aggregator", message));
            }
        }
        for taken in ["start", "join"] {
            if used.contains(taken) && self.workflow.agents.contains_key(taken) {
                let message = format!("`{taken}` is a name the concurrent pattern uses itself");
                self.report(
                    Problem::key(join("/agents", taken), message).hint("call the agent otherwise"),
                );
            }
        }
        self.all_used(&used);
    }
}
