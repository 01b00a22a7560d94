//! `signoff runs`: what this data directory holds.

use serde_json::{Value, json};
use signoff_core::RunStatus;
use signoff_store::{RunFilter, RunRecord};

use crate::app::App;
use crate::args::RunsArgs;
use crate::failure::{Exit, Failure, Result};
use crate::show::{local, table};
use crate::style::printable_line;
use crate::{find, out};

pub(crate) fn perform(app: &App, args: &RunsArgs) -> Result<Exit> {
    let status = match &args.status {
        None => None,
        Some(word) => Some(RunStatus::from_word(word).ok_or_else(|| {
            Failure::usage(format!("--status: `{}` is not a status", printable_line(word)))
                .hint("running, waiting, paused, completed, failed or cancelled")
        })?),
    };
    let filter = RunFilter {
        status,
        workflow: args.workflow.as_deref().map(Into::into),
        ..RunFilter::default()
    };
    let mut found = Vec::new();
    if let Some(store) = app.existing_store()? {
        let mut cursor = None;
        loop {
            let page = store.runs(&filter, cursor.as_deref(), 500)?;
            found.extend(page.items.into_iter().filter(|run| !find::is_part(run)));
            cursor = page.next;
            if cursor.is_none() || found.len() >= args.limit {
                break;
            }
        }
        found.truncate(args.limit);
    }
    if args.json {
        for run in &found {
            out::json_line(&to_json(run))?;
        }
    } else if found.is_empty() {
        out::note("no runs here");
    } else {
        let rows: Vec<Vec<String>> = found
            .iter()
            .map(|run| {
                let id = run.id.to_string();
                vec![
                    id,
                    run.status.to_string(),
                    local(run.created_at),
                    printable_line(&run.workflow),
                ]
            })
            .collect();
        out::line(&table(&["RUN", "STATUS", "STARTED", "WORKFLOW"], &rows))?;
    }
    Ok(Exit::Done)
}

fn to_json(run: &RunRecord) -> Value {
    let mut json = json!({
        "id": run.id,
        "workflow": run.workflow,
        "version": run.version,
        "conversation": run.conversation,
        "status": run.status,
        "created_at": run.created_at.rfc3339(),
        "updated_at": run.updated_at.rfc3339(),
    });
    if let Some(error) = &run.error {
        json["error"] = json!(error);
    }
    json
}
