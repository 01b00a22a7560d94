//! Characters that are not seen, or that change what is seen.

use std::fmt::Write as _;

/// So much white space in a row pushes something out of sight.
const MOST_SPACES: usize = 40;
/// And so many line ends.
const MOST_LINES: usize = 8;

/// The text with nothing hidden in it; whether something was, and whether there was padding.
pub(super) fn seen(text: &str) -> (String, bool, bool) {
    let (mut seen, mut hidden, mut padding) = (String::with_capacity(text.len()), false, false);
    let mut rest = text;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() && !is_odd(c) {
            let end = rest.find(|c: char| !c.is_whitespace() || is_odd(c)).unwrap_or(rest.len());
            let (space, after) = rest.split_at(end);
            padding |= fold(&mut seen, space);
            (rest, before) = (after, None);
            continue;
        }
        let after = &rest[c.len_utf8()..];
        let next = after.chars().next();
        if c == '\r' && next == Some('\n') {
            // A line end of another system: seen, but nothing to warn of.
            seen.push('␍');
        } else if is_odd(c) && !joins(c, before, next) {
            hidden = true;
            // Writing to a string cannot fail.
            let _ = write!(seen, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            seen.push(c);
        }
        (rest, before) = (after, Some(c));
    }
    (seen, hidden, padding)
}

/// The text with hidden characters named. White space stays, but line ends of other systems become ours.
pub(super) fn named(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        if c == '\r' && next == Some('\n') {
            continue;
        }
        if is_odd(c) && !joins(c, before, next) {
            // Writing to a string cannot fail.
            let _ = write!(seen, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            seen.push(c);
        }
        before = Some(c);
    }
    seen
}

/// Writes white space, and if it is too much of it, how much.
fn fold(seen: &mut String, space: &str) -> bool {
    let lines = space.matches('\n').count();
    let widest = space.split('\n').map(|line| line.chars().count()).max().unwrap_or(0);
    if lines < MOST_LINES && widest < MOST_SPACES {
        seen.push_str(space);
        return false;
    }
    let count = space.chars().count();
    let (left, right) = if lines > 0 { ("\n", "\n") } else { (" ", " ") };
    let _ = write!(seen, "{left}⟨{count} white space characters⟩{right}");
    true
}

/// Control characters, and those that turn the direction of text, have no width or are not drawn.
fn is_odd(c: char) -> bool {
    if c == '\n' || c == '\t' {
        return false;
    }
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether an odd character only makes one picture of its neighbours: 👩‍🍳, ❤️.
fn joins(c: char, before: Option<char>, next: Option<char>) -> bool {
    let picture = |c: Option<char>| {
        c.is_some_and(|c| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'))
    };
    match c {
        '\u{200d}' => (picture(before) || before == Some('\u{fe0f}')) && picture(next),
        '\u{fe0f}' => picture(before),
        _ => false,
    }
}
