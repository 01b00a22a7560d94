//! The patterns in which agents talk with each other: handoff and group chat.

use super::Check;
use crate::workflow::diagnostic::{Problem, quote};
use crate::workflow::tree::join;
use crate::workflow::{CHAT_VARIABLES, HANDOFF_VARIABLES};

impl Check<'_> {
    pub(super) fn handoff(&mut self) {
        let Some(settings) = &self.workflow.handoff else {
            return;
        };
        let used = self.agent_list(&settings.agents, "/handoff/agents");
        let agents = || settings.agents.iter().map(String::as_str);
        if let Some(start) = &settings.start {
            self.must_know("agent of this handoff", start, "/handoff/start", agents());
        }
        for (from, to) in &settings.handoffs {
            let path = join("/handoff/handoffs", from);
            if !settings.agents.contains(from) {
                let message = format!("there is no agent {} in this handoff", quote(from));
                self.report(Problem::key(path.clone(), message));
            }
            for (n, name) in to.iter().enumerate() {
                let path = format!("{path}/{n}");
                if name == from {
                    let message = format!("{} cannot hand to itself", quote(name));
                    self.report(Problem::value(path, message));
                } else {
                    self.must_know("agent of this handoff", name, &path, agents());
                }
            }
        }
        for (n, name) in settings.autonomous.iter().enumerate() {
            let path = format!("/handoff/autonomous/{n}");
            self.must_know("agent of this handoff", name, &path, agents());
        }
        self.more_than_nothing("/handoff/max_turns", "max_turns", settings.max_turns);
        if let Some(until) = &settings.until {
            self.expression(until, HANDOFF_VARIABLES, "/handoff/until".to_owned());
        }
        self.name_is_free("handoff");
        self.all_used(&used);
    }

    pub(super) fn group_chat(&mut self) {
        let Some(settings) = &self.workflow.group_chat else {
            return;
        };
        let mut used = self.agent_list(&settings.agents, "/group_chat/agents");
        let others = [("moderator", &settings.moderator), ("summarizer", &settings.summarizer)];
        for (key, name) in others {
            let Some(name) = name else { continue };
            let path = format!("/group_chat/{key}");
            self.must_know_agent(name, &path);
            if !used.insert(name.clone()) {
                let message = format!("{} has a part in this chat already", quote(name));
                self.report(Problem::value(path, message));
            }
        }
        if settings.moderator.is_some() && settings.rule.is_some() {
            let message = "either a moderator or a rule chooses who speaks";
            self.report(Problem::key("/group_chat/rule", message).hint("drop one of the two"));
        }
        let expressions = [("rule", &settings.rule), ("until", &settings.until)];
        for (key, source) in expressions {
            if let Some(source) = source {
                self.expression(source, CHAT_VARIABLES, format!("/group_chat/{key}"));
            }
        }
        self.more_than_nothing("/group_chat/max_rounds", "max_rounds", settings.max_rounds);
        self.name_is_free("group_chat");
        self.all_used(&used);
    }

    pub(super) fn more_than_nothing(&mut self, path: &str, name: &str, number: u32) {
        if number == 0 {
            self.report(Problem::value(path, format!("`{name}` must be at least 1")));
        }
    }

    /// The pattern's own executor carries the pattern's name.
    pub(super) fn name_is_free(&mut self, name: &str) {
        if self.workflow.agents.contains_key(name) {
            let message = format!("`{name}` is a name the pattern uses itself");
            self.report(
                Problem::key(join("/agents", name), message).hint("call the agent otherwise"),
            );
        }
    }
}
