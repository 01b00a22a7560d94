//! What can go wrong with a model server.

use std::time::Duration;

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: it goes well.
    None,
    /// The head of the response comes late.
    SlowHead(Duration),
    /// Each event comes late.
    SlowEvents(Duration),
    /// The connection breaks after this many events.
    Break(usize),
    /// The stream ends, in good order, after this many events.
    Cut(usize),
    /// An event is not JSON.
    Malformed,
    /// A status, with the server's usual error body, and a `Retry-After` if there is one to send.
    Status(u16, Option<String>),
    /// A status with this body.
    StatusBody(u16, String),
    /// The reply calls itself something it is not.
    ContentType(&'static str),
    /// An event has one line of this many bytes.
    LongLine(usize),
    /// An event is not UTF-8.
    NotUtf8,
    /// The head comes, and then nothing.
    Silent,
    /// Nothing comes at all.
    Never,
    /// The reply does not come in pieces, though it was asked for so.
    Whole,
    /// A refusal that quotes the request's headers.
    Echo,
}
