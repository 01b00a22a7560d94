//! Styled text, broken into lines.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::text::{char_width, width};

/// A piece of text in one style.
pub(super) type Piece = (String, Style);

/// Styled text in lines of at most so many columns.
pub(super) fn laid_out(pieces: &[Piece], columns: usize) -> Vec<Vec<Span<'static>>> {
    let mut lines: Vec<Vec<Span<'static>>> = vec![Vec::new()];
    let mut used = 0;
    let put = |lines: &mut Vec<Vec<Span<'static>>>, text: String, style: Style| {
        if let Some(line) = lines.last_mut() {
            line.push(Span::styled(text, style));
        }
    };
    for (text, style) in pieces {
        for (n, part) in text.split('\n').enumerate() {
            if n > 0 {
                lines.push(Vec::new());
                used = 0;
            }
            for word in part.split_inclusive(' ') {
                if used > 0 && used + width(word.trim_end()) > columns {
                    lines.push(Vec::new());
                    used = 0;
                }
                let word = if used == 0 && lines.last().is_none_or(Vec::is_empty) {
                    word.trim_start()
                } else {
                    word
                };
                let mut piece = String::new();
                for c in word.chars() {
                    if used + char_width(c) > columns && c != ' ' {
                        put(&mut lines, std::mem::take(&mut piece), *style);
                        lines.push(Vec::new());
                        used = 0;
                    }
                    piece.push(c);
                    used += char_width(c);
                }
                if !piece.is_empty() {
                    put(&mut lines, piece, *style);
                }
            }
        }
    }
    lines
}
