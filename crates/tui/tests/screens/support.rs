//! Things to show, and a terminal to show them on.

use std::cell::RefCell;
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
