//! How following a run ends: with its output, its error, or a hint how to go on.

use serde_json::{Value, json};
use signoff_core::{Request, RunStatus};
use signoff_runtime::Engine;
use signoff_store::RunRecord;

use super::Follow;
use crate::failure::{Exit, Failure, Result};
use crate::style::{Style, printable, short};
use crate::{out, show};

impl Follow {
    /// The run is over.
    pub(super) fn ended(&self, record: &RunRecord) -> Result<Exit> {
        let exit = ended(&self.engine, record, self.options.json)?;
        let left = self.options.answers.left();
        if left > 0 && !self.options.json {
            let s = if left == 1 { " was" } else { "s were" };
            out::note(&format!("note: {left} answer{s} not used"));
        }
        Ok(if self.failing && exit == Exit::Denied { Exit::Failed } else { exit })
    }

    /// The run waits and is left alone.
    pub(super) fn waiting(&self, pending: &[Request]) -> Result<Exit> {
        let status = self.record()?.status;
        self.left(status, pending)?;
        if !self.options.json {
            let questions = if pending.len() == 1 { "request waits" } else { "requests wait" };
            out::note(&format!("\n{} {questions} for a person:", pending.len()));
            for request in pending {
                out::note(&format!("  {}  {}", request.id, short(&request.body.prompt, 60)));
            }
            out::note(&format!("go on with: {}", self.resume()));
        }
        Ok(Exit::Waiting)
    }

    /// Ctrl-C.
    pub(super) fn interrupted(mut self) -> Result<Exit> {
        self.screen.hide();
        let pending = self.pending()?;
        self.left(self.record()?.status, &pending)?;
        if !self.options.json {
            out::note(&format!("\nstopped here; nothing is lost. Go on with: {}", self.resume()));
        }
        Ok(Exit::Interrupted)
    }

    fn left(&self, status: RunStatus, pending: &[Request]) -> Result<()> {
        if self.options.json {
            let ids: Vec<&str> = pending.iter().map(|request| request.id.as_str()).collect();
            let event =
                json!({ "type": "run.waiting", "run": self.run, "status": status, "pending": ids });
            out::json_line(&event)?;
        }
        Ok(())
    }

    /// An answer that was written down is none.
    pub(super) fn bad_answer(&self, request: &Request, problem: &str) -> Failure {
        let prompt = short(&request.body.prompt, 60);
        Failure::usage(printable(&format!("--answers: {problem} (asked: {prompt})")))
            .hint(format!("the run waits; go on with: {}", self.resume()))
    }

    fn resume(&self) -> String {
        self.app.command_line(&format!("resume {}", self.run))
    }
}

/// Tells how a run ended.
pub(crate) fn ended(engine: &Engine, record: &RunRecord, json: bool) -> Result<Exit> {
    let output = engine.state(&record.id)?.output();
    let usage = engine.usage(&record.id)?;
    if json {
        let mut event = json!({ "type": "run.ended", "run": record.id, "status": record.status });
        if let (RunStatus::Completed, Some(output)) = (record.status, &output) {
            event["output"] = output.clone();
        }
        if let Some(error) = &record.error {
            event["error"] = json!(error);
        }
        if !usage.is_nothing() {
            event["usage"] = json!(usage);
        }
        out::json_line(&event)?;
    }
    let exit = match record.status {
        RunStatus::Completed => Exit::Done,
        RunStatus::Cancelled => Exit::Denied,
        // A part of it was stopped by a person.
        _ if record.error.as_ref().is_some_and(|error| error.code == "cancelled") => Exit::Denied,
        _ => Exit::Failed,
    };
    if !json {
        tell(exit, record, &output.unwrap_or_default())?;
        if !usage.cost.is_nothing() {
            out::note(&format!("{usage}"));
        }
    }
    Ok(exit)
}

fn tell(exit: Exit, record: &RunRecord, output: &Value) -> Result<()> {
    let style = Style::stderr();
    let message = record.error.as_ref().map_or("", |error| error.message.as_str());
    match exit {
        Exit::Done if output.is_null() => out::note("done, without an output"),
        Exit::Done => {
            let text = show::plain(output);
            // A file or a program gets it as it is; a terminal must not act on it.
            out::line(&if out::stdout_is_terminal() { printable(&text) } else { text })?;
        }
        Exit::Denied => {
            out::note(&format!("{} {}", style.warn("not done:"), printable(message)));
        }
        _ => {
            out::note(&format!("{} the run failed: {}", style.bad("error:"), printable(message)));
            if let Some(hint) = record.error.as_ref().and_then(|error| error.hint.as_ref()) {
                out::note(&format!("hint: {}", printable(hint)));
            }
        }
    }
    Ok(())
}
