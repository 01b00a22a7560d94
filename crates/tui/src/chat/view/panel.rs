//! The question in front, with the form by which it is answered.

use ratatui::Frame;
use ratatui::layout::{Alignment, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::chat::{Chat, Focus, Waiting};
use crate::overlay::{Extent, scroll};
use crate::panel::{self, Around};
use crate::text::width;

/// How many of the last messages come with a question.
const RECENT: usize = 3;

/// A question as lines.
pub(super) struct Page {
    pub(super) lines: Vec<Line<'static>>,
    cursor: Option<(usize, usize)>,
    focus: (usize, usize),
}

impl Chat {
    /// The question in so many columns. What was said before it comes along where there is room for all of it.
    pub(super) fn page(&self, waiting: &Waiting, columns: usize, height: usize) -> Page {
        let columns = columns.saturating_sub(4);
        let body = &waiting.request.body;
        let agent = body.agent_path.last().map(|agent| self.transcript.title(agent));
        let agent = agent.unwrap_or_default();
        let form = waiting.form.draw(columns, self.theme(), self.focus == Focus::Panel);
        let about = |said| {
            let around = Around { agent: &agent, notes: &waiting.notes, said };
            panel::about(&waiting.request, around, columns, self.theme(), self.now)
        };
        let said = if waiting.said.is_empty() {
            self.transcript.last_said(RECENT, &body.prompt)
        } else {
            waiting.said.clone()
        };
        let mut lines = about(&said);
        if lines.len() + form.lines.len() + 2 > height {
            lines = about(&[]);
        }
        let from = lines.len();
        lines.extend(form.lines);
        let cursor = form.cursor.map(|(x, y)| (x, y + from));
        Page { lines, cursor, focus: (form.focus.0 + from, form.focus.1 + from) }
    }

    pub(super) fn draw_panel(&self, frame: &mut Frame<'_>, area: Rect, page: Page) {
        let theme = self.theme();
        let active = self.focus == Focus::Panel;
        let count = self.waiting.len();
        let more = if count > 1 { format!(" (1 of {count})") } else { String::new() };
        let sent =
            if self.waiting.front().is_some_and(|it| it.sent) { ", sending …" } else { "" };
        let title = format!(" The workflow asks you{more}{sent} ");
        let style = if active { theme.accent() } else { theme.dim() };
        let mut block = Block::bordered().title(title.clone()).border_style(style);
        let inner = block.inner(area);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let height = usize::from(inner.height);
        let first = scroll(page.lines.len(), height, page.focus, self.panel_scrolled, active);
        self.panel_seen.set(Extent { first, height, lines: page.lines.len() });
        let above = " ↑ more: PgUp ";
        if first > 0 && width(&title) + width(above) + 2 < usize::from(area.width) {
            block = block.title(Line::from(above).alignment(Alignment::Right));
        }
        if first + height < page.lines.len() {
            block = block.title_bottom(Line::from(" ↓ more: PgDn ").alignment(Alignment::Right));
        }
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        let seen: Vec<Line<'static>> = page.lines.into_iter().skip(first).take(height).collect();
        frame.render_widget(Paragraph::new(seen), inner);
        let seen = |(_, y): &(usize, usize)| active && *y >= first && *y - first < height;
        if let Some((x, y)) = page.cursor.filter(seen) {
            let x = inner.x + u16::try_from(x).unwrap_or(0);
            let y = inner.y + u16::try_from(y - first).unwrap_or(0);
            frame.set_cursor_position(Position::new(x, y));
        }
    }
}
