//! Runs as files: what is exported here can be imported elsewhere.
//!
//! A file has one JSON value a line. The first says what it is and in which version; the last has the digest of all lines
//! before it, so that a file that was cut or changed is not taken.

#[cfg(test)]
mod fuzz_tests;
mod reader;
mod writer;

pub(crate) use reader::read;
pub(crate) use writer::write;

use serde::{Deserialize, Serialize};
use signoff_core::journal::Event;
use signoff_core::{RunId, Timestamp};
use signoff_store::{ConversationRecord, Definition, ExportedRun};

/// The version of files that is written, and the newest that is read.
const VERSION: u32 = 1;
/// How many entries stand on a line.
const ENTRIES: usize = 200;
/// The largest file that is read, and the longest line, in bytes.
const MAX_BYTES: u64 = 4 << 30;
const MAX_LINE: usize = 128 << 20;

/// A line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// What it is. Always the first.
    Signoff(Header),
    Conversation(Box<ConversationRecord>),
    Definition(Definition),
    /// A run; its journal follows.
    Run(Box<ExportedRun>),
    /// The next entries of the last run: when, and what.
    Entries(Vec<(Timestamp, Event)>),
    /// The digest of all lines before it. Always the last.
    End {
        sha256: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// The version of the file.
    version: u32,
    /// The run that was exported.
    run: RunId,
    /// By which version of the program.
    by: String,
    at: Timestamp,
}
