//! `signoff audit`: the record of decisions.

use serde_json::json;

use crate::app::App;
use crate::args::AuditCommand;
use crate::failure::{Exit, Failure, Result};
use crate::out;

const PAGE: usize = 1000;

pub(crate) fn perform(app: &App, command: AuditCommand) -> Result<Exit> {
    let store = app.needed_store()?;
    let (mut no, mut hash) = (0, String::new());
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
                AuditCommand::Export => {
                    let decision: serde_json::Value = serde_json::from_str(&line.decision)
                        .unwrap_or_else(|_| json!(line.decision));
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
