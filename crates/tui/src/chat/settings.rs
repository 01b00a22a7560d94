//! How the terminal is, and what is said of it.

use std::path::PathBuf;

use super::{Chat, Effect, Phase};
use crate::transcript::Item;
use crate::words::rough;

impl Chat {
    pub(super) fn status(&mut self) {
        let run = self.run.as_ref().map_or("none", |run| run.as_str());
        let mode = match (self.plain, self.workflow_mode) {
            (false, _) => "a Signoff server",
            (true, true) => "a workflow behind Responses",
            (true, false) => "plain Responses",
        };
        let took = match self.phase {
            Phase::Running | Phase::Continuing => {
                format!(", for {}", rough(self.now.since(self.since).0))
            }
            Phase::Idle | Phase::Awaiting => String::new(),
        };
        let mut rows = vec![
            format!("state: {}{took}", self.phase.as_str()),
            format!("talks to: {} ({mode})", self.place),
            format!("workflow: {}", self.workflow.as_deref().unwrap_or("none yet")),
            format!("conversation: {}", self.conversation.as_deref().unwrap_or("none yet")),
            format!("run: {run}, at entry {}", self.head),
            format!(
                "questions here: {}{}",
                self.waiting.len(),
                if self.hidden { " (put away)" } else { "" }
            ),
            format!("you are: {}", self.me),
        ];
        if let Some(lost) = &self.lost {
            rows.push(format!("no way to the server: {lost}"));
        }
        self.transcript.add(Item::Note(rows.join("\n")));
        self.scrolled = None;
    }

    pub(super) fn set(&mut self, name: &str, value: &str, now: bool) -> Vec<Effect> {
        let other = if now { "off" } else { "on" };
        self.change(name, if value.is_empty() { other } else { value })
    }

    pub(super) fn tools(&mut self, value: &str) -> Vec<Effect> {
        let whole = match value {
            "" => self.settings().fold,
            "on" => true,
            _ => false,
        };
        self.change("fold", if whole { "off" } else { "on" })
    }

    pub(super) fn change(&mut self, name: &str, value: &str) -> Vec<Effect> {
        match self.saved.set(name, value) {
            Ok(()) => {
                self.say(format!("{name} is {value}"), false);
                self.save()
            }
            Err(problem) => {
                self.say(problem, true);
                Vec::new()
            }
        }
    }

    pub(super) fn settings_command(&mut self, rest: &str) -> Vec<Effect> {
        if let Some((name, value)) = rest.split_once(char::is_whitespace) {
            return self.change(name, value.trim());
        }
        let mut rows: Vec<String> = self
            .settings()
            .listed()
            .iter()
            .map(|(name, now, of)| format!("{name} = {now}   ({of})"))
            .collect();
        if let Some(path) = self.saved.settings_file() {
            rows.push(format!("kept in {}", path.display()));
        }
        rows.push("change one with /settings NAME VALUE".to_owned());
        self.transcript.add(Item::Note(rows.join("\n")));
        Vec::new()
    }

    pub(super) fn export(&mut self, rest: &str) -> Vec<Effect> {
        let name = self.conversation.clone().unwrap_or_else(|| "chat".to_owned());
        let path = if rest.is_empty() { format!("signoff-{name}.md") } else { rest.to_owned() };
        vec![Effect::Export(PathBuf::from(path), self.transcript.exported())]
    }
}
