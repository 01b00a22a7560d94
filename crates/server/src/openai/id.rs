//! The ids of this dialect. Each says where in which journal its thing is, and how it is told.

use std::fmt;

use signoff_core::{RunId, Seq};

const PREFIX: &str = "resp_";

/// How a response is told. It is part of the id, so that whoever goes on with a stream gets the same events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Manner {
    /// As OpenAI's libraries want it: with their events, and no other.
    #[default]
    Plain,
    /// With the events of the Agent Framework beside them.
    Framework,
    /// As the page of `DevUI` wants it.
    DevUi,
    /// The same, and it begins by showing what is open there.
    Shown(Notice),
}

/// Why something is shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// Somebody wants to see it.
    Wanted,
    /// A new input was sent while the run is not over. It was not taken.
    Busy,
    /// An answer was not accepted.
    Refused,
}

impl Manner {
    /// One letter behind the id.
    fn letter(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Framework => "f",
            Self::DevUi => "d",
            Self::Shown(Notice::Wanted) => "s",
            Self::Shown(Notice::Busy) => "b",
            Self::Shown(Notice::Refused) => "r",
        }
    }

    const ALL: [Self; 6] = [
        Self::Plain,
        Self::Framework,
        Self::DevUi,
        Self::Shown(Notice::Wanted),
        Self::Shown(Notice::Busy),
        Self::Shown(Notice::Refused),
    ];

    /// Whether nothing but OpenAI's events is told.
    pub(super) fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// Whether it is told to a page.
    pub(super) fn is_page(self) -> bool {
        !matches!(self, Self::Plain | Self::Framework)
    }

    pub(super) fn notice(self) -> Option<Notice> {
        match self {
            Self::Shown(notice) => Some(notice),
            Self::Plain | Self::Framework | Self::DevUi => None,
        }
    }
}

/// Which stretch of which run a response is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResponseId {
    pub(super) run: RunId,
    /// The entry it begins with: the start, or the first decision it brought. One that shows what is open
    /// begins after the entry where that is.
    pub(super) first: Seq,
    /// The last decision it brought. What others decide up to there does not end it.
    pub(super) last: Seq,
    pub(super) manner: Manner,
}

impl ResponseId {
    /// The stretch that begins with a single entry.
    pub(super) fn at(run: RunId, first: Seq) -> Self {
        Self { run, first, last: first, manner: Manner::Plain }
    }

    /// What is open in a run after entry `seq`, and what follows.
    pub(super) fn shown(run: RunId, seq: Seq, notice: Notice) -> Self {
        Self { run, first: seq + 1, last: seq, manner: Manner::Shown(notice) }
    }

    /// The same stretch, told in another manner.
    pub(super) fn told(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    /// Reads an id; none, if it is not one of ours.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (run, place) = text.strip_prefix(PREFIX)?.rsplit_once('_')?;
        let digits = place.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let letter = place.get(digits.len()..)?;
        let manner = Manner::ALL.into_iter().find(|manner| manner.letter() == letter)?;
        let (first, last) = digits.split_once('-').unwrap_or((digits, digits));
        let (first, last): (Seq, Seq) = (first.parse().ok()?, last.parse().ok()?);
        let run = RunId::from_unique(run);
        let id = match manner {
            Manner::Shown(notice) if first == last => {
                last.checked_add(1)?;
                Self::shown(run, last, notice)
            }
            Manner::Shown(_) => return None,
            manner => Self { run, first, last, manner },
        };
        let in_order = first > 0 && first <= last;
        // One way to write each.
        (!id.run.unique().is_empty() && in_order && id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = self.manner.letter();
        write!(f, "{PREFIX}{}_", self.run.unique())?;
        if self.last <= self.first {
            write!(f, "{}{letter}", self.last)
        } else {
            write!(f, "{}-{}{letter}", self.first, self.last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let run = RunId::from_unique("0199.2.a_b");
        let several = ResponseId { last: 12, ..ResponseId::at(run.clone(), 9) };
        for id in [
            ResponseId::at(run.clone(), 1),
            several.clone(),
            several.clone().told(Manner::Framework),
            several.told(Manner::DevUi),
            ResponseId::shown(run.clone(), 1, Notice::Wanted),
            ResponseId::shown(run.clone(), 7, Notice::Busy),
            ResponseId::shown(run, 7, Notice::Refused),
        ] {
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
            "resp_x_18446744073709551615s",
            "resp_x_1e",
            "resp_x_1dd",
            "resp_x_d",
            "resp_x_0s",
            "resp_x_1-2s",
        ] {
            assert_eq!(ResponseId::read(bad), None, "{bad}");
        }
    }
}
