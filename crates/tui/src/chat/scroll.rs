//! Which part of the conversation is seen.

use std::borrow::Cow;

use super::Chat;
use crate::transcript::Item;

/// The first line that is seen, by the thing it belongs to: what comes after it does not move it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Which thing, counted from the beginning of the conversation.
    pub(super) item: usize,
    /// Which line of it.
    pub(super) line: usize,
}

impl Chat {
    /// How many things there are, from the beginning of the conversation on: what was said, and what is being said.
    pub(super) fn things(&self) -> usize {
        self.transcript.dropped + self.transcript.items.len() + self.transcript.live().count()
    }

    /// One of them; none, if it is not kept any more.
    pub(super) fn thing(&self, n: usize) -> Option<Cow<'_, Item>> {
        let n = n.checked_sub(self.transcript.dropped)?;
        if let Some(item) = self.transcript.items.get(n) {
            return Some(Cow::Borrowed(item));
        }
        let (agent, text) = self.transcript.live().nth(n - self.transcript.items.len())?;
        Some(Cow::Owned(Item::Agent { agent: agent.clone(), text: format!("{text}▍") }))
    }

    /// The place so many lines before another.
    pub(super) fn before(&self, place: Place, by: usize, columns: usize) -> Place {
        let Place { mut item, mut line } = place;
        let mut left = by;
        while left > line {
            if item <= self.transcript.dropped {
                return Place { item: self.transcript.dropped, line: 0 };
            }
            left -= line;
            item -= 1;
            line = self.rows(item, columns).len();
        }
        Place { item, line: line - left }
    }

    fn after(&self, place: Place, by: usize, columns: usize) -> Place {
        let Place { mut item, mut line } = place;
        let (mut left, count) = (by, self.things());
        while item < count {
            let lines = self.rows(item, columns).len();
            if line + left < lines {
                return Place { item, line: line + left };
            }
            left -= lines.saturating_sub(line).min(left);
            (item, line) = (item + 1, 0);
        }
        Place { item, line: 0 }
    }

    /// The first line that is seen when the last one is.
    pub(super) fn end(&self, columns: usize, height: usize) -> Place {
        self.before(Place { item: self.things(), line: 0 }, height, columns)
    }

    /// The first line that is seen: where it was scrolled to, if that is still there.
    pub(super) fn top(&self, columns: usize, height: usize) -> Place {
        let end = self.end(columns, height);
        let first = Place { item: self.transcript.dropped, line: 0 };
        self.scrolled.map_or(end, |place| place.max(first).min(end))
    }

    /// Goes so many lines back.
    pub(super) fn scroll_back(&mut self, by: usize) {
        let (columns, height) = self.room.get();
        let top = self.top(columns, height);
        let place = self.before(top, by, columns);
        self.scrolled = Some(place).filter(|place| *place < self.end(columns, height));
    }

    /// Goes so many lines on; at the end, what comes is followed again.
    pub(super) fn scroll_on(&mut self, by: usize) {
        let (columns, height) = self.room.get();
        let place = self.after(self.top(columns, height), by, columns);
        self.scrolled = Some(place).filter(|place| *place < self.end(columns, height));
    }
}
