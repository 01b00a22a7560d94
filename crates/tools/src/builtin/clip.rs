//! Cutting text by the room it takes in JSON, where a control character takes six bytes.
//!
//! The dispatcher keeps 256 KiB of a result. A tool that knows what it leaves out can say so better, so
//! these tools stay below that by themselves.

/// The longest beginning of `text` that takes at most `room` bytes in JSON.
pub(crate) fn head(text: &str, room: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += cost(c);
        if taken > room {
            return &text[..at];
        }
    }
    text
}

/// The longest end of `text` that takes at most `room` bytes in JSON.
pub(crate) fn tail(text: &str, room: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices().rev() {
        taken += cost(c);
        if taken > room {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

fn cost(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}
