//! How the chat looks.

mod bars;
mod lists;
mod panel;
mod transcript;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Position, Rect};
use ratatui::text::{Line, Span};

use super::{Chat, Focus, Phase};
use crate::editor::Layout;
use crate::text::fit;
use crate::theme::Theme;

impl Chat {
    /// Draws it.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let columns = usize::from(area.width);
        let tallest = usize::from((area.height / 4).clamp(1, 8));
        let composer = self.editor.layout(columns.saturating_sub(3).max(4), tallest);
        let composer_height = u16::try_from(composer.lines.len()).unwrap_or(1);
        let rest = area.height.saturating_sub(composer_height + 3);
        let most = rest.saturating_sub(3).max(rest * 2 / 3);
        let shown = self.waiting.front().filter(|_| !self.hidden);
        let page = shown.map(|waiting| self.page(waiting, columns, usize::from(most)));
        let panel_height = page
            .as_ref()
            .map_or(0, |page| u16::try_from(page.lines.len() + 2).unwrap_or(u16::MAX).min(most));
        let [top, panel, status, input, foot] = Split::vertical([
            Constraint::Min(0),
            Constraint::Length(panel_height),
            Constraint::Length(1),
            Constraint::Length(composer_height),
            Constraint::Length(2),
        ])
        .areas(area);
        self.draw_transcript(frame, top);
        self.draw_status(frame, status);
        self.draw_composer(frame, input, &composer);
        self.draw_foot(frame, foot);
        if let Some(page) = page {
            self.draw_panel(frame, panel, page);
        }
        match self.focus {
            Focus::Composer => self.draw_completions(frame, status),
            Focus::Picker => self.draw_picker(frame, area),
            Focus::Help => {
                let area = Rect { height: area.height.saturating_sub(foot.height), ..area };
                self.draw_help(frame, area);
            }
            Focus::Panel => {}
        }
    }

    fn draw_composer(&self, frame: &mut Frame<'_>, area: Rect, composer: &Layout) {
        let columns = usize::from(area.width);
        let typing = self.focus == Focus::Composer;
        let style = if typing { self.theme().accent() } else { self.theme().dim() };
        for (n, text) in composer.lines.iter().enumerate() {
            let sign = if n == 0 { "> " } else { "  " };
            let y = area.y + u16::try_from(n).unwrap_or(0);
            let typed = Line::from(vec![Span::styled(sign, style), Span::raw(text.clone())]);
            frame.render_widget(typed, Rect { y, height: 1, ..area });
        }
        if !typing {
            return;
        }
        if self.editor.is_empty() {
            let hint = fit(&self.hint(), columns.saturating_sub(3));
            let place =
                Rect { x: area.x + 2, width: area.width.saturating_sub(2), height: 1, ..area };
            frame.render_widget(Line::styled(hint, self.theme().dim()), place);
        }
        let (x, y) = composer.cursor;
        let x = area.x + 2 + u16::try_from(x).unwrap_or(0);
        frame.set_cursor_position(Position::new(x, area.y + u16::try_from(y).unwrap_or(0)));
    }

    fn theme(&self) -> Theme {
        self.settings().theme
    }

    fn hint(&self) -> String {
        match (self.phase, &self.workflow, self.samples.first()) {
            (Phase::Idle, None, _) => "/workflows chooses what to talk to".to_owned(),
            (Phase::Idle, Some(_), Some(sample)) if self.conversation.is_none() => {
                format!("for example: {sample}")
            }
            (Phase::Idle, ..) => "say something, or / for commands".to_owned(),
            (Phase::Awaiting, ..) => "Tab goes to the question".to_owned(),
            (Phase::Running | Phase::Continuing, ..) => "you can type while it works".to_owned(),
        }
    }
}
