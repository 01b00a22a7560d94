//! Lines of standard input, read on a thread of their own so that waiting for one can be interrupted.

use std::io::{BufRead as _, Read as _};

use tokio::sync::mpsc;

/// The longest line that is read, in bytes. Longer than any answer may be.
const MAX_LINE: u64 = 1024 * 1024;

/// Standard input, from the first time a line is wanted.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Option<mpsc::Receiver<String>>,
}

impl Lines {
    /// The next line, or none when there will be no more.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(start).recv().await
    }
}

fn start() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match (&mut stdin).take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
