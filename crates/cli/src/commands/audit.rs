//! `signoff audit`: the record of decisions.

use serde_json::{Value, json};
use signoff_store::AuditEntry;

use crate::app::App;
use crate::args::AuditCommand;
use crate::failure::{Exit, Failure, Result};
use crate::out;

const PAGE: usize = 1000;
/// The columns of a table; the last but one has all of the decision, as JSON.
const COLUMNS: [&str; 7] = ["no", "at", "by", "request", "decision", "details", "hash"];

pub(crate) fn perform(app: &App, command: AuditCommand) -> Result<Exit> {
    let store = app.needed_store()?;
    let (mut no, mut hash) = (0, String::new());
    if matches!(command, AuditCommand::Export { csv: true }) {
        out::line(&COLUMNS.join(","))?;
    }
    loop {
        let lines = store.audit(None, no, PAGE)?;
        if lines.is_empty() {
            break;
        }
        for line in lines {
            match command {
                AuditCommand::Verify if line.no != no + 1 || !line.follows(&hash) => {
                    let message = format!("the audit was changed at or before line {}", line.no);
                    return Err(Failure { exit: Exit::Failed, ..Failure::usage(message) }.into());
                }
                AuditCommand::Verify => {}
                AuditCommand::Export { csv } => {
                    let decision: Value = serde_json::from_str(&line.decision)
                        .unwrap_or_else(|_| json!(line.decision));
                    if csv {
                        out::line(&row(&line, &decision))?;
                        (no, hash) = (line.no, line.hash);
                        continue;
                    }
                    out::json_line(&json!({
                        "no": line.no,
                        "at": line.at.rfc3339(),
                        "by": line.by,
                        "request": line.request,
                        "decision": decision,
                        "hash": line.hash,
                    }))?;
                }
            }
            (no, hash) = (line.no, line.hash);
        }
    }
    if matches!(command, AuditCommand::Verify) {
        let s = if no == 1 { "" } else { "s" };
        out::line(&format!("ok: {no} line{s}, none changed"))?;
    }
    Ok(Exit::Done)
}

/// A line of a table.
fn row(line: &AuditEntry, decision: &Value) -> String {
    let request = line.request.to_string();
    let (no, at, word) = (line.no.to_string(), line.at.rfc3339(), &decision["decision"]);
    let cells = [
        no.as_str(),
        &at,
        line.by.as_str(),
        &request,
        word.as_str().unwrap_or_default(),
        &decision.to_string(),
        &line.hash,
    ];
    cells.map(cell).join(",")
}

/// A cell, in quotes where it needs them. A spreadsheet takes none for a formula.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = format!("{}{text}", if formula { "'" } else { "" });
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}
