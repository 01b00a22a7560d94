//! Writes a run as a file.

use std::io::{self, Write};

use serde::Serialize;
use signoff_core::Timestamp;
use signoff_store::{Exported, hex_sha256};

use super::{ENTRIES, Header, Line, VERSION};

/// All lines of a run, each written as soon as it is made.
pub(crate) fn write(exported: Exported, at: Timestamp, to: &mut impl Write) -> io::Result<()> {
    let mut lines = Lines { to, digest: String::new() };
    let by = env!("CARGO_PKG_VERSION").to_owned();
    let Exported { run, conversation, definitions, runs } = exported;
    lines.add(&Line::Signoff(Header { version: VERSION, run, by, at }))?;
    if let Some(conversation) = conversation {
        lines.add(&Line::Conversation(Box::new(conversation)))?;
    }
    for definition in definitions {
        lines.add(&Line::Definition(definition))?;
    }
    for mut run in runs {
        let entries = std::mem::take(&mut run.entries);
        lines.add(&Line::Run(Box::new(run)))?;
        for some in entries.chunks(ENTRIES) {
            let some = some.iter().map(|entry| (entry.at, entry.event.clone())).collect();
            lines.add(&Line::Entries(some))?;
        }
    }
    let end = Line::End { sha256: lines.digest.clone() };
    lines.add(&end)
}

struct Lines<'a, W> {
    to: &'a mut W,
    /// Of all lines so far.
    digest: String,
}

impl<W: Write> Lines<'_, W> {
    fn add(&mut self, line: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(line)?;
        self.digest = hex_sha256(format!("{}\n{text}", self.digest).as_bytes());
        writeln!(self.to, "{text}")
    }
}
