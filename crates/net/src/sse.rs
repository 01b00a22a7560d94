//! Server-sent events, read from bytes that may be cut anywhere.
//!
//! Lenient where servers differ (`data:` with or without a space, any line ending, comments, fields
//! nobody knows) and strict where memory is at stake: a line and an event have a size limit.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name, empty if it has none.
    pub name: String,
    /// Its data, lines joined by newlines.
    pub data: String,
}

/// Why the stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is larger than it may be.
    #[error("an event is larger than {0} bytes")]
    TooLarge(usize),
    /// It is not text.
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// The decoder.
#[derive(Debug)]
pub struct Decoder {
    line: Vec<u8>,
    /// The last byte was a carriage return; a newline after it belongs to it.
    after_cr: bool,
    /// No line has ended yet; a byte order mark may stand here.
    at_start: bool,
    name: String,
    data: String,
    has_data: bool,
    limit: usize,
}

impl Decoder {
    /// A decoder for events of `limit` bytes at most.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            name: String::new(),
            data: String::new(),
            has_data: false,
            limit,
        }
    }

    /// Takes more bytes and gives the events that ended in them.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SseError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, ended) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + piece.len() + self.data.len() > self.limit {
                return Err(SseError::TooLarge(self.limit));
            }
            self.line.extend_from_slice(piece);
            rest = ended;
            if let Some(&ending) = ended.first() {
                self.after_cr = ending == b'\r';
                rest = &ended[1..];
                events.extend(self.end_line()?);
            }
        }
        Ok(events)
    }

    /// The last event, should the stream have ended without the empty line after it.
    pub fn finish(mut self) -> Result<Option<Event>, SseError> {
        let last = if self.line.is_empty() { None } else { self.end_line()? };
        Ok(last.or_else(|| self.dispatch()))
    }

    fn end_line(&mut self) -> Result<Option<Event>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&line).map_err(|_| SseError::NotUtf8)?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.name),
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Result<Vec<Event>, SseError> {
        let mut decoder = Decoder::new(1_000);
        let mut events = Vec::new();
        for chunk in chunks {
            events.extend(decoder.push(chunk)?);
        }
        events.extend(decoder.finish()?);
        Ok(events)
    }

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn all_spellings_are_read() {
        let stream =
            "\u{feff}: hello\nevent: a\ndata: 1\ndata:2\r\n\r\nretry: 5\rdata\r\rdata: end";
        let events = read(&[stream.as_bytes()]).unwrap();
        assert_eq!(events, [event("a", "1\n2"), event("", ""), event("", "end")]);
        assert_eq!(read(&[b"event: nothing\n\n"]).unwrap(), []);
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
        assert_eq!(read(&[b"data: ", &[b'x'; 1_001]]), Err(SseError::TooLarge(1_000)));
        let many = "data: xxxxxxxxxx\n".repeat(200);
        assert_eq!(read(&[many.as_bytes()]), Err(SseError::TooLarge(1_000)));
    }

    proptest! {
        #[test]
        fn where_it_is_cut_makes_no_difference(
            bytes in "(data: ?[a-zé\r\n]{0,9}[\r\n]{0,2}|event:[a-z]\n|:\n){0,9}",
            cuts in prop::collection::vec(0usize..200, 0..6),
        ) {
            let bytes = bytes.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[bytes]));
        }

        #[test]
        fn no_bytes_make_it_panic_or_grow(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
            let mut decoder = Decoder::new(100);
            for chunk in bytes.chunks(7) {
                if decoder.push(chunk).is_err() {
                    break;
                }
                prop_assert!(decoder.line.len() + decoder.data.len() <= 200);
            }
        }
    }
}
