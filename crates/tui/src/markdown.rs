//! Markdown, laid out in so many columns. What is not finished yet is shown as far as it goes.

mod layout;
mod table;

use layout::{Piece, laid_out};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::text::{char_width, fit, safe, width};
use crate::theme::Theme;
use table::Table;

/// The lines of `text`, which may come from anywhere.
pub fn lines(text: &str, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let text = safe(text);
    let mut options = Options::empty();
    options
        .insert(Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS);
    let mut page = Page::new(columns.max(8), theme);
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    page.flush();
    while page.lines.last().is_some_and(|line| line.width() == 0) {
        page.lines.pop();
    }
    page.lines
}

struct Page {
    columns: usize,
    theme: Theme,
    lines: Vec<Line<'static>>,
    pieces: Vec<Piece>,
    styles: Vec<Style>,
    /// What stands before each line: quotes and the indentation of lists.
    indent: Vec<(String, String)>,
    lists: Vec<Option<u64>>,
    code: Option<String>,
    table: Option<Table>,
    link: Option<String>,
}

impl Page {
    fn new(columns: usize, theme: Theme) -> Self {
        Self {
            columns,
            theme,
            lines: Vec::new(),
            pieces: Vec::new(),
            styles: vec![Style::new()],
            indent: Vec::new(),
            lists: Vec::new(),
            code: None,
            table: None,
            link: None,
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(self.style().patch(style));
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some(table) = &mut self.table {
            table.cell.push_str(text);
        } else {
            self.pieces.push((text.to_owned(), style));
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.text(&text, self.style()),
            },
            Event::Code(text) => self.text(&text, self.style().patch(self.theme.code())),
            Event::SoftBreak => self.text(" ", self.style()),
            Event::HardBreak => self.text("\n", self.style()),
            Event::Rule => {
                self.flush();
                let rule = "─".repeat(self.columns.min(40));
                self.lines.push(Line::styled(rule, self.theme.dim()));
                self.blank();
            }
            Event::TaskListMarker(done) => {
                self.text(if done { "[x] " } else { "[ ] " }, self.style());
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text, self.theme.dim()),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, self.style());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                let line = if level == HeadingLevel::H1 {
                    Modifier::UNDERLINED
                } else {
                    Modifier::empty()
                };
                self.push_style(self.theme.accent().add_modifier(line));
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.indent.push(("▌ ".to_owned(), "▌ ".to_owned()));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let before = self.before(false);
                    self.lines.push(Line::styled(
                        fit(&format!("{before}╭ {language}"), self.columns),
                        self.theme.dim(),
                    ));
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(Some(n)) => {
                        let bullet = format!("{n}. ");
                        *n += 1;
                        bullet
                    }
                    _ => "• ".to_owned(),
                };
                let blank = " ".repeat(width(&bullet));
                self.indent.push((bullet, blank));
            }
            Tag::Emphasis => self.push_style(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.push_style(self.theme.bold()),
            Tag::Strikethrough => self.push_style(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.push_style(Style::new().add_modifier(Modifier::UNDERLINED));
            }
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(Table { alignments, rows: Vec::new(), cell: String::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.blank();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.indent.pop();
                self.blank();
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            TagEnd::Item => {
                self.flush();
                self.indent.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some(to) = self.link.take() {
                    let said = self.pieces.last().is_some_and(|(text, _)| *text == to);
                    if !said && !to.is_empty() {
                        self.text(&format!(" ({to})"), self.theme.dim());
                    }
                }
            }
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    let cell = std::mem::take(&mut table.cell);
                    if let Some(row) = table.rows.last_mut() {
                        row.push(cell);
                    }
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    /// What stands before a line; `first` of what it begins.
    fn before(&mut self, first: bool) -> String {
        let mut before = String::new();
        let last = self.indent.len();
        for (n, (bullet, blank)) in self.indent.iter_mut().enumerate() {
            if first && n + 1 == last {
                before.push_str(bullet);
                // A bullet stands once.
                bullet.clone_from(blank);
            } else {
                before.push_str(blank);
            }
        }
        before
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    fn flush(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        if pieces.iter().all(|(text, _)| text.trim().is_empty()) {
            return;
        }
        let before = self.before(true);
        let room = self.columns.saturating_sub(width(&before)).max(4);
        for (n, spans) in laid_out(&pieces, room).into_iter().enumerate() {
            let before = if n == 0 { before.clone() } else { self.before(false) };
            let mut line = vec![Span::styled(before, self.theme.dim())];
            line.extend(spans);
            self.lines.push(Line::from(line));
        }
    }

    fn code_block(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let before = self.before(false);
        let room = self.columns.saturating_sub(width(&before) + 2).max(4);
        for line in code.trim_end_matches('\n').split('\n') {
            let chars: Vec<char> = line.chars().collect();
            let mut rest = chars.as_slice();
            loop {
                let mut used = 0;
                let end = rest.iter().position(|c| {
                    used += char_width(*c);
                    used > room
                });
                let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
                self.lines.push(Line::from(vec![
                    Span::styled(format!("{before}│ "), self.theme.dim()),
                    Span::styled(piece.iter().collect::<String>(), self.theme.code()),
                ]));
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
        }
        if self.lists.is_empty() {
            self.blank();
        }
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
