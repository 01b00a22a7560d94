//! A line that is typed about a request: a comment, how long it is put off, whom it is given to.

use crossterm::event::{KeyCode, KeyEvent};

use super::{Effect, Focus, Inbox};
use crate::mark::Mark;

/// What a line is typed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Comment,
    Defer,
    Reassign,
}

impl Asks {
    /// What stands before it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Comment => "comment: ",
            Self::Defer => "put off for: ",
            Self::Reassign => "give to: ",
        }
    }

    /// What keys do there.
    pub(super) fn keys(self) -> &'static str {
        match self {
            Self::Comment => "Enter adds the comment · Esc drops it",
            Self::Defer => "30m, 2h, 1d or a time, and why · Enter puts it off · Esc drops it",
            Self::Reassign => "a name, or nothing for nobody · Enter gives it · Esc drops it",
        }
    }
}

impl Inbox {
    /// Has a line typed about the request under the cursor.
    pub(super) fn ask(&mut self, asks: Asks) {
        if self.selected().is_some() {
            self.line.take();
            self.notice = None;
            self.focus = Focus::Line(asks);
        }
    }

    pub(super) fn line_key(&mut self, asks: Asks, key: KeyEvent) -> Vec<Effect> {
        match key.code {
            KeyCode::Esc => self.focus = Focus::List,
            KeyCode::Enter => return self.line_typed(asks),
            _ => {
                self.line.key(key);
            }
        }
        Vec::new()
    }

    fn line_typed(&mut self, asks: Asks) -> Vec<Effect> {
        let text = self.line.text().trim().to_owned();
        let mark = match asks {
            Asks::Comment if text.is_empty() => {
                self.focus = Focus::List;
                return Vec::new();
            }
            Asks::Comment => Mark::Comment(text),
            Asks::Reassign => Mark::reassign(&text),
            Asks::Defer => match Mark::defer(&text) {
                Ok(mark) => mark,
                // What was typed stays, to be mended.
                Err(problem) => {
                    self.say(problem, true);
                    return Vec::new();
                }
            },
        };
        self.focus = Focus::List;
        self.at.clone().map(|id| Effect::Mark(id, mark)).into_iter().collect()
    }
}
