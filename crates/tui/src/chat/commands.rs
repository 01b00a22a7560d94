//! Commands that begin with a slash.

use std::path::PathBuf;

use signoff_core::{Decision, answer};

use super::transcript::Item;
use super::{Chat, Effect, Focus, Phase, Picked, Picker};
use crate::text::line;

/// A command: its name, what may follow it, what it does.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) takes: &'static str,
    pub(super) about: &'static str,
}

macro_rules! commands {
    ($(($name:literal, $takes:literal, $about:literal)),* $(,)?) => {
        /// All commands, in the order in which they are shown.
        pub(super) const ALL: &[Command] =
            &[$(Command { name: $name, takes: $takes, about: $about }),*];
    };
}

commands![
    ("answer", "[TEXT]", "go to the question; or answer it with TEXT"),
    ("cancel", "[REASON]", "stop the run for good"),
    ("editor", "", "write in $EDITOR (also Ctrl-G)"),
    ("events", "[on|off]", "show everything that happens in the run"),
    ("export", "[FILE]", "write the conversation to a file, as Markdown"),
    ("fork", "SEQ [ANSWER]", "a new run from a place in the journal"),
    ("handoff-cancel", "", "leave the question in the inbox and begin a new conversation"),
    ("help", "", "commands and keys"),
    ("inbox", "", "all that waits, over all runs"),
    ("new", "", "begin a new conversation"),
    ("quit", "", "leave; the run goes on"),
    ("resume", "[N]", "go on with a session"),
    ("sessions", "", "sessions that were saved"),
    ("settings", "[NAME VALUE]", "how the terminal is"),
    ("status", "", "where the conversation stands"),
    ("theme", "[dark|light|plain]", "colours"),
    ("tools", "[on|off]", "show tool calls whole (also Ctrl-T)"),
    ("workflows", "[ID]", "the workflows; or take this one"),
];

impl Chat {
    /// What could be meant by what is typed: what to put in, and what is said of it.
    pub(super) fn completions(&self) -> Vec<(String, String)> {
        let text = self.editor.text();
        let Some(typed) = text.strip_prefix('/').filter(|it| !it.contains('\n')) else {
            return Vec::new();
        };
        let Some((name, rest)) = typed.split_once(' ') else {
            let begins = ALL.iter().filter(|it| it.name.starts_with(typed));
            let inside =
                ALL.iter().filter(|it| !it.name.starts_with(typed) && it.name.contains(typed));
            let put = |it: &Command| {
                let space = if it.takes.is_empty() { "" } else { " " };
                (
                    format!("/{}{space}", it.name),
                    format!("{} · {}", it.takes, it.about).trim_start_matches(" · ").to_owned(),
                )
            };
            return begins.chain(inside).map(put).collect();
        };
        let values: Vec<(String, String)> = match name {
            "workflows" => self
                .workflows
                .iter()
                .map(|it| (it.id.clone(), it.description.clone().unwrap_or_default()))
                .collect(),
            "theme" => ["dark", "light", "plain"].map(|it| (it.to_owned(), String::new())).to_vec(),
            "events" | "tools" => ["on", "off"].map(|it| (it.to_owned(), String::new())).to_vec(),
            "settings" => self
                .settings()
                .listed()
                .map(|(name, now, of)| (format!("{name} "), format!("{now} (of {of})")))
                .to_vec(),
            _ => Vec::new(),
        };
        let fits = values.into_iter().filter(|(value, _)| value.starts_with(rest) && value != rest);
        fits.map(|(value, about)| (format!("/{name} {value}"), line(&about))).collect()
    }

    /// Carries out a command that was typed.
    pub(super) fn command(&mut self, typed: &str) -> Vec<Effect> {
        let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let rest = rest.trim();
        let mut meant = ALL.iter().filter(|it| it.name.starts_with(name));
        let found = ALL
            .iter()
            .find(|it| it.name == name)
            .or_else(|| meant.next().filter(|_| meant.next().is_none()));
        let Some(found) = found else {
            self.say(format!("there is no command `/{name}`; /help lists them"), true);
            return Vec::new();
        };
        match found.name {
            "quit" => return vec![Effect::Quit],
            "help" => self.focus = Focus::Help,
            "status" => self.status(),
            "new" | "handoff-cancel" => self.begin_anew(found.name == "handoff-cancel"),
            "events" => return self.set("events", rest, self.settings().events),
            "tools" => return self.tools(rest),
            "theme" if !rest.is_empty() => return self.change("theme", rest),
            "theme" => self.say(
                format!(
                    "the theme is {}; there are dark, light and plain",
                    self.settings().theme.as_str()
                ),
                false,
            ),
            "settings" => return self.settings_command(rest),
            "export" => return self.export(rest),
            "answer" => return self.answer_command(rest),
            "editor" => return vec![Effect::Edit(String::new())],
            "sessions" | "resume" => return self.resume(rest),
            _ if self.plain => self.say(
                format!("`/{}` needs a Signoff server: signoff chat --server URL", found.name),
                true,
            ),
            "inbox" => return vec![Effect::Inbox],
            "workflows" if rest.is_empty() => self.pick_workflow(),
            "workflows" => return self.take_workflow(rest),
            "cancel" => return self.cancel(rest),
            "fork" => return self.fork(rest),
            _ => {}
        }
        Vec::new()
    }

    fn status(&mut self) {
        let run = self.run.as_ref().map_or("none", |run| run.as_str());
        let mode = match (self.plain, self.workflow_mode) {
            (false, _) => "a Signoff server",
            (true, true) => "a workflow behind Responses",
            (true, false) => "plain Responses",
        };
        let mut rows = vec![
            format!("state: {}", self.phase.as_str()),
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
        self.scrolled = 0;
    }

    pub(super) fn begin_anew(&mut self, leaves: bool) {
        let waits = self.waiting.len();
        self.waiting.clear();
        self.run = None;
        self.conversation = None;
        self.phase = Phase::Idle;
        self.focus = Focus::Composer;
        self.transcript.saying.clear();
        let left = match (leaves, waits) {
            (_, 0) => "a new conversation begins with what you say next".to_owned(),
            (_, n) => format!(
                "{n} left in the inbox, undecided; a new conversation begins with what you say next"
            ),
        };
        self.transcript.add(Item::Note(left));
    }

    fn set(&mut self, name: &str, value: &str, now: bool) -> Vec<Effect> {
        let other = if now { "off" } else { "on" };
        self.change(name, if value.is_empty() { other } else { value })
    }

    fn tools(&mut self, value: &str) -> Vec<Effect> {
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

    fn settings_command(&mut self, rest: &str) -> Vec<Effect> {
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

    fn export(&mut self, rest: &str) -> Vec<Effect> {
        let name = self.conversation.clone().unwrap_or_else(|| "chat".to_owned());
        let path = if rest.is_empty() { format!("signoff-{name}.md") } else { rest.to_owned() };
        vec![Effect::Export(PathBuf::from(path), self.transcript.exported())]
    }

    fn answer_command(&mut self, text: &str) -> Vec<Effect> {
        if self.waiting.is_empty() {
            self.say("nothing is asked here", true);
            return Vec::new();
        }
        self.show_panel();
        if text.is_empty() {
            return Vec::new();
        }
        let Some(waiting) = self.waiting.front() else { return Vec::new() };
        match answer::from_text(&waiting.request.body, text) {
            Ok(decision) => self.send_answer(decision),
            Err(problem) => {
                self.say(problem, true);
                Vec::new()
            }
        }
    }

    fn resume(&mut self, rest: &str) -> Vec<Effect> {
        let here: Vec<_> =
            self.saved.sessions.iter().filter(|it| it.place == self.place).cloned().collect();
        if here.is_empty() {
            self.say("no session was saved here yet", true);
            return Vec::new();
        }
        if let Some(session) = rest.parse::<usize>().ok().and_then(|n| here.get(n.checked_sub(1)?))
        {
            return self.go_on_with(&session.conversation.clone());
        }
        let of = here
            .iter()
            .map(|it| (it.conversation.clone(), format!("{}: {}", it.workflow, it.about)))
            .collect();
        self.picker = Picker { title: "Sessions".to_owned(), of, at: 0, what: Picked::Session };
        self.focus = Focus::Picker;
        Vec::new()
    }

    pub(super) fn go_on_with(&mut self, conversation: &str) -> Vec<Effect> {
        self.begin_anew(false);
        self.transcript.clear();
        self.restoring = true;
        vec![Effect::Restore(conversation.to_owned())]
    }

    pub(super) fn pick_workflow(&mut self) {
        let of = self
            .workflows
            .iter()
            .map(|it| (it.id.clone(), line(it.description.as_deref().unwrap_or_default())))
            .collect();
        let at = self
            .workflows
            .iter()
            .position(|it| Some(&it.id) == self.workflow.as_ref())
            .unwrap_or(0);
        self.picker =
            Picker { title: "Which workflow?".to_owned(), of, at, what: Picked::Workflow };
        self.focus = Focus::Picker;
    }

    pub(super) fn take_workflow(&mut self, id: &str) -> Vec<Effect> {
        if self.phase != Phase::Idle {
            self.say("the run goes on; /new begins a new conversation first", true);
            return Vec::new();
        }
        if self.workflow.as_deref().is_some_and(|now| now != id) {
            self.conversation = None;
        }
        vec![Effect::Workflow(id.to_owned())]
    }

    fn cancel(&mut self, reason: &str) -> Vec<Effect> {
        let Some(run) = self.run.clone().filter(|_| self.phase != Phase::Idle) else {
            self.say("no run is under way", true);
            return Vec::new();
        };
        let reason = if reason.is_empty() { "stopped from the chat" } else { reason };
        vec![Effect::Cancel(run, reason.to_owned())]
    }

    fn fork(&mut self, rest: &str) -> Vec<Effect> {
        let (at, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match (&self.run, at.parse()) {
            (Some(run), Ok(at)) => {
                vec![Effect::Fork(
                    run.clone(),
                    at,
                    Some(text.trim().to_owned()).filter(|it| !it.is_empty()),
                )]
            }
            (None, _) => {
                self.say("there is no run to fork yet", true);
                Vec::new()
            }
            (_, Err(_)) => {
                self.say(
                    "write /fork SEQ: the number of a journal entry; /events on shows them",
                    true,
                );
                Vec::new()
            }
        }
    }

    /// Sends an answer to the question in front.
    pub(super) fn send_answer(&mut self, decision: Decision) -> Vec<Effect> {
        let Some(waiting) = self.waiting.front_mut() else { return Vec::new() };
        if std::mem::replace(&mut waiting.sent, true) {
            return Vec::new();
        }
        let (id, version) = (waiting.request.id.clone(), waiting.request.version);
        self.phase = Phase::Continuing;
        vec![Effect::Answer(id, version, decision)]
    }
}
