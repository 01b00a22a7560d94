//! A request as a person reads it before deciding: what is asked, by whom, why, what it would do, by when.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use signoff_client::Note;
use signoff_core::request::{Request, RequestKind, RequestStatus, Risk};
use signoff_core::workflow::cost_in_words;
use signoff_core::{DecisionKind, Timestamp};

use crate::Spoken;
use crate::markdown;
use crate::text::{fit, line, safe, wrap};
use crate::theme::Theme;
use crate::words::{decision, facts, fields, inline, kind_title, until};

/// From when on a deadline is near, in milliseconds.
pub(crate) const SOON: u64 = 120_000;
/// How many lines of a preview are shown.
const MAX_LINES: usize = 200;

/// What is known about a request besides itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'a> {
    /// What people call the one who asks.
    pub agent: &'a str,
    /// What was noted on it.
    pub notes: &'a [Note],
    /// What was said before it was asked.
    pub said: &'a [Spoken],
}

/// What becomes of how a request stands, in a line; none while it waits.
pub fn outcome(request: &Request) -> Option<String> {
    if let Some(taken) = &request.decision {
        return Some(format!(
            "already answered by {}: {}",
            line(taken.by.as_str()),
            line(&decision(&taken.decision))
        ));
    }
    match request.status {
        RequestStatus::Pending => None,
        RequestStatus::Decided => Some("already answered".to_owned()),
        RequestStatus::Expired => Some("nobody answered in time".to_owned()),
        RequestStatus::Cancelled => {
            Some("taken back: its run went on or ended without it".to_owned())
        }
    }
}

/// The sign of a risk, which is not only a colour.
pub fn risk_sign(risk: Option<Risk>) -> &'static str {
    match risk {
        None => "",
        Some(Risk::Low) => "low",
        Some(Risk::Medium) => "med",
        Some(Risk::High) => "HIGH!",
        Some(Risk::Critical) => "CRIT!!",
    }
}

/// All about a request, in so many columns.
pub fn about(
    request: &Request,
    around: Around<'_>,
    columns: usize,
    theme: Theme,
    now: Timestamp,
) -> Vec<Line<'static>> {
    let body = &request.body;
    let mut page = Page { lines: Vec::new(), columns, theme };
    page.lines.push(Line::from(vec![
        Span::styled(kind_title(body.kind), theme.accent()),
        Span::raw(" from "),
        Span::styled(line(around.agent), theme.bold()),
        Span::styled(format!(" · {}", line(&request.workflow)), theme.dim()),
    ]));
    if let Some(text) = outcome(request) {
        page.text(&text, theme.warn());
    }
    page.blank();
    page.lines.extend(markdown::lines(&body.prompt, columns, theme));
    page.blank();
    page.preview(&body.preview, body.kind);
    // In a form it can be changed; but where something hides in it, it is shown as it must be seen.
    let in_form = body.allowed.contains(&DecisionKind::Edit) && body.context["shown"].is_null();
    let shown = body.shown_proposal().filter(|_| !in_form);
    if let Some(proposal) = shown {
        if body.kind == RequestKind::ToolCall {
            page.text("in the words of the agent:", theme.dim());
        }
        page.text(&fields(proposal, "  "), Style::new());
        page.blank();
    }
    let result = &body.context["result"];
    if body.kind == RequestKind::StepAfter && !result.is_null() {
        page.text(&fields(result, "  "), Style::new());
        page.blank();
    }
    for warning in body.warnings() {
        page.text(&format!("! {}", line(warning)), theme.warn());
    }
    let context = facts(&body.context);
    if !context.is_empty() {
        page.text(&context, theme.dim());
    }
    for reason in &body.reasons {
        page.text(&format!("because: {}", line(reason)), theme.dim());
    }
    if let Some(risk) = body.risk {
        let style = if risk >= Risk::High { theme.bad() } else { theme.dim() };
        page.text(&format!("risk: {risk} {}", if risk >= Risk::High { "(!)" } else { "" }), style);
    }
    if let Some(who) = &body.who {
        page.text(&format!("to be decided by: {}", line(who)), theme.dim());
    }
    if let Some(assignee) = &request.assignee {
        page.text(&format!("looked after by {}", line(assignee.as_str())), theme.dim());
    }
    if let Some(at) = body.expires_at.filter(|_| request.status == RequestStatus::Pending) {
        // What is nearly over is said in other words, and not only in another colour.
        let (sign, style) =
            if at.since(now).0 < SOON { ("! ", theme.bad()) } else { ("", theme.warn()) };
        page.text(&format!("{sign}answer {}", due(at, now)), style);
        if let Some(then) = body.on_timeout {
            page.text(&format!("if nobody decides by then: {}", then.in_words()), theme.dim());
        }
    }
    if let Some(at) = request.deferred_until.filter(|at| *at > now) {
        page.text(&format!("put off: back {}", until(at, now)), theme.dim());
    }
    for note in around.notes {
        page.text(&self::note(note), theme.dim());
    }
    page.blank();
    if !around.said.is_empty() {
        page.text("said before:", theme.dim());
        for Spoken { by, text } in around.said {
            let row = fit(&format!("  {}: {}", line(by), line(text)), columns);
            page.lines.push(Line::styled(row, theme.dim()));
        }
        page.blank();
    }
    page.lines
}

/// What somebody noted, on one line.
pub fn note(note: &Note) -> String {
    let what = match (&note.text, &note.to) {
        (Some(text), _) => format!("{}: {}", note.what, text),
        (None, Some(to)) => format!("{} ({to})", note.what),
        (None, None) => note.what.clone(),
    };
    format!("{} {}", line(&note.by), line(&what))
}

/// By when, in words.
pub fn due(at: Timestamp, now: Timestamp) -> String {
    if at <= now {
        "now: its time is over".to_owned()
    } else {
        until(at, now).replace("in ", "within ")
    }
}

struct Page {
    lines: Vec<Line<'static>>,
    columns: usize,
    theme: Theme,
}

impl Page {
    fn text(&mut self, text: &str, style: Style) {
        let rows = wrap(&safe(text), self.columns);
        self.lines.extend(rows.into_iter().map(|row| Line::styled(row, style)));
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// What the system says an action would do.
    fn preview(&mut self, preview: &Value, kind: RequestKind) {
        if let Some(summary) =
            preview["summary"].as_str().filter(|_| kind != RequestKind::PlanReview)
        {
            self.text(summary, self.theme.bold());
        }
        if let Some(cost) = cost_in_words(&preview["cost"]) {
            self.text(&format!("cost: {}", line(&cost)), self.theme.bold());
        }
        if let Some(count) = preview["files"]["count"].as_u64() {
            let sample = preview["files"]["sample"].as_array().into_iter().flatten();
            let sample: Vec<String> = sample.map(|name| line(&inline(name))).collect();
            let more = if preview["files"]["more"] == true { " and more" } else { "" };
            let rest = if count > sample.len() as u64 { ", …" } else { "" };
            self.text(
                &format!("{count}{more} files and folders: {}{rest}", sample.join(", ")),
                Style::new(),
            );
        }
        for part in ["detail", "diff"] {
            let Some(text) = preview[part].as_str() else { continue };
            let count = text.lines().count();
            for row in text.trim_end().lines().take(MAX_LINES) {
                let style = match row.chars().next() {
                    Some('+') if part == "diff" => self.theme.good(),
                    Some('-') if part == "diff" => self.theme.bad(),
                    Some('@') if part == "diff" => self.theme.accent(),
                    _ => Style::new(),
                };
                self.text(row, style);
            }
            if count > MAX_LINES {
                let left = count - MAX_LINES;
                self.text(
                    &format!("… {left} more lines; `signoff inbox show ID --json` has them"),
                    self.theme.dim(),
                );
            }
        }
        self.blank();
    }
}
