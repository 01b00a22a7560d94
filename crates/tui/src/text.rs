//! Text from outside, made safe and fit for a terminal.

use signoff_core::visible;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// `text` as a screen shows it: what a terminal would act on, and what hides or turns text, is named. Tabs become spaces.
pub fn safe(text: &str) -> String {
    visible::plain(text).replace('\t', "    ")
}

/// The same on one line.
pub fn line(text: &str) -> String {
    safe(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many columns it takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// How many columns a character takes.
pub fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// As much of it as fits in so many columns, with a sign if there was more.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += char_width(c);
        if used + 1 > columns {
            break;
        }
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// The same, filled up with spaces.
pub fn column(text: &str, columns: usize) -> String {
    let fitting = fit(text, columns);
    let left = columns.saturating_sub(width(&fitting));
    fitting + &" ".repeat(left)
}

/// Lines of at most so many columns, broken between words where that is possible.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_inclusive(' ') {
            if !line.is_empty() && width(&line) + width(word.trim_end()) > columns {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
            }
            for c in word.chars() {
                if width(&line) + char_width(c) > columns && c != ' ' {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(c);
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// `text` without anything a terminal would act on: control characters and escape sequences, and
/// marks that change the order or hide what is written. Line breaks and tabs stay.
pub fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_parameters(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\t' => clean.push(c),
            '\r' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            _ if c.is_control() || is_invisible(c) => {}
            _ => clean.push(c),
        }
    }
    clean
}

/// The same on one line.
pub fn printable_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One line of at most `width` characters.
pub fn short(text: &str, width: usize) -> String {
    let line = printable_line(text);
    match line.char_indices().nth(width) {
        Some(_) => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => line,
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_parameters(chars);
        }
        // A command for the terminal's title, clipboard or links: up to BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                match c {
                    '\u{7}' | '\u{9c}' => return,
                    '\u{1b}' => {
                        chars.next_if_eq(&'\\');
                        return;
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn skip_parameters(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
    chars.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        for (dirty, clean) in [
            ("plain – ünïcode ✓ 👩‍🍳", "plain – ünïcode ✓ 👩‍🍳"),
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
            ("x\u{1b}]0;title\u{7}y", "xy"),
            ("x\u{1b}]8;;http://evil\u{1b}\\link", "xlink"),
            ("\u{9b}2Jgone", "gone"),
            ("bell\u{7} back\u{8}\u{8}space\u{0}", "bell backspace"),
            ("one\r\ntwo\rthree\u{2028}four", "one\ntwo\nthree\nfour"),
            ("evil \u{202e}txt.exe\u{202c}", "evil txt.exe"),
            ("a\u{200b}b\u{2066}c\u{2069}\u{e0041}", "abc"),
            ("\u{1b}", ""),
            ("\u{1b}[12", ""),
            ("tab\tstays", "tab\tstays"),
        ] {
            assert_eq!(printable(dirty), clean, "{dirty:?}");
        }
        assert_eq!(printable_line("a\n  b\tc"), "a b c");
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(short("abcd", 4), "abcd");
    }

    #[test]
    fn what_a_screen_shows_names_what_it_hides() {
        assert_eq!(safe("a\u{1b}[31mred\u{7}\tb\r\nc"), "a⟨U+001B⟩[31mred⟨U+0007⟩    b\nc");
        assert_eq!(safe("pay \u{202e}evil"), "pay ⟨U+202E⟩evil");
        assert_eq!(line(" a\n  b "), "a b");
    }

    #[test]
    fn lines_fit() {
        assert_eq!(fit("漢字かな", 5), "漢字…");
        assert_eq!(column("ab", 4), "ab  ");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_or_too_wide(text in "[a-z漢 \n]{0,80}", columns in 2usize..20) {
            let lines = wrap(&text, columns);
            proptest::prop_assert!(lines.iter().all(|line| width(line) <= columns));
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            proptest::prop_assert_eq!(letters(&lines.join("")), letters(&text));
        }
    }
}
