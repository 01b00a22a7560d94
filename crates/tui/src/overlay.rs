//! What screens have in common: boxes over everything else, and which part of a long text is seen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::theme::Theme;

/// How much of something the last frame showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The first line that was seen.
    pub(crate) first: usize,
    /// How many lines there was room for.
    pub(crate) height: usize,
    /// How many there are.
    pub(crate) lines: usize,
}

impl Extent {
    /// Whether all of it was seen.
    pub(crate) fn is_whole(self) -> bool {
        self.lines <= self.height
    }

    /// The first line to be seen after going so many lines on, or back.
    pub(crate) fn moved(self, by: isize) -> usize {
        let most = self.lines.saturating_sub(self.height);
        self.first.saturating_add_signed(by).min(most)
    }
}

/// The first line that is seen: the one that was asked for, or else what has the focus is seen.
pub(crate) fn scroll(
    lines: usize,
    height: usize,
    focus: (usize, usize),
    asked: Option<usize>,
    follow: bool,
) -> usize {
    let most = lines.saturating_sub(height);
    if let Some(asked) = asked {
        return asked.min(most);
    }
    if !follow {
        return 0;
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
