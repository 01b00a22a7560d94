//! Entries as bytes: a JSON array of `[milliseconds, event]` pairs, in order, from a known position.
//!
//! JSON, so that an operator can read the table. Bounded, closed types, no fallback: what does not
//! decode is an error, never a guess.

use serde::Deserialize;
use serde_json::Value;

use super::{Entry, Event};
use crate::id::Seq;
use crate::time::Timestamp;

/// The largest body that is decoded.
pub const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Stored bytes that are not a journal.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// More than [`MAX_BODY_BYTES`].
    #[error("journal row at {seq} has {bytes} bytes, more than the {MAX_BODY_BYTES} that are read")]
    TooLarge {
        /// The row's first entry.
        seq: Seq,
        /// Its size.
        bytes: usize,
    },
    /// Not the expected JSON.
    #[error("journal row at {seq} cannot be read: {source}")]
    Malformed {
        /// The row's first entry.
        seq: Seq,
        /// What the parser says.
        source: serde_json::Error,
    },
}

/// The bytes of `entries`.
pub fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut body = Vec::with_capacity(entries.len() * 160);
    body.push(b'[');
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            body.push(b',');
        }
        // Writing plain data to memory cannot fail; a map with non-string keys could, and none exists.
        let written = serde_json::to_writer(&mut body, &(entry.at, &entry.event));
        debug_assert!(written.is_ok(), "event is not JSON: {written:?}");
    }
    body.push(b']');
    body
}

/// The entries in `body`, whose first one stands at `first`.
pub fn decode(first: Seq, body: &[u8]) -> Result<Vec<Entry>, DecodeError> {
    if body.len() > MAX_BODY_BYTES {
        return Err(DecodeError::TooLarge { seq: first, bytes: body.len() });
    }
    let pairs =
        Vec::<(Timestamp, Event)>::deserialize(&mut serde_json::Deserializer::from_slice(body))
            .map_err(|source| DecodeError::Malformed { seq: first, source })?;
    Ok((first..).zip(pairs).map(|(seq, (at, event))| Entry { seq, at, event }).collect())
}

/// An entry as clients see it: `{"seq", "at", "type", …the event's own fields}`.
pub fn to_json(entry: &Entry) -> Value {
    let mut json = serde_json::Map::new();
    json.insert("seq".into(), entry.seq.into());
    json.insert("at".into(), entry.at.rfc3339().into());
    match serde_json::to_value(&entry.event) {
        Ok(Value::Object(event)) => {
            for (name, fields) in event {
                json.insert("type".into(), name.into());
                if let Value::Object(fields) = fields {
                    json.extend(fields);
                }
            }
        }
        _ => debug_assert!(false, "an event is an object"),
    }
    Value::Object(json)
}
