//! Things to show, and a terminal to show them on.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use serde_json::json;
use signoff_core::request::{Choice, RequestBody, RequestKind, RequestStatus, Risk};
use signoff_core::{ConversationId, DecisionKind, Request, RequestId, RunId, Tenant, Timestamp};
use signoff_tui::theme::Theme;

pub(crate) const NOW: Timestamp = Timestamp(1_000_000_000);

#[derive(Clone, Default)]
struct Bytes(Rc<RefCell<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a terminal of this size shows of the real bytes.
pub(crate) fn shown(draw: impl FnOnce(&mut Frame<'_>), columns: u16, lines: u16) -> vt100::Parser {
    let bytes = Bytes::default();
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, lines));
    let backend = CrosstermBackend::new(bytes.clone());
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
    terminal.draw(draw).unwrap();
    let mut parser = vt100::Parser::new(lines, columns, 0);
    parser.process(&bytes.0.borrow());
    parser
}

/// The same as text, line by line, without what stands empty at the end.
pub(crate) fn text(draw: impl FnOnce(&mut Frame<'_>), columns: u16, lines: u16) -> String {
    let parser = shown(draw, columns, lines);
    let rows: Vec<String> =
        parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n").trim_end().to_owned()
}

/// Whether any cell has a colour.
pub(crate) fn has_colour(parser: &vt100::Parser, columns: u16, lines: u16) -> bool {
    let cells = (0..lines).flat_map(|y| (0..columns).map(move |x| (y, x)));
    cells.filter_map(|(y, x)| parser.screen().cell(y, x)).any(|cell| {
        cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
    })
}

pub(crate) const THEMES: [Theme; 3] = [Theme::Dark, Theme::Light, Theme::Plain];

pub(crate) fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

pub(crate) fn letter(c: char) -> KeyEvent {
    key(KeyCode::Char(c))
}

pub(crate) fn control(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

/// A request that has waited for so many seconds.
pub(crate) fn request(n: u32, body: RequestBody, waited: i64) -> Request {
    let run = RunId::new(format!("run_{n}"));
    Request {
        id: RequestId::new(format!("req_{n}_1")),
        version: 1,
        status: RequestStatus::Pending,
        run: run.clone(),
        root: run,
        workflow: "event_planner".into(),
        conversation: ConversationId::new(format!("conv_{n}")),
        tenant: Tenant::local(),
        assignee: None,
        body,
        created_at: Timestamp(NOW.0 - waited * 1_000),
        decision: None,
        withdrawn: None,
        deferred_until: None,
    }
}

fn by(agent: &str, body: RequestBody) -> RequestBody {
    RequestBody { agent_path: vec!["coordinator".into(), agent.into()], ..body }
}

pub(crate) fn venue() -> RequestBody {
    let choice = |label: &str, about: &str| Choice {
        value: label.into(),
        label: label.into(),
        description: Some(about.into()),
    };
    let options = vec![
        choice("Union Hall", "Plain, bright hall. Up to 60 guests, $600."),
        choice("The Glasshouse", "Former greenhouse with plants and a bar."),
    ];
    by(
        "venue",
        RequestBody::selection(
            "I found **two venues** for 30 people. Which one do you prefer?",
            options,
        ),
    )
}

pub(crate) fn budget() -> RequestBody {
    let proposal = json!({ "venue": 1500, "catering": 750, "note": "with a reserve" });
    let mut body = by("budget", RequestBody::approval("Is this allocation all right?", proposal));
    body.reasons = vec!["the budget was not given".into()];
    body.expires_at = Some(Timestamp(NOW.0 + 20 * 60_000));
    body
}

pub(crate) fn diet() -> RequestBody {
    by("catering", RequestBody::input("Are there dietary needs?"))
}

pub(crate) fn deletion() -> RequestBody {
    let mut body =
        by("engineer", RequestBody::approval("Delete the old build?", json!({ "path": "build" })));
    body.kind = RequestKind::ToolCall;
    body.allowed = vec![DecisionKind::Approve, DecisionKind::Reject];
    body.risk = Some(Risk::Critical);
    body.preview = json!({ "summary": "Deletes a folder", "files": { "count": 12, "sample": ["build/a", "build/b"] },
        "diff": "@@ -1,2 +1 @@\n-old line\n+new line" });
    body
}

pub(crate) fn object() -> RequestBody {
    let mut body = by("logistics", RequestBody::input("Who is the contact?"));
    body.response_schema = json!({ "type": "object", "required": ["name", "guests"], "properties": {
        "name": { "type": "string", "description": "the whole name" },
        "guests": { "type": "integer" },
        "vegan": { "type": "boolean" } } });
    body
}

/// Several of these.
pub(crate) fn diets() -> RequestBody {
    let mut body = by("catering", RequestBody::input("Which diets are there?"));
    body.response_schema = json!({ "type": "array", "minItems": 1, "uniqueItems": true,
        "items": { "enum": ["vegan", "vegetarian", "gluten-free"] } });
    body
}

/// A plan, before it is carried out.
pub(crate) fn plan() -> RequestBody {
    let steps = json!([{ "n": 1, "agent": "engineer", "title": "Read the data" },
        { "n": 2, "agent": "researcher", "title": "Write the report" }]);
    let mut body =
        by("planner", RequestBody::approval("Here is the plan.", json!({ "steps": steps })));
    body.kind = RequestKind::PlanReview;
    body.allowed = vec![
        DecisionKind::Approve,
        DecisionKind::Edit,
        DecisionKind::Reject,
        DecisionKind::Revise,
        DecisionKind::Abort,
    ];
    body.preview =
        json!({ "detail": "1. Read the data (engineer)\n2. Write the report (researcher)" });
    body
}

/// A step of a plan: before it, after it, or after it failed.
pub(crate) fn step(kind: RequestKind) -> RequestBody {
    let mut body = by("engineer", RequestBody::approval("Step 1: Read the data", json!(null)));
    body.kind = kind;
    body.allowed = match kind {
        RequestKind::StepBefore => {
            vec![DecisionKind::Approve, DecisionKind::Reject, DecisionKind::Skip]
        }
        RequestKind::StepAfter => vec![
            DecisionKind::Approve,
            DecisionKind::Reject,
            DecisionKind::Redo,
            DecisionKind::Rollback,
            DecisionKind::Abort,
        ],
        _ => vec![DecisionKind::Retry, DecisionKind::Skip, DecisionKind::Abort],
    };
    body.context = json!({ "action": { "digest": "d1", "tool": "engineer" },
        "result": "12 rows were read", "error": "the file is not there" });
    body
}

/// A call of a tool that a gate stopped, which can be changed, remembered, or answered in its place.
pub(crate) fn edit_file() -> RequestBody {
    let arguments = json!({ "path": "report.md", "text": "Sales grew by 12 %." });
    let mut body =
        by("engineer", RequestBody::approval("file_edit wants to change report.md", arguments));
    body.kind = RequestKind::ToolCall;
    body.allowed = vec![
        DecisionKind::Approve,
        DecisionKind::Edit,
        DecisionKind::Reject,
        DecisionKind::Respond,
        DecisionKind::Abort,
    ];
    body.context["tool"] = "file_edit".into();
    body.context["digest"] = "d2".into();
    body.risk = Some(Risk::Medium);
    body.reasons = vec!["the gate `before_file_edit` always asks".into()];
    body.preview = json!({ "summary": "Changes report.md",
        "diff": "@@ -1 +1 @@\n-Sales fell.\n+Sales grew by 12 %." });
    body
}

/// The same by when it must be answered, in seconds from now.
pub(crate) fn within(mut body: RequestBody, seconds: i64) -> RequestBody {
    body.due(Timestamp(NOW.0 + seconds * 1_000), signoff_core::Unanswered::Default);
    body
}

/// What a terminal shows, with how it is painted: each change of style is named in brackets.
pub(crate) fn painted(parser: &vt100::Parser, columns: u16, lines: u16) -> String {
    let style = |cell: &vt100::Cell| {
        let mut words = Vec::new();
        if let vt100::Color::Idx(n) = cell.fgcolor() {
            words.push(format!("{n}"));
        }
        for (is, word) in [
            (cell.bold(), "bold"),
            (cell.dim(), "dim"),
            (cell.italic(), "italic"),
            (cell.underline(), "underlined"),
            (cell.inverse(), "turned"),
        ] {
            if is {
                words.push(word.to_owned());
            }
        }
        words.join(" ")
    };
    let mut rows = Vec::new();
    for y in 0..lines {
        let (mut row, mut now) = (String::new(), String::new());
        for cell in (0..columns).filter_map(|x| parser.screen().cell(y, x)) {
            if cell.is_wide_continuation() {
                continue;
            }
            let next = style(cell);
            if next != now {
                let _ = write!(row, "⟦{next}⟧");
                now = next;
            }
            row.push_str(if cell.has_contents() { cell.contents() } else { " " });
        }
        rows.push(row.trim_end().trim_end_matches("⟦⟧").trim_end().to_owned());
    }
    rows.join("\n").trim_end().to_owned()
}
