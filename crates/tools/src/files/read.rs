//! `read_file`: some lines of a text file.

use std::io::{BufRead as _, BufReader};

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use signoff_core::{Effects, ToolSpec};

use super::change::{MAX_DIGESTED, hex};
use super::path::Relative;
use super::path_property;
use super::root::{Root, failed, size};
use crate::builtin::{self, arguments, head, hinted};
use crate::tool::{Invocation, ToolError};

/// How much is given back, in bytes of JSON. The dispatcher keeps 256 KiB, of which the rest of the result
/// takes a little.
const ROOM: usize = 252 * 1024;

pub(super) fn spec() -> ToolSpec {
    let properties = json!({
        "path": path_property(),
        "offset": { "type": "integer", "minimum": 1, "description": "The first line wanted, counted from 1; 1 if not given." },
        "limit": { "type": "integer", "minimum": 1, "maximum": 100_000, "description": "How many lines at most; 2000 if not given." },
    });
    builtin::spec(
        "read_file",
        "Read lines of a text file in the workspace. At most 252 KiB come back at once: where `next_offset` \
         is in the result, there is more, and a call with that offset goes on. `digest` identifies the \
         content of the whole file; give it to write_file, edit_file or delete_file as expected_digest to be sure that nobody \
         changed the file in between. Files that are not UTF-8 text are not shown.",
        &properties,
        &["path"],
        Effects::READ_ONLY,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    path: String,
    #[serde(default = "one")]
    offset: u64,
    #[serde(default = "two_thousand")]
    limit: u64,
}

fn one() -> u64 {
    1
}

fn two_thousand() -> u64 {
    2000
}

pub(super) fn call(root: &Root, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: Read = arguments(&invocation.arguments)?;
    let path = root.path(&wanted.path)?;
    let (file, stat) = root.place(&path, false)?.open(&path)?;
    let bytes = size(&stat);
    let first = wanted.offset.max(1);
    let mut scan = Scan { first, end: first.saturating_add(wanted.limit), ..Scan::default() };
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    loop {
        let piece = reader.fill_buf().map_err(|error| failed(&path, error))?;
        if piece.is_empty() || scan.bytes > MAX_DIGESTED {
            break;
        }
        scan.feed(piece);
        let read = piece.len();
        reader.consume(read);
    }
    scan.result(&path, bytes)
}

/// A file going by, of which some lines are kept.
#[derive(Default)]
struct Scan {
    /// The first line to keep, and the first one after those.
    first: u64,
    end: u64,
    /// Lines that have ended, and whether one has begun since.
    lines: u64,
    begun: bool,
    bytes: u64,
    kept: Vec<u8>,
    /// Where the kept lines begin in the file.
    start: u64,
    sha: Sha256,
}

impl Scan {
    fn feed(&mut self, piece: &[u8]) {
        self.sha.update(piece);
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let line = self.lines + 1;
            if line < self.first {
                self.start += part.len() as u64;
            } else if line < self.end {
                let room = (ROOM + 4).saturating_sub(self.kept.len());
                self.kept.extend_from_slice(part.get(..room).unwrap_or(part));
            }
            let ended = part.ends_with(b"\n");
            self.lines += u64::from(ended);
            self.begun = !ended;
            self.bytes += part.len() as u64;
        }
    }

    fn result(&self, path: &Relative, bytes: u64) -> Result<Value, ToolError> {
        // Only what is no larger than that was seen whole.
        let whole = self.bytes <= MAX_DIGESTED;
        let bytes = if whole { self.bytes } else { bytes.max(self.bytes) };
        let total = self.lines + u64::from(self.begun);
        if self.first > total.max(1) {
            let message = format!("`{path}` has {total} lines, and line {} was wanted", self.first);
            return Err(ToolError::new("no_such_line", message));
        }
        let text = self.text(path, bytes)?;
        let mut shown = head(text, ROOM);
        let mut cut = 0;
        if shown.len() < text.len() || self.kept.len() > text.len() {
            match shown.rfind('\n') {
                Some(end) => shown = &shown[..=end],
                // One line that is larger than what may come back: its beginning, then the next one.
                None => cut = 1,
            }
        }
        let given = shown.lines().count() as u64;
        let last = self.first + given - u64::from(given > 0);
        let mut result = json!({ "path": path.to_string(), "content": shown, "bytes": bytes });
        if given > 0 {
            result["first_line"] = self.first.into();
            result["last_line"] = last.into();
        }
        if whole {
            result["lines"] = total.into();
            result["digest"] = hex(self.sha.clone()).into();
        }
        if cut == 1 {
            result["note"] =
                format!("line {last} is longer than what can be shown; this is its beginning")
                    .into();
        }
        if last < total {
            result["next_offset"] = (last + 1).into();
            result["left"] = if whole {
                format!("{} of {total} lines", total - last).into()
            } else {
                format!(
                    "{} of {bytes} bytes",
                    bytes.saturating_sub(self.start + shown.len() as u64)
                )
                .into()
            };
        }
        Ok(result)
    }

    /// The kept lines, if they are text. The last character may be cut off.
    fn text(&self, path: &Relative, bytes: u64) -> Result<&str, ToolError> {
        let hint = "a tool or a program that knows the format can tell more";
        let not_text = |why: String| {
            hinted("not_text", format!("`{path}` is not text ({bytes} bytes): {why}"), hint)
        };
        if let Some(at) = self.kept.iter().position(|byte| *byte == 0) {
            return Err(not_text(format!("a zero byte at {}", self.start + at as u64)));
        }
        match std::str::from_utf8(&self.kept) {
            Ok(text) => Ok(text),
            Err(error) if error.error_len().is_none() && self.kept.len() > ROOM => {
                Ok(std::str::from_utf8(&self.kept[..error.valid_up_to()]).unwrap_or_default())
            }
            Err(error) => {
                let at = self.start + error.valid_up_to() as u64;
                Err(not_text(format!("invalid UTF-8 at byte {at}")))
            }
        }
    }
}
