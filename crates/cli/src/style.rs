//! Colours. Text is made safe for a terminal by [`signoff_tui::text`].

pub(crate) use signoff_tui::text::{printable, printable_line, short};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_painted_when_it_is_off() {
        assert_eq!(Style { on: false }.bold("x"), "x");
        assert_eq!(Style { on: true }.bold("x"), "\u{1b}[1mx\u{1b}[0m");
    }
}
