//! How the inbox looks.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use signoff_core::request::RequestStatus;
use signoff_core::request::Risk;

use super::{Focus, Inbox, Link, Row};
use crate::overlay::{overlay, scroll};
use crate::panel::{self, risk_sign};
use crate::text::{column, fit, width};
use crate::theme::Theme;
use crate::words::rough;

/// From so many columns on, list and request stand side by side.
const WIDE: u16 = 160;
/// And from so many lines on, one below the other.
const TALL: u16 = 20;

const HELP: &[(&str, &str)] = &[
    ("↑ ↓ j k", "move; PgUp, PgDn, g and G go further"),
    ("Enter →", "open the request: Tab goes through its form, Esc comes back"),
    ("a", "approve; what is risky or changed is opened first"),
    ("d", "deny: type a reason, or none, then Enter"),
    ("e", "change what is proposed, or type the answer"),
    ("c", "claim it, or let it go again"),
    ("x", "comment on it"),
    ("Space *", "mark one, or all that are shown"),
    ("A D", "approve or deny all that are marked, after a look at them"),
    ("/", "search: all words must be there"),
    ("f w i !", "only this kind; this workflow; mine, nobody's; only risky ones"),
    ("Esc", "show all again"),
    ("r", "read the inbox again"),
    ("q Ctrl-C", "leave; nothing is decided by that"),
];

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
            second.push(Span::styled(
                format!("only: {} ", crate::text::line(&only.join(", "))),
                theme.warn(),
            ));
        }
        if second.is_empty() {
            second.push(Span::styled("─".repeat(usize::from(area.width)), theme.dim()));
        }
        frame.render_widget(Text::from(vec![Line::from(spans), Line::from(second)]), area);
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width);
        let rows = usize::from(area.height).saturating_sub(1);
        let wide = columns >= 78;
        let mut lines = vec![Line::styled(fit(&heading(wide), columns), self.theme.dim())];
        if self.shown.is_empty() {
            let text = match (&self.link, self.loaded, self.rows.is_empty()) {
                (_, true, true) => {
                    "Nothing waits for a person. New questions appear here by themselves."
                }
                (_, true, false) => "Nothing that waits fits; Esc shows all again.",
                _ => "…",
            };
            let wrapped = crate::text::wrap(text, columns.saturating_sub(2));
            lines.extend(
                wrapped.into_iter().map(|row| Line::styled(format!("  {row}"), self.theme.dim())),
            );
        }
        let first =
            (self.cursor + 1).saturating_sub(rows.max(1)).max(self.cursor.saturating_sub(rows / 2));
        let first = first.min(self.shown.len().saturating_sub(rows));
        for (n, row) in self.shown.iter().enumerate().skip(first).take(rows) {
            let Some(row) = self.rows.get(*row) else { continue };
            lines.push(self.row_line(row, n == self.cursor, columns, wide));
        }
        frame.render_widget(Text::from(lines), area);
    }

    fn row_line(&self, row: &Row, here: bool, columns: usize, wide: bool) -> Line<'static> {
        let (request, theme) = (&row.request, self.theme);
        let body = &request.body;
        let over = request.status != RequestStatus::Pending;
        let mark = match (self.marked.contains(&request.id), here) {
            (true, true) => "▸✓",
            (true, false) => " ✓",
            (false, true) => "▸ ",
            (false, false) => "  ",
        };
        let age = rough(self.now.since(request.created_at).0)
            .replace(" days", "d")
            .replace(" min", "m")
            .replace(' ', "");
        let late = body.expires_at.is_some_and(|at| at.since(self.now).0 < 120_000);
        let risky = body.risk >= Some(Risk::High);
        let claimed = request
            .assignee
            .as_ref()
            .map(|it| format!("@{}", crate::text::line(it.as_str())))
            .unwrap_or_default();
        let mut spans = vec![
            Span::raw(mark.to_owned()),
            Span::styled(
                column(&age, 5) + if late { "⏰" } else { " " },
                if late { theme.bad() } else { theme.dim() },
            ),
        ];
        if late {
            // The clock takes two columns.
            spans.push(Span::raw(""));
        } else {
            spans.push(Span::raw(" "));
        }
        spans.push(Span::styled(column(body.kind.as_str(), 11) + " ", theme.accent()));
        spans.push(Span::styled(
            column(risk_sign(body.risk), 6) + " ",
            if risky { theme.bad() } else { theme.dim() },
        ));
        if wide {
            spans.push(Span::raw(column(&crate::text::line(&request.workflow), 14) + " "));
            spans.push(Span::raw(column(&row.agent, 10) + " "));
            spans.push(Span::styled(column(&claimed, 8) + " ", theme.warn()));
        } else if !claimed.is_empty() {
            spans.push(Span::styled(fit(&claimed, 8) + " ", theme.warn()));
        }
        let used: usize = spans.iter().map(Span::width).sum();
        let question = match panel::outcome(request) {
            Some(outcome) => outcome,
            None if self.busy.contains(&request.id) => format!("(sending) {}", row.question),
            None => row.question.clone(),
        };
        spans.push(Span::styled(
            column(&question, columns.saturating_sub(used)),
            if over { theme.dim() } else { Style::new() },
        ));
        let line = Line::from(spans);
        let focused = matches!(self.focus, Focus::List | Focus::Search | Focus::Comment);
        if here && focused {
            line.patch_style(theme.chosen())
        } else if here {
            line.patch_style(theme.bold())
        } else {
            line
        }
    }

    fn draw_detail(&self, frame: &mut Frame<'_>, area: Rect, edge: &str) {
        let Some(row) = self.selected() else { return };
        let theme = self.theme;
        let columns = usize::from(area.width).saturating_sub(width(edge)).max(10);
        let notes = self.notes.get(&row.request.id).map_or(&[][..], Vec::as_slice);
        let mut lines = panel::about(&row.request, &row.agent, notes, columns, theme, self.now);
        let (mut cursor, mut focus) = (None, (0, 0));
        if row.request.status == RequestStatus::Pending
            && let Some(form) = &self.form
        {
            let from = lines.len();
            let active = self.focus == Focus::Detail;
            let drawn = form.draw(columns, theme, active);
            lines.extend(drawn.lines);
            if active {
                cursor = drawn.cursor.map(|(x, y)| (x, y + from));
                focus = (drawn.focus.0 + from, drawn.focus.1 + from);
            }
        }
        lines.push(Line::styled(
            fit(&crate::text::line(row.request.id.as_str()), columns),
            theme.dim(),
        ));
        let height = usize::from(area.height);
        let first = scroll(lines.len(), height, focus, self.scrolled, self.focus == Focus::Detail);
        let seen: Vec<Line<'static>> = lines
            .into_iter()
            .skip(first)
            .take(height)
            .map(|line| edged(edge, line, theme))
            .collect();
        frame.render_widget(Text::from(seen), area);
        if let Some((x, y)) = cursor
            && y >= first
            && y - first < height
        {
            let x = area.x + u16::try_from(x + width(edge)).unwrap_or(0);
            frame.set_cursor_position(Position::new(
                x,
                area.y + u16::try_from(y - first).unwrap_or(0),
            ));
        }
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.theme;
        let columns = usize::from(area.width);
        let notice = match (&self.notice, self.focus) {
            (_, Focus::Comment) => {
                let layout = self.comment.layout(columns.saturating_sub(10), 1);
                let x = area.x + 9 + u16::try_from(layout.cursor.0).unwrap_or(0);
                frame.set_cursor_position(Position::new(x, area.y));
                Line::from(vec![
                    Span::styled("comment: ", theme.warn()),
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
                "↑↓ move · Enter open · a approve · d deny · e change · c claim · Space mark · A/D marked · / search · ? help · q quit"
            }
            Focus::Search => "type to search · Enter keeps it · Esc drops it",
            Focus::Detail if columns < 80 => "Enter answers · Tab next · Esc back, decides nothing",
            Focus::Detail => {
                "Enter answers · Tab next part · ←→ choose · Alt-Enter new line · Ctrl-Z undo · Esc back, decides nothing"
            }
            Focus::Comment => "Enter adds the comment · Esc drops it",
            Focus::Bulk => "Enter decides all that are covered · ↑↓ scroll · Esc decides nothing",
            Focus::Help => "any key closes this",
        };
        frame.render_widget(
            Text::from(vec![notice, Line::styled(fit(keys, columns), theme.dim())]),
            area,
        );
    }

    fn draw_bulk(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(bulk) = &self.bulk else { return };
        let theme = self.theme;
        let verb = if bulk.approve { "Approve" } else { "Deny" };
        let title = format!(" {verb} {} requests? ", bulk.covers.len());
        let columns = usize::from(area.width).saturating_sub(6);
        let covers = bulk
            .covers
            .iter()
            .map(|(.., question)| Line::raw(fit(&format!("✓ {question}"), columns)));
        let leaves = bulk.leaves.iter().map(|(question, why)| {
            Line::styled(fit(&format!("– {why}: {question}"), columns), theme.warn())
        });
        let lines: Vec<Line<'static>> = covers.chain(leaves).skip(bulk.scrolled).collect();
        overlay(frame, area, &title, lines, theme);
    }

    fn draw_help(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width).saturating_sub(6);
        let mut lines = Vec::new();
        for (keys, what) in HELP {
            for (n, row) in
                crate::text::wrap(what, columns.saturating_sub(12)).into_iter().enumerate()
            {
                let keys = if n == 0 { *keys } else { "" };
                lines.push(Line::from(vec![
                    Span::styled(column(keys, 11), self.theme.accent()),
                    Span::raw(row),
                ]));
            }
        }
        overlay(frame, area, " Keys ", lines, self.theme);
    }
}

fn heading(wide: bool) -> String {
    if wide {
        format!(
            "  {} {} {} {} {} {} QUESTION",
            column("AGE", 6),
            column("KIND", 11),
            column("RISK", 6),
            column("WORKFLOW", 14),
            column("AGENT", 10),
            column("CLAIMED", 8)
        )
    } else {
        format!("  {} {} {} QUESTION", column("AGE", 6), column("KIND", 11), column("RISK", 6))
    }
}

fn edged(edge: &str, line: Line<'static>, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(edge.to_owned(), theme.dim())];
    let style = line.style;
    spans.extend(
        line.spans.into_iter().map(|span| Span::styled(span.content, style.patch(span.style))),
    );
    Line::from(spans)
}
