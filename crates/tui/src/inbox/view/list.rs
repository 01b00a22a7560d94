//! The list.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use signoff_core::request::{RequestStatus, Risk};

use crate::inbox::{Focus, Inbox, Row};
use crate::panel::{self, SOON, risk_sign};
use crate::text::{column, fit, line, wrap};
use crate::words::rough;

impl Inbox {
    pub(super) fn draw_list(&self, frame: &mut Frame<'_>, area: Rect) {
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
            let wrapped = wrap(text, columns.saturating_sub(2));
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
        let late = body.expires_at.is_some_and(|at| at.since(self.now).0 < SOON);
        let risky = body.risk >= Some(Risk::High);
        let claimed = request
            .assignee
            .as_ref()
            .map(|it| format!("@{}", line(it.as_str())))
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
            spans.push(Span::raw(column(&line(&request.workflow), 14) + " "));
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
        let focused = matches!(self.focus, Focus::List | Focus::Search | Focus::Line(_));
        if here && focused {
            line.patch_style(theme.chosen())
        } else if here {
            line.patch_style(theme.bold())
        } else {
            line
        }
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
