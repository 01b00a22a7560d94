//! Commands that begin with a slash.

use super::{Chat, Effect, Focus};
use crate::mark::Mark;
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
    ("claim", "", "say that you look after the question"),
    ("comment", "TEXT", "say something about the question to others"),
    ("defer", "TIME [WHY]", "put the question off: 30m, 2h, 1d"),
    ("editor", "", "write in $EDITOR (also Ctrl-G)"),
    ("events", "[on|off]", "show everything that happens in the run"),
    ("export", "[FILE]", "write the conversation to a file, as Markdown"),
    ("fork", "SEQ [ANSWER]", "a new run from a place in the journal"),
    ("handoff-cancel", "", "leave the question in the inbox and begin a new conversation"),
    ("help", "", "commands and keys"),
    ("inbox", "", "all that waits, over all runs"),
    ("new", "", "begin a new conversation"),
    ("quit", "", "leave; the run goes on"),
    ("reassign", "[NAME]", "say who looks after the question; nobody, without a name"),
    ("release", "", "look after the question no more"),
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
        let name = if name == "exit" { "quit" } else { name };
        let meant: Vec<&Command> = ALL.iter().filter(|it| it.name.starts_with(name)).collect();
        let found = match meant.as_slice() {
            [one] => Some(*one),
            several => several.iter().find(|it| it.name == name).copied(),
        };
        let Some(found) = found else {
            let could: Vec<String> = meant.iter().map(|it| format!("/{}", it.name)).collect();
            self.say(
                match could.as_slice() {
                    [] => format!("there is no command `/{name}`; /help lists them"),
                    _ if name.is_empty() => "/help lists the commands".to_owned(),
                    could => format!("`/{name}` could be {}", could.join(", ")),
                },
                true,
            );
            return Vec::new();
        };
        match found.name {
            "quit" => return vec![Effect::Quit],
            "help" => {
                self.help_at = 0;
                self.focus = Focus::Help;
            }
            "status" => self.status(),
            "new" | "handoff-cancel" => return self.begin_anew(),
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
            "cancel" => return self.cancel(rest),
            _ if self.plain => self.say(
                format!("`/{}` needs a Signoff server: signoff chat --server URL", found.name),
                true,
            ),
            "inbox" => return vec![Effect::Inbox],
            "workflows" if rest.is_empty() => self.pick_workflow(),
            "workflows" => return self.take_workflow(rest),
            "fork" => return self.fork(rest),
            "claim" => return self.mark(Ok(Mark::Claim)),
            "release" => return self.mark(Ok(Mark::Release)),
            "reassign" => return self.mark(Ok(Mark::reassign(rest))),
            "comment" if rest.is_empty() => self.say("write /comment and what you say", true),
            "comment" => return self.mark(Ok(Mark::Comment(rest.to_owned()))),
            "defer" => return self.mark(Mark::defer(rest)),
            _ => {}
        }
        Vec::new()
    }
}
