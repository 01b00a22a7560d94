//! The only place that writes to standard output and standard error.
//!
//! A reader that goes away is not an error: what was asked for is still done.

use std::io::{self, ErrorKind, IsTerminal as _, Write};

fn tolerate(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes text and a line break to standard output.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    tolerate(writeln!(stdout, "{text}").and_then(|()| stdout.flush()))
}

/// Writes a JSON value as one line to standard output.
pub(crate) fn json_line(value: &serde_json::Value) -> io::Result<()> {
    line(&value.to_string())
}

/// Writes text and a line break to standard error. Nobody can be told if that fails.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes text to standard error as it is.
pub(crate) fn raw(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Whether a person reads standard output.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person reads standard error.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person sits before all of it, so that forms can be shown.
pub(crate) fn is_terminal() -> bool {
    stdin_is_terminal() && stdout_is_terminal() && stderr_is_terminal()
}

/// Whether a person types on standard input.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}
