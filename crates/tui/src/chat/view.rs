//! How the chat looks.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::commands::ALL;
use super::transcript::Item;
use super::{Chat, Focus, Phase, Waiting};
use crate::markdown;
use crate::overlay::{overlay, scroll};
use crate::panel;
use crate::text::{column, fit, line, safe, width, wrap};
use crate::theme::Theme;

/// What moves while something is under way.
const FRAMES: [&str; 4] = ["◐", "◓", "◑", "◒"];
/// How many completions are shown.
const COMPLETIONS: usize = 8;
/// How many lines of a tool's result are shown.
const RESULT_LINES: usize = 12;

const KEYS: &[(&str, &str)] = &[
    ("Enter", "say it; in a question: answer it"),
    ("Alt-Enter", "a new line (also Ctrl-J)"),
    ("Tab", "complete a command; go to the question"),
    ("Esc", "put the question away: nothing is decided, it stays in the inbox"),
    ("Ctrl-R", "show the question again"),
    ("Ctrl-N P", "the next or the previous question"),
    ("Ctrl-G", "write in $EDITOR"),
    ("Ctrl-T", "tool calls whole, or folded"),
    ("↑ ↓", "what was typed before"),
    ("PgUp PgDn", "scroll"),
    ("Ctrl-C", "leave; the run goes on"),
];

impl Chat {
    /// Draws it.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let columns = usize::from(area.width);
        let composer = self
            .editor
            .layout(columns.saturating_sub(3).max(4), usize::from((area.height / 4).clamp(1, 8)));
        let composer_height = u16::try_from(composer.lines.len()).unwrap_or(1);
        let shown = self.waiting.front().filter(|_| !self.hidden);
        let mut panel_lines = shown.map(|waiting| self.panel(waiting, columns.saturating_sub(4)));
        let rest = area.height.saturating_sub(composer_height + 3);
        let panel_height = panel_lines.as_ref().map_or(0, |(lines, ..)| {
            u16::try_from(lines.len() + 2)
                .unwrap_or(u16::MAX)
                .min(rest.saturating_sub(3).max(rest * 2 / 3))
        });
        let [top, panel, status, input, foot] = Layout::vertical([
            Constraint::Min(0),
            Constraint::Length(panel_height),
            Constraint::Length(1),
            Constraint::Length(composer_height),
            Constraint::Length(2),
        ])
        .areas(area);
        self.draw_transcript(frame, top);
        self.draw_status(frame, status);
        for (n, text) in composer.lines.iter().enumerate() {
            let sign = if n == 0 { "> " } else { "  " };
            let y = input.y + u16::try_from(n).unwrap_or(0);
            let style = if self.focus == Focus::Composer {
                self.theme().accent()
            } else {
                self.theme().dim()
            };
            let typed = Line::from(vec![Span::styled(sign, style), Span::raw(text.clone())]);
            frame.render_widget(typed, Rect { y, height: 1, ..input });
        }
        if self.editor.is_empty() && self.focus == Focus::Composer {
            let hint = self.hint();
            let place =
                Rect { x: input.x + 2, width: input.width.saturating_sub(2), height: 1, ..input };
            frame.render_widget(
                Line::styled(fit(&hint, columns.saturating_sub(3)), self.theme().dim()),
                place,
            );
        }
        if self.focus == Focus::Composer {
            let (x, y) = composer.cursor;
            let x = input.x + 2 + u16::try_from(x).unwrap_or(0);
            frame.set_cursor_position(Position::new(x, input.y + u16::try_from(y).unwrap_or(0)));
        }
        self.draw_foot(frame, foot);
        if let Some((lines, cursor, focus)) = panel_lines.take() {
            self.draw_panel(frame, panel, lines, cursor, focus);
        }
        match self.focus {
            Focus::Composer => self.draw_completions(frame, status),
            Focus::Picker => self.draw_picker(frame, area),
            Focus::Help => self.draw_help(frame, area),
            Focus::Panel => {}
        }
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

    fn draw_transcript(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width);
        let wanted = usize::from(area.height) + self.scrolled;
        // From the end, as far as it is seen.
        let mut blocks: Vec<Vec<Line<'static>>> = Vec::new();
        let mut count = 0;
        for (agent, text) in self.transcript.live().rev() {
            let block =
                self.item(&Item::Agent { agent: agent.clone(), text: format!("{text}▍") }, columns);
            count += block.len() + 1;
            blocks.push(block);
        }
        for item in self.transcript.items.iter().rev() {
            if count >= wanted {
                break;
            }
            let block = self.item(item, columns);
            if !block.is_empty() {
                count += block.len() + 1;
                blocks.push(block);
            }
        }
        if blocks.is_empty() {
            blocks.push(self.greeting(columns));
        }
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (n, block) in blocks.into_iter().rev().enumerate() {
            let close = block.first().is_some_and(|line| line.style == self.theme().dim());
            if n > 0 && !close {
                lines.push(Line::default());
            }
            lines.extend(block);
        }
        let height = usize::from(area.height);
        let first = lines.len().saturating_sub(height).saturating_sub(self.scrolled);
        let seen: Vec<Line<'static>> = lines.into_iter().skip(first).take(height).collect();
        frame.render_widget(Text::from(seen), area);
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

    #[allow(clippy::type_complexity)] // the panel's lines, its cursor and what has the focus
    fn panel(
        &self,
        waiting: &Waiting,
        columns: usize,
    ) -> (Vec<Line<'static>>, Option<(usize, usize)>, (usize, usize)) {
        let agent =
            waiting.request.body.agent_path.last().map(|agent| self.transcript.title(agent));
        let mut lines = panel::about(
            &waiting.request,
            &agent.unwrap_or_default(),
            &[],
            columns,
            self.theme(),
            self.now,
        );
        let from = lines.len();
        let drawn = waiting.form.draw(columns, self.theme(), self.focus == Focus::Panel);
        lines.extend(drawn.lines);
        let cursor = drawn.cursor.map(|(x, y)| (x, y + from));
        (lines, cursor, (drawn.focus.0 + from, drawn.focus.1 + from))
    }

    fn draw_panel(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        lines: Vec<Line<'static>>,
        cursor: Option<(usize, usize)>,
        focus: (usize, usize),
    ) {
        let theme = self.theme();
        let active = self.focus == Focus::Panel;
        let count = self.waiting.len();
        let more = if count > 1 { format!(" (1 of {count})") } else { String::new() };
        let sent =
            if self.waiting.front().is_some_and(|it| it.sent) { ", sending …" } else { "" };
        let title = format!(" The workflow asks you{more}{sent} ");
        let block = Block::bordered().title(title).border_style(if active {
            theme.accent()
        } else {
            theme.dim()
        });
        let inner = block.inner(area);
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let height = usize::from(inner.height);
        let first = scroll(lines.len(), height, focus, self.panel_scrolled, active);
        let seen: Vec<Line<'static>> = lines.into_iter().skip(first).take(height).collect();
        frame.render_widget(Paragraph::new(seen), inner);
        if let Some((x, y)) = cursor.filter(|(_, y)| active && *y >= first && *y - first < height) {
            let x = inner.x + u16::try_from(x).unwrap_or(0);
            frame.set_cursor_position(Position::new(
                x,
                inner.y + u16::try_from(y - first).unwrap_or(0),
            ));
        }
    }

    fn draw_status(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.theme();
        let columns = usize::from(area.width);
        let (sign, style) = match (&self.lost, self.phase) {
            (Some(_), _) => ("✗", theme.bad()),
            (None, Phase::Idle) => ("○", theme.dim()),
            (None, Phase::Awaiting) => ("?", theme.warn()),
            (None, Phase::Running | Phase::Continuing) => {
                (FRAMES[self.frame % FRAMES.len()], theme.good())
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

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
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
            Focus::Help => "any key closes this",
        };
        frame.render_widget(
            Text::from(vec![notice, Line::styled(fit(keys, columns), theme.dim())]),
            area,
        );
    }

    fn draw_completions(&self, frame: &mut Frame<'_>, status: Rect) {
        let completions = self.completions();
        if completions.is_empty() {
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

    fn draw_picker(&self, frame: &mut Frame<'_>, area: Rect) {
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

    fn draw_help(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width).saturating_sub(6);
        let row = |name: &str, about: &str| {
            let text = fit(about, columns.saturating_sub(28));
            Line::from(vec![Span::styled(column(name, 27), self.theme().accent()), Span::raw(text)])
        };
        let mut lines: Vec<Line<'static>> =
            KEYS.iter().map(|(keys, what)| row(keys, what)).collect();
        lines.extend(ALL.iter().map(|it| row(&format!("/{} {}", it.name, it.takes), it.about)));
        overlay(frame, area, " Keys and commands ", lines, self.theme());
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
