//! `signoff policy`: check the operator's gates, and try them out on what was done before.

use std::path::{Path, PathBuf};

use signoff_core::policy::Outcome;
use signoff_runtime::Change;

use crate::app::App;
use crate::args::PolicyCommand;
use crate::failure::{Exit, Result};
use crate::style::printable_line;
use crate::{out, policy};

/// How much of the arguments is shown, in characters.
const SHOWN: usize = 60;

pub(crate) fn perform(app: &App, command: PolicyCommand) -> Result<Exit> {
    match command {
        PolicyCommand::Check { files } => check(&files),
        PolicyCommand::Test { file, runs, json } => test(app, &file, runs, json),
    }
}

fn check(files: &[PathBuf]) -> Result<Exit> {
    for path in files {
        let gates = policy::read(path)?.gates.len();
        let s = if gates == 1 { "" } else { "s" };
        let name = path.display().to_string();
        out::line(&format!("{}: ok, {gates} gate{s}", printable_line(&name)))?;
    }
    Ok(Exit::Done)
}

fn test(app: &App, file: &Path, runs: usize, json: bool) -> Result<Exit> {
    let policy = policy::read(file)?;
    let store = app.needed_store()?;
    let library = app.library(&[])?;
    let engine = app.engine(store, &library, library.all())?;
    let trial = engine.try_policy(&policy, runs)?;
    if json {
        for change in &trial.changes {
            out::json_line(&serde_json::to_value(change)?)?;
        }
        return Ok(Exit::Done);
    }
    for change in &trial.changes {
        out::line(&shown(change))?;
    }
    let (asked, denied, changed) = (trial.ask, trial.deny, trial.changes.len());
    out::line(&format!(
        "{} actions in {} runs: {asked} would be asked for, {denied} denied; {changed} would go otherwise",
        trial.actions, trial.runs
    ))?;
    Ok(Exit::Done)
}

fn shown(change: &Change) -> String {
    let word = |outcome: Outcome| outcome.as_str();
    let arguments: String = change.arguments.to_string().chars().take(SHOWN).collect();
    let reasons: Vec<String> = change.reasons.iter().map(ToString::to_string).collect();
    printable_line(&format!(
        "{} #{}  {} {arguments}  {} -> {}  {}",
        change.run,
        change.seq,
        change.tool,
        word(change.before),
        word(change.after),
        reasons.join("; ")
    ))
}
