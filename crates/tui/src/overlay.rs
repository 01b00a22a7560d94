//! What screens have in common: boxes over everything else, and which part of a long text is seen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::theme::Theme;

/// The first line that is seen, so that what has the focus is.
pub(crate) fn scroll(
    lines: usize,
    height: usize,
    focus: (usize, usize),
    asked: usize,
    follow: bool,
) -> usize {
    let most = lines.saturating_sub(height);
    if !follow || asked > 0 {
        return asked.min(most);
    }
    // The end of what has the focus is seen; and its beginning, if there is room for both.
    (focus.1 + 1).saturating_sub(height).min(focus.0).min(most)
}

/// A box over everything else.
pub(crate) fn overlay(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    lines: Vec<Line<'static>>,
    theme: Theme,
) {
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let inner = Rect { x: area.x + 1, y: area.y, width: area.width.saturating_sub(2), height };
    frame.render_widget(Clear, inner);
    let block = Block::bordered().title(title.to_owned()).border_style(theme.accent());
    frame.render_widget(Paragraph::new(lines).block(block), inner);
}
