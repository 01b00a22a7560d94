//! What a program writes: its beginning and its end, however much there is in between.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::builtin;

/// How much room one stream takes in the result, in bytes of JSON.
const ROOM: usize = 100 * 1024;

/// One stream of a program.
#[derive(Debug)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl Output {
    /// Keeps `most` bytes at most.
    pub(super) fn new(most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: most / 2, total: 0 }
    }

    /// Reads to the end. What is read stays if this is dropped before.
    pub(super) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut piece = vec![0; 32 * 1024];
        while let Ok(read) = stream.read(&mut piece).await {
            match piece.get(..read) {
                None | Some([]) => break,
                Some(read) => self.keep(read),
            }
        }
    }

    pub(super) fn keep(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let (first, rest) = piece.split_at(piece.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// Puts the text into `result` as `name`, with a word about what is not as the program wrote it.
    pub(super) fn put(mut self, name: &str, result: &mut Map<String, Value>) {
        let mut notes: Vec<&str> = Vec::new();
        let kept = self.head.len() + self.tail.len();
        let whole = self.total == kept as u64;
        let text = if whole {
            self.head.extend(self.tail);
            let text = lossy(&self.head, &mut notes);
            let head = builtin::head(&text, ROOM / 2);
            let rest = &text[head.len()..];
            let tail = builtin::tail(rest, ROOM / 2);
            join(head, rest.len() - tail.len(), tail)
        } else {
            // A character that was cut in two is not the program's mistake.
            let head = &self.head[..self.head.len() - cut_end(&self.head)];
            let tail = self.tail.make_contiguous();
            let tail =
                &tail[tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()..];
            let (head, tail) = (lossy(head, &mut notes), lossy(tail, &mut notes));
            let (head, tail) = (builtin::head(&head, ROOM / 2), builtin::tail(&tail, ROOM / 2));
            let kept = head.len() + tail.len();
            join(head, usize::try_from(self.total).unwrap_or(usize::MAX).saturating_sub(kept), tail)
        };
        result.insert(name.to_owned(), text.into());
        if !whole {
            result.insert(format!("{name}_bytes"), self.total.into());
        }
        if !notes.is_empty() {
            let note = "it was not all UTF-8; \u{fffd} stands for what was not";
            result.insert(format!("{name}_note"), note.into());
        }
    }
}

fn join(head: &str, left_out: usize, tail: &str) -> String {
    if left_out == 0 {
        return format!("{head}{tail}");
    }
    format!("{head}\n… about {left_out} bytes left out …\n{tail}")
}

fn lossy(bytes: &[u8], notes: &mut Vec<&str>) -> String {
    if std::str::from_utf8(bytes).is_err() {
        notes.push("lossy");
    }
    String::from_utf8_lossy(bytes).into_owned()
}

/// How many bytes at the end are the beginning of a character.
fn cut_end(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len().saturating_sub(4)..];
    match std::str::from_utf8(end) {
        Err(error) if error.error_len().is_none() => end.len() - error.valid_up_to(),
        // The four may begin in the middle of a character themselves.
        _ => (1..=end.len().min(3))
            .find(|n| {
                let last = &end[end.len() - n..];
                std::str::from_utf8(last)
                    .is_err_and(|error| error.error_len().is_none() && error.valid_up_to() == 0)
            })
            .unwrap_or(0),
    }
}
