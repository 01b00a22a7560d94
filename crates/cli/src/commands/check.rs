//! `signoff check`: every problem of workflow files.

use signoff_core::Workflow;

use crate::app::App;
use crate::args::CheckArgs;
use crate::failure::{Exit, Result};
use crate::library::Library;
use crate::out;

pub(crate) fn perform(app: &App, args: &CheckArgs) -> Result<Exit> {
    let (library, report) = app.check(&args.files);
    if args.json {
        out::line(&serde_json::to_string_pretty(&report.to_json())?)?;
    } else if report.is_empty() {
        for line in library.ids_of_files().into_iter().filter_map(|id| ok(&library, id)) {
            out::line(&line)?;
        }
    } else {
        out::line(&report.render())?;
        let mut files = report.files();
        files.dedup();
        let (problems, many) = (report.len(), files.len());
        let s = |n: usize| if n == 1 { "" } else { "s" };
        out::note(&format!("\n{problems} problem{} in {many} file{}", s(problems), s(many)));
    }
    Ok(if report.is_empty() { Exit::Done } else { Exit::Usage })
}

fn ok(library: &Library, id: &str) -> Option<String> {
    let workflow = library.get(id)?;
    Some(format!(
        "ok: {id} ({}, {}) {}",
        size(workflow),
        workflow.pattern.as_str(),
        workflow.version()
    ))
}

fn size(workflow: &Workflow) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match (workflow.agents.len(), workflow.executors.len()) {
        (agents, 0) => count(agents, "agent"),
        (0, executors) => count(executors, "executor"),
        (agents, executors) => {
            format!("{}, {}", count(agents, "agent"), count(executors, "executor"))
        }
    }
}
