//! The form by which a request is answered. Made of what the request accepts, and of nothing else.

mod build;
mod decide;
mod extra;
mod pick;
mod view;

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;
use signoff_core::request::RequestBody;
use signoff_core::{Decision, DecisionKind};

use crate::editor::Editor;
use crate::text::safe;

use extra::Extra;
pub use view::Drawn;

/// A form.
#[derive(Clone, Debug)]
pub struct Form {
    body: RequestBody,
    parts: Vec<Part>,
    focus: usize,
    /// The decision that is chosen among the buttons.
    chosen: Option<DecisionKind>,
    /// What is wrong with what was sent.
    problem: Option<String>,
}

/// A part of a form.
#[derive(Clone, Debug)]
enum Part {
    /// One of these.
    Choices { of: Vec<(String, Value, Option<String>)>, at: Option<usize> },
    /// Any of these.
    Several { of: Vec<(String, Value, Option<String>)>, on: BTreeSet<usize>, at: usize },
    /// A field of an object.
    Field(Field),
    /// Text, or JSON where text does not fit.
    Text { label: &'static str, editor: Editor, was: Option<String> },
    /// A note, a reason or feedback.
    Note(Editor),
    /// What else goes with a decision.
    Extra(Extra),
    /// What can be decided.
    Buttons,
}

/// A field of an object.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    about: Option<String>,
    editor: Editor,
    /// What it was, of a proposal.
    was: Option<Value>,
    /// Whether a number, a flag or JSON is wanted, and not text.
    json: bool,
    needed: bool,
    /// What it may be, as it is typed and as it is shown; empty, if it is typed.
    of: Vec<(String, String)>,
    /// The letters by which one of these is looked for.
    sought: String,
}

/// What a key led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Something in the form changed.
    Taken,
    /// This was decided.
    Decide(Decision),
    /// The form is to be put away; nothing is decided.
    Hide,
    /// The key means nothing here.
    Unused,
}

impl Form {
    /// The form of a request.
    pub fn new(body: &RequestBody) -> Self {
        let parts = build::parts(body);
        let asks = |part: &Part| !matches!(part, Part::Note(_) | Part::Extra(_) | Part::Buttons);
        let allows = |kind| body.allowed.contains(&kind);
        let answers = allows(DecisionKind::Respond) && !allows(DecisionKind::Approve);
        // What is proposed is changed only by those who want to; what is asked for is typed at once.
        let focus = if answers { parts.iter().position(asks) } else { None };
        let focus = focus.unwrap_or(parts.len().saturating_sub(1));
        let chosen = match body.allowed.as_slice() {
            [only @ DecisionKind::Respond] => Some(*only),
            _ => None,
        };
        Self { body: body.clone(), parts, focus, chosen, problem: None }
    }

    /// Whether somebody has typed or chosen something.
    pub fn is_touched(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Choices { at, .. } => at.is_some(),
            Part::Several { on, .. } => !on.is_empty(),
            Part::Extra(extra) => extra.is_set(),
            Part::Field(field) => field.is_changed(),
            Part::Text { editor, was, .. } => editor.text() != was.as_deref().unwrap_or_default(),
            Part::Note(editor) => !editor.is_empty(),
            Part::Buttons => false,
        })
    }

    /// Whether single letters would be typed as text.
    pub fn is_typing(&self) -> bool {
        matches!(
            self.parts.get(self.focus),
            Some(Part::Field(_) | Part::Text { .. } | Part::Note(_))
        )
    }

    /// Chooses a decision; the next Enter takes it. Says whether the request accepts it.
    pub fn choose(&mut self, kind: DecisionKind) -> bool {
        if !self.body.allowed.contains(&kind) {
            return false;
        }
        self.chosen = Some(kind);
        let wants_note =
            !matches!(kind, DecisionKind::Approve | DecisionKind::Respond | DecisionKind::Edit);
        let note = self.parts.iter().position(|part| matches!(part, Part::Note(_)));
        self.focus = note.filter(|_| wants_note).unwrap_or(self.parts.len() - 1);
        true
    }

    /// Goes to the first field of what is proposed. Says whether there is one.
    pub fn edit(&mut self) -> bool {
        let allowed = self.body.allowed.contains(&DecisionKind::Edit);
        let place = |part: &Part| matches!(part, Part::Field(_) | Part::Text { .. });
        let Some(at) = self.parts.iter().position(place).filter(|_| allowed) else { return false };
        self.focus = at;
        self.chosen = Some(DecisionKind::Edit);
        true
    }

    /// Says what is wrong.
    pub fn refuse(&mut self, problem: &str) {
        self.problem = Some(safe(problem));
    }

    /// Text that was pasted. It never presses anything.
    pub fn paste(&mut self, text: &str) {
        if let Some(editor) = self.editor() {
            editor.insert(text);
        }
    }

    fn editor(&mut self) -> Option<&mut Editor> {
        match self.parts.get_mut(self.focus)? {
            Part::Field(field) => (!field.is_picked()).then_some(&mut field.editor),
            Part::Text { editor, .. } | Part::Note(editor) => Some(editor),
            Part::Choices { .. } | Part::Several { .. } | Part::Extra(_) | Part::Buttons => None,
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Reply {
        match (key.code, key.modifiers) {
            (KeyCode::Esc, _) => return Reply::Hide,
            (KeyCode::Tab, _) => self.go(1),
            (KeyCode::BackTab, _) => self.go(-1),
            _ => {
                self.problem = None;
                if let Some(Part::Field(field)) = self.parts.get_mut(self.focus)
                    && field.pick(key)
                {
                    return Reply::Taken;
                }
                if let Some(editor) = self.editor()
                    && editor.key(key)
                {
                    return Reply::Taken;
                }
                return self.other_key(key);
            }
        }
        Reply::Taken
    }

    fn other_key(&mut self, key: KeyEvent) -> Reply {
        let last = self.parts.len() - 1;
        match self.parts.get_mut(self.focus) {
            Some(Part::Choices { of, at }) => match key.code {
                KeyCode::Up => *at = Some(at.map_or(0, |at| at.saturating_sub(1))),
                KeyCode::Down => *at = Some(at.map_or(0, |at| (at + 1).min(of.len() - 1))),
                KeyCode::Char(c @ '1'..='9') => {
                    let n = c as usize - '1' as usize;
                    if n < of.len() {
                        *at = Some(n);
                    }
                }
                KeyCode::Enter => return self.decide(DecisionKind::Respond),
                _ => return Reply::Unused,
            },
            Some(Part::Several { of, on, at }) => match key.code {
                KeyCode::Up => *at = at.saturating_sub(1),
                KeyCode::Down => *at = (*at + 1).min(of.len().saturating_sub(1)),
                KeyCode::Char(' ') => turn(on, *at),
                KeyCode::Char(c @ '1'..='9') if (c as usize - '1' as usize) < of.len() => {
                    *at = c as usize - '1' as usize;
                    turn(on, *at);
                }
                KeyCode::Enter => return self.decide(DecisionKind::Respond),
                _ => return Reply::Unused,
            },
            Some(Part::Extra(extra)) => match key.code {
                KeyCode::Left => extra.turn(-1),
                KeyCode::Right | KeyCode::Char(' ') => extra.turn(1),
                KeyCode::Enter if self.chosen.is_some() => return self.press(),
                KeyCode::Enter | KeyCode::Down => self.focus = (self.focus + 1).min(last),
                KeyCode::Up => self.focus = self.focus.saturating_sub(1),
                _ => return Reply::Unused,
            },
            Some(Part::Buttons) => match key.code {
                KeyCode::Left | KeyCode::Up => self.choose_by(-1),
                KeyCode::Right | KeyCode::Down => self.choose_by(1),
                KeyCode::Enter => return self.press(),
                KeyCode::Char('e') if self.edit() => {}
                KeyCode::Char(c) if key.modifiers.is_empty() => {
                    let begins =
                        |kind: &&DecisionKind| build::label(**kind).to_lowercase().starts_with(c);
                    match self.body.allowed.iter().find(begins) {
                        Some(kind) => self.chosen = Some(*kind),
                        None => return Reply::Unused,
                    }
                }
                _ => return Reply::Unused,
            },
            Some(Part::Text { was: None, .. }) if key.code == KeyCode::Enter => {
                return self.decide(DecisionKind::Respond);
            }
            Some(Part::Note(_)) if key.code == KeyCode::Enter && self.chosen.is_some() => {
                return self.press();
            }
            Some(_) => match key.code {
                KeyCode::Enter | KeyCode::Down => self.focus = (self.focus + 1).min(last),
                KeyCode::Up => self.focus = self.focus.saturating_sub(1),
                _ => return Reply::Unused,
            },
            None => return Reply::Unused,
        }
        Reply::Taken
    }

    fn go(&mut self, by: isize) {
        let count = isize::try_from(self.parts.len()).unwrap_or(1);
        let now = isize::try_from(self.focus).unwrap_or(0);
        self.focus = usize::try_from((now + by).rem_euclid(count)).unwrap_or(0);
    }

    fn choose_by(&mut self, by: isize) {
        let allowed = &self.body.allowed;
        let count = isize::try_from(allowed.len()).unwrap_or(1);
        let now = self.chosen.and_then(|kind| allowed.iter().position(|it| *it == kind));
        let next = match now {
            None if by > 0 => 0,
            None => count - 1,
            Some(now) => (isize::try_from(now).unwrap_or(0) + by).rem_euclid(count),
        };
        self.chosen = allowed.get(usize::try_from(next).unwrap_or(0)).copied();
    }

    /// Puts back what was proposed.
    pub fn undo(&mut self) {
        self.parts = build::parts(&self.body);
        self.focus = self.focus.min(self.parts.len() - 1);
        self.problem = None;
    }
}

/// Whether a key undoes.
pub fn is_undo(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Takes it in, or out again.
fn turn(on: &mut BTreeSet<usize>, at: usize) {
    if !on.remove(&at) {
        on.insert(at);
    }
}
