//! What the screens need of the environment: settings, colours, an editor.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use signoff_core::Timestamp;
use signoff_runtime::{Clock as _, SystemClock, new_id};
use signoff_tui::saved::Saved;
use signoff_tui::theme::Theme;

use crate::env;
use crate::failure::{Failure, Result};
use crate::style::printable_line;
use crate::{app, out};

/// What time it is.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// Whether a person sits here who sees a screen and types.
pub(crate) fn is_there() -> bool {
    out::stdin_is_terminal() && out::stdout_is_terminal()
}

/// What was kept, with what the environment says on top.
pub(crate) fn saved() -> Result<Saved> {
    let home = env::text(env::HOME).map(PathBuf::from);
    let folder = |variable, below: &str| {
        env::text(variable).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(below)))
    };
    let settings_file = env::text(env::SETTINGS)
        .map(PathBuf::from)
        .or_else(|| Some(folder(env::CONFIG_HOME, ".config")?.join("signoff/terminal.toml")));
    let state = folder(env::STATE_HOME, ".local/state").map(|it| it.join("signoff"));
    let (mut saved, problems) = Saved::read(settings_file, state);
    if let Some(problem) = problems.first() {
        let path = saved.settings_file().map(|it| it.display().to_string()).unwrap_or_default();
        return Err(Failure::usage(printable_line(&format!("{path}: {problem}"))).into());
    }
    // Some terminals say what ground they have.
    let ground = env::text(env::COLORFGBG);
    let ground = ground.as_deref().and_then(|it| it.rsplit(';').next()?.parse::<u8>().ok());
    if saved.is_default("theme") && ground.is_some_and(|it| it == 7 || it == 15) {
        saved.settings.theme = Theme::Light;
    }
    for (variable, name) in [(env::THEME, "theme"), (env::EVENTS, "events"), (env::BELL, "bell")] {
        if let Some(value) = env::text(variable) {
            let set = saved.settings.set(name, value.trim());
            set.map_err(|problem| {
                Failure::usage(printable_line(&format!("{}: {problem}", variable.name)))
            })?;
        }
    }
    if env::is_set(env::NO_COLOR) {
        saved.settings.theme = Theme::Plain;
    }
    Ok(saved)
}

/// Lets the person change a text with an editor.
pub(crate) fn edit(text: &str) -> io::Result<String> {
    let editor =
        env::text(env::VISUAL).or_else(|| env::text(env::EDITOR)).unwrap_or_else(|| "vi".into());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let folder = std::env::temp_dir().join(format!("signoff-{}", new_id()));
    app::make_private_folder(&folder).map_err(io::Error::other)?;
    let path = folder.join("message.md");
    let edited = std::fs::write(&path, text)
        .and_then(|()| Command::new(program).args(words).arg(&path).status())
        .and_then(|status| {
            if status.success() {
                std::fs::read_to_string(&path)
            } else {
                Err(io::Error::other(format!("{program} ended with {status}")))
            }
        });
    // What was written there is ours alone, and of no use any more.
    let _ = std::fs::remove_dir_all(&folder);
    edited
}
