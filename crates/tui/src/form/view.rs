//! How a form looks.

use ratatui::text::{Line, Span};

use super::{Form, Part, build};
use crate::text::{line, safe, width, wrap};
use crate::theme::Theme;

/// A form as lines.
#[derive(Debug)]
pub struct Drawn {
    /// Its lines.
    pub lines: Vec<Line<'static>>,
    /// Where the cursor is, if something is typed there: column and line.
    pub cursor: Option<(usize, usize)>,
    /// The first and the last line of what has the focus.
    pub focus: (usize, usize),
}

impl Form {
    /// The form in so many columns. `active`: keys go to it.
    pub fn draw(&self, columns: usize, theme: Theme, active: bool) -> Drawn {
        let mut drawn = Drawn { lines: Vec::new(), cursor: None, focus: (0, 0) };
        let names = self.parts.iter().map(|part| match part {
            Part::Field(field) => width(&line(&field.name)),
            _ => 0,
        });
        let names = names.max().unwrap_or(0).min(columns / 3);
        for (n, part) in self.parts.iter().enumerate() {
            let here = active && n == self.focus;
            let from = drawn.lines.len();
            match part {
                Part::Choices { of, at } => {
                    for (n, (label, _, about)) in of.iter().enumerate() {
                        let chosen = *at == Some(n);
                        let mark = if chosen { "(•)" } else { "( )" };
                        let text = format!("{mark} {}  {}", n + 1, line(label));
                        let style = match (chosen, here) {
                            (true, true) => theme.chosen(),
                            (true, false) => theme.accent(),
                            _ => theme.bold(),
                        };
                        let style = if chosen { style } else { ratatui::style::Style::new() };
                        for (n, row) in wrap(&text, columns).into_iter().enumerate() {
                            let row = if n > 0 { format!("       {row}") } else { row };
                            drawn.lines.push(Line::styled(row, style));
                        }
                        if chosen {
                            drawn.focus = (drawn.lines.len(), drawn.lines.len());
                        }
                        for row in about
                            .iter()
                            .flat_map(|about| wrap(&line(about), columns.saturating_sub(7)))
                        {
                            drawn.lines.push(Line::styled(format!("       {row}"), theme.dim()));
                        }
                    }
                }
                Part::Field(field) => {
                    let name = crate::text::column(&line(&field.name), names);
                    let mark = if here { "▸ " } else { "  " };
                    let room = columns.saturating_sub(names + 6).max(4);
                    let layout = field.editor.layout(room, 3);
                    if here {
                        drawn.cursor = Some((
                            names + 4 + layout.cursor.0,
                            drawn.lines.len() + layout.cursor.1,
                        ));
                    }
                    for (n, row) in layout.lines.into_iter().enumerate() {
                        let before =
                            if n == 0 { format!("{mark}{name}  ") } else { " ".repeat(names + 4) };
                        let style = if here { theme.bold() } else { ratatui::style::Style::new() };
                        drawn.lines.push(Line::from(vec![
                            Span::styled(before, if here { theme.accent() } else { theme.dim() }),
                            Span::styled(row, style),
                        ]));
                    }
                    let was = field.was.as_ref().filter(|_| field.is_changed()).map(build::written);
                    if let Some(was) = was {
                        let text = crate::text::fit(&format!("was {}", line(&was)), room);
                        drawn.lines.push(Line::styled(
                            format!("{}{text}", " ".repeat(names + 4)),
                            theme.warn(),
                        ));
                    } else if let (true, Some(about)) = (here, &field.about) {
                        let text = crate::text::fit(&line(about), room);
                        drawn.lines.push(Line::styled(
                            format!("{}{text}", " ".repeat(names + 4)),
                            theme.dim(),
                        ));
                    }
                }
                Part::Text { label, editor, .. } => {
                    typed(
                        &mut drawn,
                        label,
                        editor,
                        columns,
                        theme,
                        here,
                        if here { 8 } else { 4 },
                    );
                }
                Part::Note(editor) => {
                    typed(
                        &mut drawn,
                        "Note, reason or feedback (may stay empty)",
                        editor,
                        columns,
                        theme,
                        here,
                        2,
                    );
                }
                Part::Buttons => self.buttons(&mut drawn, columns, theme, here),
            }
            if here && drawn.focus.0 < from {
                drawn.focus = (from, drawn.lines.len().saturating_sub(1));
            }
        }
        for row in
            self.problem.iter().flat_map(|problem| wrap(&safe(&format!("! {problem}")), columns))
        {
            drawn.lines.push(Line::styled(row, theme.bad()));
            drawn.focus.1 = drawn.lines.len() - 1;
        }
        drawn
    }

    fn buttons(&self, drawn: &mut Drawn, columns: usize, theme: Theme, here: bool) {
        let mut row: Vec<Span<'static>> = Vec::new();
        let mut used = 0;
        for kind in &self.body.allowed {
            let chosen = self.chosen == Some(*kind);
            let label = build::label(*kind);
            // A chosen one has other brackets, for terminals without colours.
            let text = if chosen { format!("[▸{label}◂]") } else { format!("[ {label} ]") };
            if used + width(&text) + 1 > columns && used > 0 {
                drawn.lines.push(Line::from(std::mem::take(&mut row)));
                used = 0;
            }
            used += width(&text) + 1;
            let style = match (chosen, here) {
                (true, true) => theme.chosen(),
                (true, false) => theme.accent(),
                (false, true) => theme.bold(),
                (false, false) => theme.dim(),
            };
            row.push(Span::styled(text, style));
            row.push(Span::raw(" "));
        }
        drawn.lines.push(Line::from(row));
    }
}

/// What is being typed, below its label.
fn typed(
    drawn: &mut Drawn,
    label: &str,
    editor: &crate::editor::Editor,
    columns: usize,
    theme: Theme,
    here: bool,
    height: usize,
) {
    let style = if here { theme.accent() } else { theme.dim() };
    drawn.lines.push(Line::styled(crate::text::fit(label, columns), style));
    let layout = editor.layout(columns.saturating_sub(2).max(4), height);
    if here {
        drawn.cursor = Some((2 + layout.cursor.0, drawn.lines.len() + layout.cursor.1));
    }
    for row in layout.lines {
        let bar = Span::styled(if here { "┃ " } else { "│ " }, style);
        drawn.lines.push(Line::from(vec![bar, Span::raw(row)]));
    }
}
