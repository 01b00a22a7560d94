//! Text that is being typed: one line or several.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::text::char_width;

/// Text with a cursor in it. Control characters never get in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Editor {
    text: String,
    /// Where the next character goes, in bytes.
    cursor: usize,
    several_lines: bool,
}

/// The most that can be typed, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Text as it is laid out in columns.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// The lines that are seen.
    pub lines: Vec<String>,
    /// Column and line of the cursor among them.
    pub cursor: (usize, usize),
}

impl Editor {
    /// An empty line.
    pub fn line() -> Self {
        Self::default()
    }

    /// Room for several lines.
    pub fn lines() -> Self {
        Self { several_lines: true, ..Self::default() }
    }

    /// The same with text in it.
    #[must_use]
    pub fn with(mut self, text: &str) -> Self {
        self.insert(text);
        self
    }

    /// The same with the cursor before all of it.
    #[must_use]
    pub fn at_start(mut self) -> Self {
        self.cursor = 0;
        self
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes the text out.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Puts other text in, and the cursor at its end.
    pub fn set(&mut self, text: &str) {
        self.take();
        self.insert(text);
    }

    /// Puts text in at the cursor, without what cannot be typed.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
        let fits = |c: &char| match c {
            '\n' => true,
            c => !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'),
        };
        let ours = |c: char| if c == '\n' && !self.several_lines { ' ' } else { c };
        let mut clean: String = text.chars().filter(fits).map(ours).collect();
        let room = MAX_BYTES.saturating_sub(self.text.len());
        let end = (0..=room.min(clean.len())).rev().find(|at| clean.is_char_boundary(*at));
        clean.truncate(end.unwrap_or(0));
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    /// Whether the cursor stands in the first line, and in the last.
    pub fn at_edges(&self) -> (bool, bool) {
        (!self.text[..self.cursor].contains('\n'), !self.text[self.cursor..].contains('\n'))
    }

    /// Takes a key; says whether it was one for typing.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter
                if self.several_lines && (alt || key.modifiers.contains(KeyModifiers::SHIFT)) =>
            {
                self.insert("\n");
            }
            KeyCode::Char('j') if control && self.several_lines => self.insert("\n"),
            KeyCode::Char('a') if control => self.cursor = self.line_start(),
            KeyCode::Char('e') if control => self.cursor = self.line_end(),
            KeyCode::Char('w') if control => self.delete_to(self.word_before()),
            KeyCode::Backspace if alt || control => self.delete_to(self.word_before()),
            KeyCode::Char('u') if control => self.delete_to(self.line_start()),
            KeyCode::Char('k') if control => self.delete_to(self.line_end()),
            KeyCode::Char('b') if alt => self.cursor = self.word_before(),
            KeyCode::Char('f') if alt => self.cursor = self.word_after(),
            KeyCode::Left if control || alt => self.cursor = self.word_before(),
            KeyCode::Right if control || alt => self.cursor = self.word_after(),
            KeyCode::Char(c) if !control && !alt => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => self.delete_to(self.before()),
            KeyCode::Delete => self.delete_to(self.after()),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = self.line_start(),
            KeyCode::End => self.cursor = self.line_end(),
            KeyCode::Up if self.several_lines && !self.at_edges().0 => self.up(),
            KeyCode::Down if self.several_lines && !self.at_edges().1 => self.down(),
            _ => return false,
        }
        true
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_before(&self) -> usize {
        let head = self.text[..self.cursor].trim_end();
        head.char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn word_after(&self) -> usize {
        let tail = &self.text[self.cursor..];
        let blank = tail.len() - tail.trim_start().len();
        let word = tail[blank..].find(char::is_whitespace).unwrap_or(tail.len() - blank);
        self.cursor + blank + word
    }

    fn up(&mut self) {
        let start = self.line_start();
        let column = self.text[start..self.cursor].chars().count();
        self.cursor = start - 1;
        self.go_to_column(column);
    }

    fn down(&mut self) {
        let column = self.text[self.line_start()..self.cursor].chars().count();
        self.cursor = self.line_end() + 1;
        self.go_to_column(column);
    }

    /// To this column of the line that the cursor is in, or to its end.
    fn go_to_column(&mut self, column: usize) {
        let (start, end) = (self.line_start(), self.line_end());
        let place = self.text[start..end].char_indices().nth(column);
        self.cursor = place.map_or(end, |(at, _)| start + at);
    }

    fn delete_to(&mut self, other: usize) {
        let (from, to) = (self.cursor.min(other), self.cursor.max(other));
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    /// The text in lines of so many columns, and of those at most `height` around the cursor.
    pub fn layout(&self, columns: usize, height: usize) -> Layout {
        let columns = columns.max(2);
        let mut lines = vec![String::new()];
        let (mut used, mut cursor) = (0, (0, 0));
        for (at, c) in self.text.char_indices() {
            let wide = char_width(c);
            if c != '\n' && used + wide > columns {
                lines.push(String::new());
                used = 0;
            }
            if at == self.cursor {
                cursor = (used, lines.len() - 1);
            }
            if c == '\n' {
                lines.push(String::new());
                used = 0;
            } else {
                if let Some(last) = lines.last_mut() {
                    last.push(c);
                }
                used += wide;
            }
        }
        if self.cursor == self.text.len() {
            if used >= columns {
                lines.push(String::new());
                used = 0;
            }
            cursor = (used, lines.len() - 1);
        }
        let first = (cursor.1 + 1).saturating_sub(height.max(1));
        let lines: Vec<String> = lines.into_iter().skip(first).take(height.max(1)).collect();
        Layout { lines, cursor: (cursor.0, cursor.1 - first) }
    }
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
