//! How a form looks.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Field, Form, Part, build};
use crate::editor::Editor;
use crate::text::{column, fit, line, safe, width, wrap};
use crate::theme::Theme;

/// What stands before the words of an option: its mark and its number.
const BEFORE_OPTION: usize = 7;

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

/// An option as it is shown.
struct Shown<'a> {
    number: usize,
    mark: &'static str,
    label: &'a str,
    about: Option<&'a str>,
    style: Style,
}

impl Form {
    /// The form in so many columns. `active`: keys go to it.
    pub fn draw(&self, columns: usize, theme: Theme, active: bool) -> Drawn {
        let mut page = Page { lines: Vec::new(), cursor: None, focus: (0, 0), columns, theme };
        let names = self.parts.iter().map(|part| match part {
            Part::Field(field) => width(&line(&field.name)),
            _ => 0,
        });
        let names = names.max().unwrap_or(0).min(columns / 3);
        for (n, part) in self.parts.iter().enumerate() {
            let here = active && n == self.focus;
            let from = page.lines.len();
            match part {
                Part::Choices { of, at } => {
                    for (number, (label, _, about)) in of.iter().enumerate() {
                        let chosen = *at == Some(number);
                        let mark = if chosen { "(•)" } else { "( )" };
                        let style = style(chosen, here && chosen, theme);
                        let about = about.as_deref();
                        page.option(&Shown { number, mark, label, about, style }, chosen);
                    }
                }
                Part::Several { of, on, at } => {
                    for (number, (label, _, about)) in of.iter().enumerate() {
                        let (under, chosen) = (here && number == *at, on.contains(&number));
                        let mark = if chosen { "[x]" } else { "[ ]" };
                        let style = style(chosen, under, theme);
                        let about = about.as_deref();
                        page.option(&Shown { number, mark, label, about, style }, under);
                    }
                    let keys = fit("Space takes one in or out; Enter answers", columns);
                    page.lines.push(Line::styled(keys, theme.dim()));
                }
                Part::Field(field) => page.field(field, names, here),
                Part::Text { label, editor, .. } => {
                    page.typed(label, editor, here, if here { 8 } else { 4 });
                }
                Part::Note(editor) => {
                    page.typed("Note, reason or feedback (may stay empty)", editor, here, 2);
                }
                Part::Extra(extra) => {
                    let (about, meant) = extra.words();
                    let words = if here { format!("◂ {meant} ▸") } else { meant.to_owned() };
                    let mark = if here { "▸ " } else { "  " };
                    let style = if here { theme.accent() } else { theme.dim() };
                    let row = fit(&format!("{mark}{}  {words}", column(about, 11)), columns);
                    page.lines.push(Line::styled(row, style));
                }
                Part::Buttons => page.buttons(self, here),
            }
            if here && page.focus.0 < from {
                page.focus = (from, page.lines.len().saturating_sub(1));
            }
        }
        for row in
            self.problem.iter().flat_map(|problem| wrap(&safe(&format!("! {problem}")), columns))
        {
            page.lines.push(Line::styled(row, theme.bad()));
            page.focus.1 = page.lines.len() - 1;
        }
        Drawn { lines: page.lines, cursor: page.cursor, focus: page.focus }
    }
}

fn style(chosen: bool, under: bool, theme: Theme) -> Style {
    match (chosen, under) {
        (_, true) => theme.chosen(),
        (true, false) => theme.accent(),
        (false, false) => Style::new(),
    }
}

struct Page {
    lines: Vec<Line<'static>>,
    cursor: Option<(usize, usize)>,
    focus: (usize, usize),
    columns: usize,
    theme: Theme,
}

impl Page {
    fn option(&mut self, shown: &Shown<'_>, meant: bool) {
        let room = self.columns.saturating_sub(BEFORE_OPTION).max(4);
        let from = self.lines.len();
        for (n, row) in wrap(&line(shown.label), room).into_iter().enumerate() {
            let before = if n == 0 {
                format!("{} {:<2} ", shown.mark, shown.number + 1)
            } else {
                " ".repeat(BEFORE_OPTION)
            };
            self.lines.push(Line::styled(format!("{before}{row}"), shown.style));
        }
        for row in shown.about.iter().flat_map(|about| wrap(&line(about), room)) {
            let row = format!("{}{row}", " ".repeat(BEFORE_OPTION));
            self.lines.push(Line::styled(row, self.theme.dim()));
        }
        if meant {
            self.focus = (from, self.lines.len() - 1);
        }
    }

    fn field(&mut self, field: &Field, names: usize, here: bool) {
        let theme = self.theme;
        let name = column(&line(&field.name), names);
        let mark = if here { "▸ " } else { "  " };
        let room = self.columns.saturating_sub(names + 6).max(4);
        if field.is_picked() {
            let said = fit(&line(field.said(field.editor.text())), room.saturating_sub(4));
            let words = if here { format!("◂ {said} ▸") } else { said };
            let style = if here { theme.bold() } else { Style::new() };
            self.lines.push(Line::from(vec![
                Span::styled(
                    format!("{mark}{name}  "),
                    if here { theme.accent() } else { theme.dim() },
                ),
                Span::styled(words, style),
            ]));
            return self.below(field, names, here);
        }
        let layout = field.editor.layout(room, 3);
        if here {
            let (x, y) = layout.cursor;
            self.cursor = Some((names + 4 + x, self.lines.len() + y));
        }
        let blank = " ".repeat(names + 4);
        for (n, row) in layout.lines.into_iter().enumerate() {
            let before = if n == 0 { format!("{mark}{name}  ") } else { blank.clone() };
            let style = if here { theme.bold() } else { Style::new() };
            self.lines.push(Line::from(vec![
                Span::styled(before, if here { theme.accent() } else { theme.dim() }),
                Span::styled(row, style),
            ]));
        }
        self.below(field, names, here);
    }

    /// What a field was, or what is to be known about it.
    fn below(&mut self, field: &Field, names: usize, here: bool) {
        let theme = self.theme;
        let blank = " ".repeat(names + 4);
        let room = self.columns.saturating_sub(names + 6).max(4);
        let was = field.was.as_ref().filter(|_| field.is_changed()).map(build::written);
        let (text, style) = match (was, &field.about) {
            (Some(was), _) => (format!("was {}", line(field.said(&was))), theme.warn()),
            (None, Some(about)) if here => (line(about), theme.dim()),
            _ => return,
        };
        self.lines.push(Line::styled(format!("{blank}{}", fit(&text, room)), style));
    }

    /// What is being typed, below its label.
    fn typed(&mut self, label: &str, editor: &Editor, here: bool, height: usize) {
        let style = if here { self.theme.accent() } else { self.theme.dim() };
        self.lines.push(Line::styled(fit(label, self.columns), style));
        let layout = editor.layout(self.columns.saturating_sub(2).max(4), height);
        if here {
            self.cursor = Some((2 + layout.cursor.0, self.lines.len() + layout.cursor.1));
        }
        for row in layout.lines {
            let bar = Span::styled(if here { "┃ " } else { "│ " }, style);
            self.lines.push(Line::from(vec![bar, Span::raw(row)]));
        }
    }

    fn buttons(&mut self, form: &Form, here: bool) {
        let theme = self.theme;
        let mut row: Vec<Span<'static>> = Vec::new();
        let mut used = 0;
        for kind in &form.body.allowed {
            let chosen = form.chosen == Some(*kind);
            let label = build::label(*kind);
            // A chosen one has other brackets, for terminals without colours.
            let text = if chosen { format!("[▸{label}◂]") } else { format!("[ {label} ]") };
            if used + width(&text) + 1 > self.columns && used > 0 {
                self.lines.push(Line::from(std::mem::take(&mut row)));
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
        self.lines.push(Line::from(row));
    }
}
