//! The ids of this dialect. Each says where in which journal its thing is.

use std::fmt;

use signoff_core::{RunId, Seq};

const PREFIX: &str = "resp_";

/// Which stretch of which run a response is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResponseId {
    pub(super) run: RunId,
    /// The entry it begins with: the start, or the first decision it brought.
    pub(super) first: Seq,
    /// The last decision it brought. What others decide up to there does not end it.
    pub(super) last: Seq,
}

impl ResponseId {
    /// The stretch that begins with a single entry.
    pub(super) fn at(run: RunId, first: Seq) -> Self {
        Self { run, first, last: first }
    }

    /// Reads an id; none, if it is not one of ours.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (run, place) = text.strip_prefix(PREFIX)?.rsplit_once('_')?;
        let (first, last) = place.split_once('-').unwrap_or((place, place));
        let id = Self {
            run: RunId::from_unique(run),
            first: first.parse().ok()?,
            last: last.parse().ok()?,
        };
        // One way to write each.
        (!run.is_empty() && id.first > 0 && id.first <= id.last && id.to_string() == text)
            .then_some(id)
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_{}", self.run.unique(), self.first)?;
        if self.last == self.first { Ok(()) } else { write!(f, "-{}", self.last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let run = RunId::from_unique("0199.2.a_b");
        for id in
            [ResponseId::at(run.clone(), 1), ResponseId { run: run.clone(), first: 9, last: 12 }]
        {
            assert_eq!(ResponseId::read(&id.to_string()), Some(id));
        }
        for bad in [
            "",
            "resp_",
            "resp_x",
            "resp_x_0",
            "resp_x_+1",
            "resp_x_01",
            "resp_x_5-5",
            "resp_x_5-4",
            "resp__1",
            "run_x_1",
            "resp_x_1_",
            "resp_x_99999999999999999999",
        ] {
            assert_eq!(ResponseId::read(bad), None, "{bad}");
        }
    }
}
