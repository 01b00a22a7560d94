//! The lines around what is typed: where the conversation stands, what is to be said, what keys do.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use crate::chat::{Chat, Focus, Phase};
use crate::text::{fit, line, width};
use crate::words::rough;

/// What moves while something is under way.
const FRAMES: [&str; 4] = ["◐", "◓", "◑", "◒"];

impl Chat {
    pub(super) fn draw_status(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.theme();
        let columns = usize::from(area.width);
        let (sign, style) = match (&self.lost, self.phase) {
            (Some(_), _) => ("✗", theme.bad()),
            (None, Phase::Idle) => ("○", theme.dim()),
            (None, Phase::Awaiting) => ("?", theme.warn()),
            (None, Phase::Running | Phase::Continuing) => {
                let turn = usize::try_from(self.now.0 / 250).unwrap_or(0);
                (FRAMES[turn % FRAMES.len()], theme.good())
            }
        };
        let mut text = match &self.lost {
            Some(problem) => format!("no server: {problem}; trying again, the run is safe"),
            None => self.phase.as_str().to_owned(),
        };
        let working = self.transcript.working();
        if self.lost.is_none() && self.phase == Phase::Running && !working.is_empty() {
            text = format!("{text}: {}", working.join(", "));
        }
        let works = matches!(self.phase, Phase::Running | Phase::Continuing);
        let took = self.now.since(self.since).0;
        if works && self.lost.is_none() && took >= 1_000 {
            text = format!("{text} · {}", rough(took));
        }
        if let Some(step) = self.transcript.step.as_ref().filter(|_| self.phase != Phase::Idle) {
            text = format!("{text} · {step}");
        }
        if !self.waiting.is_empty() {
            let away = if self.hidden { " put away" } else { "" };
            text = format!(
                "{text} · {} question{}{away}",
                self.waiting.len(),
                if self.waiting.len() == 1 { "" } else { "s" }
            );
        }
        let right = format!(
            " {} ",
            self.workflow.as_deref().map_or_else(|| "no workflow".to_owned(), line)
        );
        let left = columns.saturating_sub(width(&right) + 4);
        let spans = vec![
            Span::styled("─", theme.dim()),
            Span::styled(format!("{sign} "), style),
            Span::styled(fit(&text, left), style),
        ];
        let used: usize = spans.iter().map(Span::width).sum();
        let rule = "─".repeat(columns.saturating_sub(used + width(&right) + 1));
        let mut spans = spans;
        spans.push(Span::styled(format!(" {rule}"), theme.dim()));
        spans.push(Span::styled(right, theme.dim()));
        frame.render_widget(Line::from(spans), area);
    }

    pub(super) fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.theme();
        let columns = usize::from(area.width);
        let notice = match &self.notice {
            Some((text, true, _)) => Line::styled(fit(&format!("! {text}"), columns), theme.bad()),
            Some((text, false, _)) => Line::styled(fit(text, columns), theme.good()),
            None => Line::default(),
        };
        let narrow = columns < 80;
        let keys = match self.focus {
            Focus::Composer if narrow => "Enter say · Alt-Enter line · / commands · Ctrl-C leave",
            Focus::Composer => {
                "Enter say · Alt-Enter new line · Tab question · / commands · PgUp scroll · Ctrl-G editor · Ctrl-C leave"
            }
            Focus::Panel if self.is_fresh() => "a question has come …",
            Focus::Panel if narrow => "Enter answers · Tab next · Esc puts it away",
            Focus::Panel => {
                "Enter answers · Tab next part · ↑↓←→ choose · Ctrl-Z undo · Esc puts it away, decides nothing"
            }
            Focus::Picker => "↑↓ choose · Enter takes it · Esc leaves it",
            Focus::Help => "↑↓ scroll · any other key closes this",
        };
        frame.render_widget(
            Text::from(vec![notice, Line::styled(fit(keys, columns), theme.dim())]),
            area,
        );
    }
}
