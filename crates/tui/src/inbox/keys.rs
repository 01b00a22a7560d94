//! What keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use signoff_core::request::{RequestStatus, Risk};
use signoff_core::{Decision, DecisionKind};

use super::line::Asks;
use super::{ARMED_AFTER, Effect, Focus, Inbox};
use crate::form::{self, Form, Reply};
use crate::mark::Mark;

/// How far a page goes.
const PAGE: isize = 10;

impl Inbox {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return vec![Effect::Quit];
        }
        match self.focus {
            Focus::List => self.list_key(key),
            Focus::Search => self.search_key(key),
            Focus::Detail => self.detail_key(key),
            Focus::Line(asks) => self.line_key(asks, key),
            Focus::Bulk => self.bulk_key(key),
            Focus::Help => {
                match key.code {
                    KeyCode::Up => self.help_at = self.help_at.saturating_sub(1),
                    KeyCode::Down => self.help_at = (self.help_at + 1).min(self.help_most.get()),
                    _ => self.focus = Focus::List,
                }
                Vec::new()
            }
        }
    }

    /// Text that was pasted: it goes where text goes, and never presses a key.
    pub(super) fn paste(&mut self, text: &str) {
        match self.focus {
            Focus::Search => {
                self.search.insert(text);
                self.arrange();
            }
            Focus::Detail => {
                if let Some(form) = &mut self.form {
                    form.paste(text);
                }
            }
            Focus::Line(_) => self.line.insert(text),
            Focus::List | Focus::Bulk | Focus::Help => {
                self.say("text was pasted where none is typed: nothing was done", false);
            }
        }
    }

    fn list_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let before = self.at.clone();
        let last = isize::try_from(self.shown.len()).unwrap_or(isize::MAX);
        match key.code {
            KeyCode::Char('q') => return vec![Effect::Quit],
            KeyCode::Char('?') => (self.focus, self.help_at) = (Focus::Help, 0),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.step(-last),
            KeyCode::End | KeyCode::Char('G') => self.step(last),
            KeyCode::Enter | KeyCode::Right | KeyCode::Tab | KeyCode::Char('l')
                if self.selected().is_some() =>
            {
                self.focus = Focus::Detail;
            }
            KeyCode::Esc => {
                self.search.take();
                self.narrowed = super::Narrowed::default();
                self.arrange();
            }
            KeyCode::Char('/') => self.focus = Focus::Search,
            KeyCode::Char('f') => {
                let of = |row: &super::Row| row.request.body.kind.to_string();
                self.narrowed.kind = self.next_value(self.narrowed.kind.as_ref(), of);
                self.arrange();
            }
            KeyCode::Char('w') => {
                let of = |row: &super::Row| row.request.workflow.to_string();
                self.narrowed.workflow = self.next_value(self.narrowed.workflow.as_ref(), of);
                self.arrange();
            }
            KeyCode::Char('i') => {
                self.narrowed.assignee = match self.narrowed.assignee.as_deref() {
                    None => Some(self.me.clone()),
                    Some("") => None,
                    Some(_) => Some(String::new()),
                };
                self.arrange();
            }
            KeyCode::Char('!') => {
                self.narrowed.risky = !self.narrowed.risky;
                self.arrange();
            }
            KeyCode::Char('r') => return vec![Effect::Load],
            KeyCode::Char(' ') => {
                if let Some(id) = self.at.clone()
                    && !self.marked.remove(&id)
                {
                    self.marked.insert(id);
                }
                self.step(1);
            }
            KeyCode::Char('*') => self.mark_all(),
            KeyCode::Char('A') => self.begin_bulk(true),
            KeyCode::Char('D') => self.begin_bulk(false),
            KeyCode::Char('a') => return self.quick(DecisionKind::Approve),
            KeyCode::Char('d') => return self.quick(DecisionKind::Reject),
            KeyCode::Char('e') => self.begin_edit(),
            KeyCode::Char('c') => return self.claim(),
            KeyCode::Char('x') => self.ask(Asks::Comment),
            KeyCode::Char('z') => self.ask(Asks::Defer),
            KeyCode::Char('t') => self.ask(Asks::Reassign),
            _ => {}
        }
        self.looked_up(before.as_ref())
    }

    /// Reads what was noted on a request that has come under the cursor.
    fn looked_up(&self, before: Option<&signoff_core::RequestId>) -> Vec<Effect> {
        match &self.at {
            Some(id) if Some(id) != before && !self.looked.contains_key(id) => self.look(),
            _ => Vec::new(),
        }
    }

    /// Reads what was noted on the request under the cursor, and what was said before it.
    pub(super) fn look(&self) -> Vec<Effect> {
        let row = self.selected().map(|row| &row.request);
        row.map(|it| Effect::Look(it.id.clone(), it.run.clone())).into_iter().collect()
    }

    /// Whether the request under the cursor may be decided by a single key.
    fn armed(&mut self) -> bool {
        let Some(row) = self.selected() else { return false };
        let (id, waits) = (row.request.id.clone(), row.request.status == RequestStatus::Pending);
        let moved = self.came_at.is_some_and(|came| self.now.since(came).0 < ARMED_AFTER);
        if !waits {
            self.say("this is answered already", true);
        } else if self.busy.contains(&id) {
            self.say("an answer to this is on its way", true);
        } else if moved {
            self.say("another request has just come here; look at it first", true);
        } else {
            return true;
        }
        false
    }

    /// Approves at once what is not risky; denies after a reason, which may be empty.
    fn quick(&mut self, kind: DecisionKind) -> Vec<Effect> {
        if !self.armed() {
            return Vec::new();
        }
        let Some(row) = self.selected() else { return Vec::new() };
        let (body, touched) =
            (row.request.body.clone(), self.form.as_ref().is_some_and(Form::is_touched));
        if !body.allowed.contains(&kind) {
            let verb = if kind == DecisionKind::Approve { "approved" } else { "denied" };
            self.say(format!("this cannot be {verb}: Enter opens it"), true);
            return Vec::new();
        }
        let harmless =
            body.risk.is_none_or(|risk| risk < Risk::High) && body.warnings().next().is_none();
        if kind == DecisionKind::Approve && harmless && !touched {
            return self.send(Decision::approve());
        }
        if let Some(form) = &mut self.form {
            form.choose(kind);
            self.focus = Focus::Detail;
        }
        Vec::new()
    }

    fn begin_edit(&mut self) {
        if self.armed()
            && let Some(form) = &mut self.form
        {
            if form.edit() || form.is_typing() {
                self.focus = Focus::Detail;
            } else {
                self.say("nothing here can be changed: Enter opens it", true);
            }
        }
    }

    fn claim(&mut self) -> Vec<Effect> {
        let Some(row) = self.selected() else { return Vec::new() };
        let mine = row.request.assignee.as_ref().is_some_and(|it| it.as_str() == self.me);
        let mark = if mine { Mark::Release } else { Mark::Claim };
        vec![Effect::Mark(row.request.id.clone(), mark)]
    }

    fn search_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let before = self.at.clone();
        match key.code {
            KeyCode::Enter | KeyCode::Down => self.focus = Focus::List,
            KeyCode::Esc => {
                self.search.take();
                self.focus = Focus::List;
            }
            _ => {
                self.search.key(key);
            }
        }
        self.arrange();
        self.looked_up(before.as_ref())
    }

    fn detail_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match key.code {
            KeyCode::PageUp => {
                self.scrolled = Some(self.seen.get().moved(-5));
                return Vec::new();
            }
            KeyCode::PageDown => {
                self.scrolled = Some(self.seen.get().moved(5));
                return Vec::new();
            }
            _ => {}
        }
        let Some(form) = &mut self.form else {
            self.focus = Focus::List;
            return Vec::new();
        };
        if form::is_undo(key) {
            form.undo();
            return Vec::new();
        }
        self.scrolled = None;
        match form.key(key) {
            Reply::Hide => {
                self.focus = Focus::List;
                Vec::new()
            }
            Reply::Decide(decision) => {
                if self.armed() {
                    self.send(decision)
                } else {
                    Vec::new()
                }
            }
            Reply::Taken | Reply::Unused => Vec::new(),
        }
    }

    fn send(&mut self, decision: Decision) -> Vec<Effect> {
        let Some(row) = self.selected() else { return Vec::new() };
        let (id, version) = (row.request.id.clone(), row.request.version);
        self.busy.insert(id.clone());
        self.say("sending …", false);
        vec![Effect::Decide(id, version, decision)]
    }
}
