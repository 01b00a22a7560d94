//! How the inbox looks.

mod detail;
mod list;
mod over;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span, Text};

use super::{Focus, Inbox, Link};
use crate::text::{fit, line, width};

/// From so many columns on, list and request stand side by side.
const WIDE: u16 = 160;
/// And from so many lines on, one below the other.
const TALL: u16 = 20;

impl Inbox {
    /// Draws it.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(2)])
                .areas(area);
        self.draw_head(frame, head);
        let opened = matches!(self.focus, Focus::Detail);
        if body.width >= WIDE {
            let list = (body.width / 2).max(84);
            let [left, right] =
                Layout::horizontal([Constraint::Length(list), Constraint::Min(1)]).areas(body);
            self.draw_list(frame, left);
            self.draw_detail(frame, right, "│ ");
        } else if body.height >= TALL && !opened {
            let list = body.height * 2 / 5;
            let [top, bottom] =
                Layout::vertical([Constraint::Length(list), Constraint::Min(1)]).areas(body);
            self.draw_list(frame, top);
            let [rule, bottom] =
                Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(bottom);
            let line = Line::styled("─".repeat(usize::from(rule.width)), self.theme.dim());
            frame.render_widget(line, rule);
            self.draw_detail(frame, bottom, "");
        } else if opened {
            self.draw_detail(frame, body, "");
        } else {
            self.draw_list(frame, body);
        }
        self.draw_foot(frame, foot);
        match self.focus {
            Focus::Bulk => self.draw_bulk(frame, body),
            Focus::Help => self.draw_help(frame, body),
            _ => {}
        }
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.theme;
        let (sign, style) = match &self.link {
            Link::Connecting => ("○ connecting".to_owned(), theme.dim()),
            Link::Live => ("● live".to_owned(), theme.good()),
            Link::Lost(problem) => (format!("✗ no server: {problem}; trying again"), theme.bad()),
        };
        let waiting = self.waiting();
        let shown = if self.shown.len() == waiting {
            String::new()
        } else {
            format!(", {} shown", self.shown.len())
        };
        let marked = if self.marked.is_empty() {
            String::new()
        } else {
            format!(", {} marked", self.marked.len())
        };
        let mut spans = vec![
            Span::styled("Signoff inbox", theme.accent()),
            Span::raw(format!("  {waiting} waiting{shown}{marked}  ")),
        ];
        let left = usize::from(area.width)
            .saturating_sub(spans.iter().map(Span::width).sum::<usize>() + 1);
        spans.push(Span::styled(fit(&sign, left), style));
        let mut second = Vec::new();
        if self.focus == Focus::Search || !self.search.is_empty() {
            let layout = self.search.layout(usize::from(area.width).saturating_sub(12), 1);
            if self.focus == Focus::Search {
                let x = area.x + 8 + u16::try_from(layout.cursor.0).unwrap_or(0);
                frame.set_cursor_position(Position::new(x, area.y + 1));
            }
            second.push(Span::styled("search: ", theme.warn()));
            second.push(Span::raw(layout.lines.concat() + " "));
        }
        let narrowed = &self.narrowed;
        let assignee = narrowed
            .assignee
            .as_ref()
            .map(|who| if who.is_empty() { "nobody's".to_owned() } else { "mine".to_owned() });
        let only: Vec<String> = [
            narrowed.kind.clone(),
            narrowed.workflow.clone(),
            assignee,
            narrowed.risky.then(|| "risky".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !only.is_empty() {
            second.push(Span::styled(format!("only: {} ", line(&only.join(", "))), theme.warn()));
        }
        if second.is_empty() {
            second.push(Span::styled("─".repeat(usize::from(area.width)), theme.dim()));
        }
        frame.render_widget(Text::from(vec![Line::from(spans), Line::from(second)]), area);
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.theme;
        let columns = usize::from(area.width);
        let notice = match (&self.notice, self.focus) {
            (_, Focus::Line(asks)) => {
                let before = asks.label();
                let layout = self.line.layout(columns.saturating_sub(width(before) + 1), 1);
                let x = area.x + u16::try_from(width(before) + layout.cursor.0).unwrap_or(0);
                frame.set_cursor_position(Position::new(x, area.y));
                Line::from(vec![
                    Span::styled(before, theme.warn()),
                    Span::raw(layout.lines.concat()),
                ])
            }
            (Some((text, true, _)), _) => {
                Line::styled(fit(&format!("! {text}"), columns), theme.bad())
            }
            (Some((text, false, _)), _) => Line::styled(fit(text, columns), theme.good()),
            (None, _) => Line::default(),
        };
        let keys = match self.focus {
            Focus::List if columns < 80 => {
                "Enter open · a approve · d deny · c claim · / search · ? help · q"
            }
            Focus::List => {
                "↑↓ move · Enter open · a approve · d deny · e change · c claim · z put off · Space mark · / search · ? help · q quit"
            }
            Focus::Search => "type to search · Enter keeps it · Esc drops it",
            Focus::Detail if columns < 80 => "Enter answers · Tab next · Esc back, decides nothing",
            Focus::Detail => {
                "Enter answers · Tab next part · ←→ choose · Alt-Enter new line · Ctrl-Z undo · Esc back, decides nothing"
            }
            Focus::Line(asks) => asks.keys(),
            Focus::Bulk => "Enter decides all that are covered · ↑↓ scroll · Esc decides nothing",
            Focus::Help => "↑↓ scroll · any other key closes this",
        };
        let keys = match (&self.notice, self.focus) {
            (Some((text, true, _)), Focus::Line(_)) => {
                Line::styled(fit(&format!("! {text}"), columns), theme.bad())
            }
            _ => Line::styled(fit(keys, columns), theme.dim()),
        };
        frame.render_widget(Text::from(vec![notice, keys]), area);
    }
}
