//! What is shown over the rest: completions, lists to choose from, keys and commands.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Clear;

use crate::chat::Chat;
use crate::chat::commands::ALL;
use crate::overlay::overlay;
use crate::text::{column, fit, line, width, wrap};

/// How many completions are shown.
const COMPLETIONS: usize = 8;

const KEYS: &[(&str, &str)] = &[
    ("Enter", "say it; in a question: answer it"),
    ("Alt-Enter", "a new line (also Ctrl-J)"),
    ("Tab", "complete a command; go to the question"),
    ("Esc", "put the question away: nothing is decided"),
    ("Ctrl-R", "show the question again"),
    ("Ctrl-N Ctrl-P", "the next or the previous question"),
    ("Ctrl-G", "write in $EDITOR"),
    ("Ctrl-T", "tool calls whole, or folded"),
    ("↑ ↓", "what was typed before"),
    ("PgUp PgDn", "scroll; Esc goes to the end"),
    ("Ctrl-C", "leave; the run goes on"),
];

impl Chat {
    pub(super) fn draw_completions(&self, frame: &mut Frame<'_>, status: Rect) {
        let completions = self.completions();
        if completions.is_empty() || self.history_at.is_some() {
            return;
        }
        let count = completions.len().min(COMPLETIONS);
        let first = (self.completion + 1).saturating_sub(COMPLETIONS);
        let height = u16::try_from(count).unwrap_or(0).min(status.y);
        let area = Rect { x: 0, y: status.y - height, width: status.width, height };
        frame.render_widget(Clear, area);
        let columns = usize::from(area.width);
        let longest = completions.iter().map(|(text, _)| width(text)).max().unwrap_or(0);
        let names = longest.clamp(18, columns.max(19) - 1);
        let rows =
            completions.iter().enumerate().skip(first).take(count).map(|(n, (text, about))| {
                let here = n == self.completion;
                let mark = if here { "▸ " } else { "  " };
                let row = fit(&format!("{mark}{} {about}", column(text, names)), columns);
                Line::styled(
                    column(&row, columns),
                    if here { self.theme().chosen() } else { Style::new() },
                )
            });
        frame.render_widget(Text::from(rows.collect::<Vec<_>>()), area);
    }

    pub(super) fn draw_picker(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width).saturating_sub(6);
        let room = usize::from(area.height).saturating_sub(4).max(1);
        let first = (self.picker.at + 1).saturating_sub(room);
        let rows =
            self.picker.of.iter().enumerate().skip(first).take(room).map(|(n, (name, about))| {
                let here = n == self.picker.at;
                let mark = if here { "▸ " } else { "  " };
                let row = fit(&format!("{mark}{}  {about}", column(&line(name), 20)), columns);
                Line::styled(row, if here { self.theme().chosen() } else { Style::new() })
            });
        overlay(frame, area, &format!(" {} ", self.picker.title), rows.collect(), self.theme());
    }

    pub(super) fn draw_help(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width).saturating_sub(6);
        let names = 27.min(columns / 2);
        let mut lines: Vec<Line<'static>> = Vec::new();
        let mut row = |name: &str, about: &str| {
            for (n, text) in wrap(about, columns.saturating_sub(names + 1)).into_iter().enumerate()
            {
                let name = column(if n == 0 { name } else { "" }, names);
                let name = Span::styled(format!("{name} "), self.theme().accent());
                lines.push(Line::from(vec![name, Span::raw(text)]));
            }
        };
        for (keys, what) in KEYS {
            row(keys, what);
        }
        for it in ALL {
            row(&format!("/{} {}", it.name, it.takes), it.about);
        }
        let room = usize::from(area.height).saturating_sub(2);
        self.help_most.set(lines.len().saturating_sub(room));
        let lines = lines.split_off(self.help_at.min(self.help_most.get()));
        overlay(frame, area, " Keys and commands ", lines, self.theme());
    }
}
