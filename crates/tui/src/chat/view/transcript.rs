//! What was said and done, from where it is looked at.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use crate::chat::Chat;
use crate::markdown;
use crate::text::{fit, line, safe, width, wrap};
use crate::theme::Theme;
use crate::transcript::Item;

/// How many lines of a tool's result are shown.
const RESULT_LINES: usize = 12;

impl Chat {
    pub(super) fn draw_transcript(&self, frame: &mut Frame<'_>, area: Rect) {
        let (columns, height) = (usize::from(area.width), usize::from(area.height));
        self.room.set((columns, height));
        let count = self.things();
        if count == self.transcript.dropped {
            frame.render_widget(Text::from(self.greeting(columns)), area);
            return;
        }
        let top = self.top(columns, height);
        let mut lines: Vec<Line<'static>> = Vec::new();
        for n in top.item..count {
            let skip = if n == top.item { top.line } else { 0 };
            lines.extend(self.rows(n, columns).into_iter().skip(skip));
            if lines.len() > height {
                break;
            }
        }
        let more = self.scrolled.is_some() && lines.len() > height;
        lines.truncate(height);
        frame.render_widget(Text::from(lines), area);
        if more {
            let sign = fit(" ↓ more below · PgDn, Esc goes to the end ", columns);
            let wide = u16::try_from(width(&sign)).unwrap_or(0);
            let place = Rect {
                x: area.x + area.width.saturating_sub(wide),
                y: area.y + area.height.saturating_sub(1),
                width: wide,
                height: 1,
            };
            frame.render_widget(Line::styled(sign, self.theme().chosen()), place);
        }
    }

    /// One thing as lines, with what keeps it apart from the one before. Empty, if it is not shown.
    pub(in crate::chat) fn rows(&self, n: usize, columns: usize) -> Vec<Line<'static>> {
        if let Some(lines) = self.laid_out.borrow().get(&(n, columns)) {
            return lines.clone();
        }
        let Some(item) = self.thing(n) else { return Vec::new() };
        let mut lines = self.item(&item, columns);
        let close = lines.first().is_none_or(|line| line.style == self.theme().dim());
        if n > self.transcript.dropped && !close {
            lines.insert(0, Line::default());
        }
        self.laid_out.borrow_mut().insert((n, columns), lines.clone());
        lines
    }

    fn greeting(&self, columns: usize) -> Vec<Line<'static>> {
        let workflow = self.workflow.as_deref().map_or("nothing yet", |it| it);
        let mut lines = vec![
            Line::styled("Signoff chat", self.theme().accent()),
            Line::raw(fit(&format!("You talk to {} at {}.", line(workflow), self.place), columns)),
        ];
        for sample in self.samples.iter().take(3) {
            lines.push(Line::styled(
                fit(&format!("  for example: {sample}"), columns),
                self.theme().dim(),
            ));
        }
        lines
            .push(Line::styled(fit("/help shows commands and keys.", columns), self.theme().dim()));
        lines
    }

    fn item(&self, item: &Item, columns: usize) -> Vec<Line<'static>> {
        let theme = self.theme();
        match item {
            Item::You { by, text } => {
                let mut lines = vec![Line::styled(format!("> {by}"), theme.bold())];
                lines.extend(
                    wrap(text, columns.saturating_sub(2))
                        .into_iter()
                        .map(|row| Line::raw(format!("  {row}"))),
                );
                lines
            }
            Item::Agent { agent, text } => {
                let n = self.transcript.number(agent);
                let title = format!("{} {}", Theme::sign(n), self.transcript.title(agent));
                let mut lines = vec![Line::styled(fit(&title, columns), theme.agent(n))];
                lines.extend(indented(markdown::lines(text, columns.saturating_sub(2), theme)));
                lines
            }
            Item::Tool { agent, name, arguments, result } => {
                let who = self.transcript.title(agent);
                let sign = match result {
                    None => "…",
                    Some((_, false)) => "✓",
                    Some((_, true)) => "✗ failed",
                };
                let folded = self.settings().fold;
                let mark = if folded { "▸" } else { "▾" };
                let head = format!(
                    "  {mark} {who} used {name} {sign} {}",
                    if folded { line(arguments) } else { String::new() }
                );
                let mut lines = vec![Line::styled(fit(head.trim_end(), columns), theme.dim())];
                if !folded {
                    lines.extend(block(arguments, columns, theme));
                    lines.extend(result.iter().flat_map(|(text, _)| block(text, columns, theme)));
                }
                lines
            }
            Item::Answer { by, text } => wrap(&format!("✓ {by} {text}"), columns)
                .into_iter()
                .map(|row| Line::styled(row, theme.good()))
                .collect(),
            Item::Output(text) => {
                let mut lines = vec![Line::styled("═ Result", theme.accent())];
                lines.extend(indented(markdown::lines(text, columns.saturating_sub(2), theme)));
                lines
            }
            Item::Note(text) => wrap(&safe(text), columns.saturating_sub(2))
                .into_iter()
                .map(|row| Line::styled(format!("· {row}"), theme.dim()))
                .collect(),
            Item::Event(_) if !self.settings().events => Vec::new(),
            Item::Event(text) => {
                vec![Line::styled(fit(&format!("  ┆ {}", line(text)), columns), theme.dim())]
            }
            Item::Problem(text) => wrap(&format!("! {}", safe(text)), columns)
                .into_iter()
                .map(|row| Line::styled(row, theme.bad()))
                .collect(),
        }
    }
}

fn indented(lines: Vec<Line<'static>>) -> impl Iterator<Item = Line<'static>> {
    lines.into_iter().map(|line| {
        let mut spans = vec![Span::raw("  ")];
        let style = line.style;
        spans.extend(
            line.spans.into_iter().map(|span| Span::styled(span.content, style.patch(span.style))),
        );
        Line::from(spans)
    })
}

fn block(text: &str, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let rows = wrap(text, columns.saturating_sub(6));
    let more = rows.len().saturating_sub(RESULT_LINES);
    let mut lines: Vec<Line<'static>> = rows
        .into_iter()
        .take(RESULT_LINES)
        .map(|row| Line::styled(format!("    │ {row}"), theme.dim()))
        .collect();
    if more > 0 {
        lines.push(Line::styled(
            format!("    │ … {more} more lines; /export has them"),
            theme.dim(),
        ));
    }
    lines
}
