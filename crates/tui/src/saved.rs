//! What is kept between two starts: settings, sessions, and what was typed.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::theme::Theme;

/// How many sessions are kept.
const MAX_SESSIONS: usize = 200;
/// The largest file that is read.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// How the terminal is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its colours.
    pub theme: Theme,
    /// Whether everything that happens in a run is shown.
    pub events: bool,
    /// Whether it calls for attention when nobody looks.
    pub bell: bool,
    /// Whether tool calls are shown as one line.
    pub fold: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { theme: Theme::Dark, events: false, bell: true, fold: true }
    }
}

impl Settings {
    /// The names of all settings, with their values now and those they may have.
    pub fn listed(self) -> [(&'static str, &'static str, &'static str); 4] {
        let flag = |on: bool| if on { "on" } else { "off" };
        [
            ("theme", self.theme.as_str(), "dark, light, plain"),
            ("events", flag(self.events), "on, off"),
            ("bell", flag(self.bell), "on, off"),
            ("fold", flag(self.fold), "on, off"),
        ]
    }

    /// Sets one by its name, or says what is wrong.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let flag = || match value {
            "on" | "true" | "1" | "yes" => Ok(true),
            "off" | "false" | "0" | "no" => Ok(false),
            _ => Err(format!("`{name}` is on or off, not `{value}`")),
        };
        match name {
            "theme" => {
                self.theme = Theme::from_word(value).ok_or_else(|| {
                    format!("`{value}` is not a theme; there are dark, light and plain")
                })?;
            }
            "events" => self.events = flag()?,
            "bell" => self.bell = flag()?,
            "fold" => self.fold = flag()?,
            _ => {
                let names: Vec<&str> = self.listed().iter().map(|(name, ..)| *name).collect();
                return Err(format!(
                    "there is no setting `{name}`; there are {}",
                    names.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// A conversation that can be gone on with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The server it is on.
    pub place: String,
    /// The conversation.
    pub conversation: String,
    /// The workflow.
    pub workflow: String,
    /// What was said first.
    pub about: String,
    /// When it was last used, in milliseconds.
    pub at: i64,
}

/// All that is kept, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// The settings as they hold now.
    pub settings: Settings,
    /// The settings that the file has.
    file: Vec<(String, String)>,
    /// The sessions, the latest first.
    pub sessions: Vec<Session>,
    /// What was typed, the latest last.
    pub history: Vec<String>,
    settings_file: Option<PathBuf>,
    folder: Option<PathBuf>,
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    sessions: Vec<Session>,
    #[serde(default)]
    history: Vec<String>,
}

impl Saved {
    /// Reads what was kept: settings from a file of lines `name = value`, the rest from a folder. What is not there is not missed;
    /// what is wrong with the settings is said.
    pub fn read(settings_file: Option<PathBuf>, folder: Option<PathBuf>) -> (Self, Vec<String>) {
        let mut saved = Self { settings_file, folder, ..Self::default() };
        let mut problems = Vec::new();
        let text = saved.settings_file.as_deref().and_then(|path| read_text(path).ok());
        for (n, row) in text.unwrap_or_default().lines().enumerate() {
            let row = row.split('#').next().unwrap_or_default().trim();
            if row.is_empty() {
                continue;
            }
            let Some((name, value)) = row.split_once('=') else {
                problems.push(format!("line {}: write NAME = VALUE", n + 1));
                continue;
            };
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            match saved.settings.set(name, value) {
                Ok(()) => saved.file.push((name.to_owned(), value.to_owned())),
                Err(problem) => problems.push(format!("line {}: {problem}", n + 1)),
            }
        }
        let kept = saved.kept_file().and_then(|path| read_text(&path).ok());
        let kept: Kept = kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        (saved.sessions, saved.history) = (kept.sessions, kept.history);
        (saved, problems)
    }

    /// Whether the file says nothing of a setting.
    pub fn is_default(&self, name: &str) -> bool {
        self.file.iter().all(|(known, _)| known != name)
    }

    /// Where the settings are.
    pub fn settings_file(&self) -> Option<&Path> {
        self.settings_file.as_deref()
    }

    fn kept_file(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("terminal.json"))
    }

    /// Sets a setting, for now and for the file.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.settings.set(name, value)?;
        self.file.retain(|(known, _)| known != name);
        self.file.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Puts a session first.
    pub fn remember(&mut self, session: Session) {
        let same = |known: &Session| {
            known.place == session.place && known.conversation == session.conversation
        };
        let before =
            self.sessions.iter().find(|known| same(known)).map(|known| known.about.clone());
        self.sessions.retain(|known| !same(known));
        // What was said first stays what it is known by.
        let about =
            before.filter(|about| !about.is_empty()).unwrap_or_else(|| session.about.clone());
        self.sessions.insert(0, Session { about, ..session });
        self.sessions.truncate(MAX_SESSIONS);
    }

    /// Writes what is kept.
    pub fn write(&self) -> io::Result<()> {
        if let (Some(path), false) = (&self.settings_file, self.file.is_empty()) {
            let rows: Vec<String> =
                self.file.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
            write_text(path, &rows.concat())?;
        }
        if let Some(path) = self.kept_file() {
            let kept = Kept { sessions: self.sessions.clone(), history: self.history.clone() };
            write_text(&path, &serde_json::to_string_pretty(&kept)?)?;
        }
        Ok(())
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.len() > MAX_FILE {
        return Err(io::Error::other("too large"));
    }
    std::fs::read_to_string(path)
}

/// Writes a file as a whole, readable by its owner only.
fn write_text(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let new = path.with_extension(format!("new{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(&new)?, text.as_bytes())?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("conf/terminal.toml");
        let open = || Saved::read(Some(file.clone()), Some(folder.path().join("state")));
        let (mut saved, problems) = open();
        assert!(problems.is_empty());
        saved.set("theme", "light").unwrap();
        saved.set("events", "on").unwrap();
        assert!(saved.set("theme", "pink").is_err() && saved.set("colour", "on").is_err());
        let session = |about: &str| Session {
            conversation: "c".into(),
            about: about.into(),
            ..Session::default()
        };
        saved.remember(session("first"));
        saved.remember(session("second"));
        saved.history.push("hello".into());
        saved.write().unwrap();
        let (again, _) = open();
        assert_eq!(again.settings, saved.settings);
        assert_eq!((again.sessions.len(), &*again.sessions[0].about), (1, "first"));
        assert_eq!(again.history, ["hello"]);
    }

    #[test]
    fn what_is_wrong_with_settings_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("terminal.toml");
        std::fs::write(&file, "# ours\ntheme = \"light\"\nbell = maybe\nnonsense\n").unwrap();
        let (saved, problems) = Saved::read(Some(file), None);
        assert_eq!(saved.settings.theme, Theme::Light);
        assert_eq!(
            problems,
            ["line 3: `bell` is on or off, not `maybe`", "line 4: write NAME = VALUE"]
        );
    }
}
