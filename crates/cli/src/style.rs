//! Colours, and text made safe for a terminal.

use crate::{env, out};

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    on: bool,
}

impl Style {
    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self { on: out::stdout_is_terminal() && !env::is_set(env::NO_COLOR) }
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self { on: out::stderr_is_terminal() && !env::is_set(env::NO_COLOR) }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn accent(self, text: &str) -> String {
        self.paint("1;36", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }
}

/// `text` without anything a terminal would act on: control characters and escape sequences, and
/// marks that change the order or hide what is written. Line breaks and tabs stay.
pub(crate) fn printable(text: &str) -> String {
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
pub(crate) fn printable_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One line of at most `width` characters.
pub(crate) fn short(text: &str, width: usize) -> String {
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
    fn nothing_is_painted_when_it_is_off() {
        assert_eq!(Style { on: false }.bold("x"), "x");
        assert_eq!(Style { on: true }.bold("x"), "\u{1b}[1mx\u{1b}[0m");
    }
}
