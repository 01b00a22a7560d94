//! A request as a person reads it before answering.

use serde_json::Value;
use signoff_client::Note;
use signoff_core::request::{Request, RequestKind, RequestStatus, Risk};
use signoff_core::workflow::cost_in_words;
use signoff_core::{Timestamp, Workflow};
use signoff_tui::words::{decision, facts, fields, inline, kind_title, until};
use signoff_tui::{Spoken, panel};

use super::time::local;
use crate::style::{Style, printable, printable_line, short};

/// How many lines of a preview are shown.
const MAX_LINES: usize = 120;

/// Everything about a request that helps to answer it.
pub(crate) fn request(
    request: &Request,
    workflow: Option<&Workflow>,
    style: Style,
    now: Timestamp,
) -> String {
    let body = &request.body;
    let asker = asker(request, workflow);
    let mut blocks = vec![format!(
        "{} from {}\n{}",
        style.accent(kind_title(body.kind)),
        style.bold(&asker),
        indented(&printable(body.prompt.trim()), "  "),
    )];
    if !body.options.is_empty() {
        let listed = body.options.iter().enumerate().map(|(n, option)| {
            let label = style.bold(&printable_line(&option.label));
            match &option.description {
                Some(more) => {
                    let more = indented(&printable(more), "     ");
                    format!("  {}  {label}\n{}", n + 1, style.dim(&more))
                }
                None => format!("  {}  {label}", n + 1),
            }
        });
        blocks.push(listed.collect::<Vec<_>>().join("\n"));
    }
    if body.kind == RequestKind::PlanReview {
        let shown = ["detail", "diff"].into_iter().filter_map(|part| body.preview[part].as_str());
        blocks.extend(shown.map(|text| indented(&printable(text.trim_end()), "  ")));
    } else {
        if !body.preview.is_null() {
            blocks.push(preview(&body.preview));
        }
        blocks.extend(body.shown_proposal().map(|proposal| proposed(body.kind, proposal, style)));
    }
    if body.kind == RequestKind::StepAfter {
        let result = Some(&body.context["result"]).filter(|result| !result.is_null());
        blocks.extend(result.map(|result| fields(result, "  ")));
    }
    let warnings: Vec<String> =
        body.warnings().map(|it| format!("  ! {}", printable_line(it))).collect();
    if !warnings.is_empty() {
        blocks.push(style.warn(&warnings.join("\n")));
    }
    let context = facts(&body.context);
    if !context.is_empty() {
        blocks.push(style.dim(&context));
    }
    let mut notes = Vec::new();
    for reason in &body.reasons {
        notes.push(format!("  because: {}", printable_line(reason)));
    }
    if let Some(risk) = body.risk.filter(|risk| *risk >= Risk::High) {
        notes.push(style.warn(&format!("  risk: {risk}")));
    }
    if let Some(who) = &body.who {
        notes.push(format!("  to be decided by: {}", printable_line(who)));
    }
    if let Some(at) = body.expires_at {
        notes.push(style.warn(&format!("  answer by {} ({})", local(at), until(at, now))));
        if let Some(then) = body.on_timeout.filter(|_| request.status == RequestStatus::Pending) {
            notes.push(format!("  if nobody decides by then: {}", then.in_words()));
        }
    }
    if let Some(taken) = &request.decision {
        let what = decision(&taken.decision);
        notes.push(format!(
            "  {what}, by {} at {}",
            printable_line(taken.by.as_str()),
            local(taken.at)
        ));
    } else if request.status != RequestStatus::Pending {
        notes.push(format!("  {}", request.status.as_str()));
    }
    notes.push(style.dim(&format!("  {}", request.id)));
    blocks.push(notes.join("\n"));
    blocks.join("\n\n")
}

/// What people noted on a request, and what was said before it was asked; nothing, if there is neither.
pub(crate) fn around(notes: &[Note], said: &[Spoken], style: Style) -> Option<String> {
    let mut lines: Vec<String> =
        notes.iter().map(|note| format!("  {}", printable_line(&panel::note(note)))).collect();
    if !said.is_empty() {
        lines.push("  said before:".to_owned());
        let spoken =
            |it: &Spoken| format!("    {}: {}", printable_line(&it.by), short(&it.text, 200));
        lines.extend(said.iter().map(spoken));
    }
    (!lines.is_empty()).then(|| style.dim(&lines.join("\n")))
}

/// Who asks: what people call the agent, and the way to it.
fn asker(request: &Request, workflow: Option<&Workflow>) -> String {
    let path: Vec<String> =
        request.body.agent_path.iter().map(|name| printable_line(name)).collect();
    let path = path.join(" › ");
    let agent = request.body.agent_path.last();
    let title = workflow.and_then(|it| it.agents.get(&**agent?)?.name.as_deref());
    match title {
        Some(title) => format!("{} ({path})", printable_line(title)),
        None if path.is_empty() => printable_line(&request.workflow),
        None => path,
    }
}

/// What is proposed. Beside what the system says of a call it must be plain who says this.
fn proposed(kind: RequestKind, proposal: &Value, style: Style) -> String {
    let proposal = fields(proposal, "  ");
    match kind {
        RequestKind::ToolCall => {
            format!("{}\n{proposal}", style.dim("  in the words of the agent:"))
        }
        _ => proposal,
    }
}

/// What the system says an action would do.
fn preview(preview: &Value) -> String {
    let mut lines = Vec::new();
    if let Some(summary) = preview["summary"].as_str() {
        lines.push(format!("  {}", printable_line(summary)));
    }
    if let Some(cost) = cost_in_words(&preview["cost"]) {
        lines.push(format!("  cost: {}", printable_line(&cost)));
    }
    if let Some(count) = preview["files"]["count"].as_u64() {
        let sample = preview["files"]["sample"].as_array().into_iter().flatten();
        let sample: Vec<String> = sample.map(|name| printable_line(&inline(name))).collect();
        let (things, more) = match (count, preview["files"]["more"] == true) {
            (1, false) => ("1 file or folder".to_owned(), ""),
            (count, false) => (format!("{count} files and folders"), ""),
            (count, true) => (format!("{count} files and folders"), ", and more"),
        };
        let rest = if count > sample.len() as u64 { ", …" } else { "" };
        lines.push(format!("  {things}{more}: {}{rest}", sample.join(", ")));
    }
    for whole in ["diff", "detail"] {
        let Some(text) = preview[whole].as_str() else { continue };
        let text = printable(text);
        let count = text.lines().count();
        lines.extend(text.lines().take(MAX_LINES).map(|line| format!("    {line}")));
        if count > MAX_LINES {
            let left = count - MAX_LINES;
            lines.push(format!("    … {left} more lines; `signoff inbox show ID --json` has them"));
        }
    }
    lines.join("\n")
}

fn indented(text: &str, indent: &str) -> String {
    text.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}
