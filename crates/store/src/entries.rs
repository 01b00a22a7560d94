//! What both stores check of entries before they take them.

use signoff_core::id::Seq;
use signoff_core::journal::{Entry, Event, Started};

use crate::{NewRun, StoreError};

/// Whether `entries` are numbered without gaps, the first following `last`.
pub(crate) fn follow(last: Seq, entries: &[Entry]) -> Result<(), StoreError> {
    for (entry, expected) in entries.iter().zip(last + 1..) {
        if entry.seq != expected {
            return Err(StoreError::Failed(format!(
                "entry {} was given where {expected} comes next",
                entry.seq
            )));
        }
    }
    Ok(())
}

/// How a new run started; its first entry says so.
pub(crate) fn started(run: &NewRun) -> Result<&Started, StoreError> {
    match run.entries.first() {
        Some(Entry { event: Event::Started(started), .. }) => Ok(started),
        _ => Err(StoreError::Failed(format!("run {} does not begin with how it started", run.id))),
    }
}

/// How a run started whose journal this is, which must be one.
pub(crate) fn started_by(entries: &[Entry]) -> Result<&Started, StoreError> {
    follow(0, entries)?;
    match entries.first() {
        Some(Entry { event: Event::Started(started), .. }) => Ok(started),
        _ => Err(StoreError::Failed("a journal does not begin with how the run started".into())),
    }
}

/// Largest number of items of a page, of leases of one claim, of timers fired at once.
pub(crate) const MAX_LIMIT: usize = 1000;

/// The page size that `limit` gets.
pub(crate) fn page_limit(limit: usize) -> usize {
    limit.clamp(1, MAX_LIMIT)
}

/// Reads a cursor: the number of the last item of the page before.
pub(crate) fn read_cursor(kind: char, cursor: Option<&str>) -> Result<Option<u64>, StoreError> {
    let Some(text) = cursor else { return Ok(None) };
    text.strip_prefix(kind)
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
        .filter(|&no| i64::try_from(no).is_ok())
        .map(Some)
        .ok_or(StoreError::BadCursor)
}

/// Writes a cursor.
pub(crate) fn write_cursor(kind: char, no: u64) -> String {
    format!("{kind}{no}")
}
