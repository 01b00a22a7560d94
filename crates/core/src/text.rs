//! Words of a stranger, made fit to be shown and kept.

use sha2::{Digest as _, Sha256};

/// `text` without what a terminal or a reader could be fooled with, and not longer than `most` bytes.
pub fn clean(text: &str, most: usize) -> String {
    cut(text.chars().filter(|c| !is_hidden(*c)).collect(), most)
}

/// The beginning of `text`, not longer than `most` bytes, with a sign where it ends.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

/// Control characters, and those that turn the direction of text or are not seen at all.
fn is_hidden(c: char) -> bool {
    let marks =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let tags = matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    (c.is_control() && c != '\n' && c != '\t') || marks || tags
}

/// The first `length` hexadecimal digits of the SHA-256 of `text`.
pub fn digest(text: &str, length: usize) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(length).map(hex).collect()
}

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_passes() {
        assert_eq!(clean("a\u{1b}[2Jb\u{202e}c\u{e0041}\nd\te", 99), "a[2Jbc\nd\te");
        assert_eq!(clean("ääää", 5), "ää…");
        assert_eq!(digest("", 8), "e3b0c442");
    }
}
