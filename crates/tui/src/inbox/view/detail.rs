//! The request under the cursor, with its form.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span, Text};
use signoff_core::request::RequestStatus;

use crate::inbox::{Focus, Inbox};
use crate::overlay::{Extent, scroll};
use crate::panel::{self, Around};
use crate::text::{fit, line, width};
use crate::theme::Theme;

impl Inbox {
    pub(super) fn draw_detail(&self, frame: &mut Frame<'_>, area: Rect, edge: &str) {
        let Some(row) = self.selected() else { return };
        let theme = self.theme;
        let columns = usize::from(area.width).saturating_sub(width(edge)).max(10);
        let (notes, said) = match self.looked.get(&row.request.id) {
            Some(looked) => (&*looked.notes, &*looked.said),
            None => (&[][..], &[][..]),
        };
        let around = Around { agent: &row.agent, notes, said };
        let mut lines = panel::about(&row.request, around, columns, theme, self.now);
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
        lines.push(Line::styled(fit(&line(row.request.id.as_str()), columns), theme.dim()));
        let height = usize::from(area.height);
        let first = scroll(lines.len(), height, focus, self.scrolled, self.focus == Focus::Detail);
        self.seen.set(Extent { first, height, lines: lines.len() });
        let below = first + height < lines.len();
        let seen: Vec<Line<'static>> = lines
            .into_iter()
            .skip(first)
            .take(height)
            .map(|line| edged(edge, line, theme))
            .collect();
        frame.render_widget(Text::from(seen), area);
        let more = match (first > 0, below) {
            (_, true) if self.focus != Focus::Detail => " ↓ more: Enter opens it ",
            _ if self.focus != Focus::Detail => "",
            (true, true) => " ↑↓ more: PgUp, PgDn ",
            (true, false) => " ↑ more: PgUp ",
            (false, true) => " ↓ more: PgDn ",
            (false, false) => "",
        };
        let wide = u16::try_from(width(more)).unwrap_or(0).min(area.width);
        // At the end of what is only looked at; at the top of what is worked on, where nothing is typed.
        let y = if self.focus == Focus::Detail { 0 } else { area.height.saturating_sub(1) };
        let place = Rect {
            x: area.x + area.width - wide,
            y: area.y + y,
            width: wide,
            height: area.height.min(1),
        };
        frame.render_widget(Line::styled(more, theme.chosen()), place);
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
}

fn edged(edge: &str, line: Line<'static>, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(edge.to_owned(), theme.dim())];
    let style = line.style;
    spans.extend(
        line.spans.into_iter().map(|span| Span::styled(span.content, style.patch(span.style))),
    );
    Line::from(spans)
}
