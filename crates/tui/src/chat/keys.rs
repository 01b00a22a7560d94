//! What keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use super::{Chat, Effect, Focus, MAX_HISTORY, Phase, Picked};
use crate::form::{self, Reply};

/// How far a page goes.
const PAGE: usize = 10;

impl Chat {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return vec![Effect::Quit],
            KeyCode::Char('t') if control => return self.command("tools"),
            KeyCode::Char('r') if control => {
                self.show_panel();
                return Vec::new();
            }
            KeyCode::PageUp | KeyCode::PageDown => self.page_key(key.code == KeyCode::PageUp),
            _ => {
                return match self.focus {
                    Focus::Composer => self.composer_key(key),
                    Focus::Panel => self.panel_key(key),
                    Focus::Picker => self.picker_key(key),
                    Focus::Help => {
                        match key.code {
                            KeyCode::Up => self.help_at = self.help_at.saturating_sub(1),
                            KeyCode::Down => {
                                self.help_at = (self.help_at + 1).min(self.help_most.get());
                            }
                            _ => self.focus = Focus::Composer,
                        }
                        Vec::new()
                    }
                };
            }
        }
        Vec::new()
    }

    /// A page back or on: of the question, if it does not fit, else of what was said.
    fn page_key(&mut self, back: bool) {
        let seen = self.panel_seen.get();
        match self.focus {
            Focus::Panel if !seen.is_whole() => {
                self.panel_scrolled = Some(seen.moved(if back { -5 } else { 5 }));
            }
            Focus::Help if back => self.help_at = self.help_at.saturating_sub(PAGE),
            Focus::Help => self.help_at = (self.help_at + PAGE).min(self.help_most.get()),
            _ if back => self.scroll_back(PAGE),
            _ => self.scroll_on(PAGE),
        }
    }

    /// Text that was pasted: it goes where text goes, and never presses a key.
    pub(super) fn paste(&mut self, text: &str) {
        match self.focus {
            Focus::Panel => {
                if let Some(waiting) = self.waiting.front_mut() {
                    waiting.form.paste(text);
                }
            }
            Focus::Composer => self.editor.insert(text),
            Focus::Picker | Focus::Help => {}
        }
    }

    fn composer_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let completions = self.completions();
        let plain_enter = key.code == KeyCode::Enter && key.modifiers.is_empty();
        match key.code {
            KeyCode::Char('d') if control && self.editor.is_empty() => return vec![Effect::Quit],
            KeyCode::Char('g') if control => {
                return vec![Effect::Edit(self.editor.text().to_owned())];
            }
            KeyCode::Tab if !completions.is_empty() => {
                let chosen = completions.get(self.completion).or(completions.first());
                if let Some((text, _)) = chosen.cloned() {
                    self.editor.set(&text);
                    self.completion = 0;
                }
            }
            KeyCode::Tab => self.show_panel(),
            // What was typed before is gone through as a whole, commands too.
            KeyCode::Up if self.history_at.is_some() && self.editor.at_edges().0 => {
                self.remember_back();
            }
            KeyCode::Down if self.history_at.is_some() && self.editor.at_edges().1 => {
                self.remember_on();
            }
            KeyCode::Up if !completions.is_empty() => {
                self.completion = self.completion.saturating_sub(1);
            }
            KeyCode::Down if !completions.is_empty() => {
                self.completion = (self.completion + 1).min(completions.len() - 1);
            }
            KeyCode::Up if self.editor.at_edges().0 => self.remember_back(),
            KeyCode::Down if self.editor.at_edges().1 => self.remember_on(),
            KeyCode::Esc if self.scrolled.is_some() => self.scrolled = None,
            KeyCode::Esc if self.editor.text().starts_with('/') => drop(self.editor.take()),
            KeyCode::Enter if plain_enter => return self.enter(),
            _ => {
                if self.editor.key(key) {
                    self.completion = 0;
                    self.history_at = None;
                }
            }
        }
        Vec::new()
    }

    /// What was typed is meant: a command, or something to say. Never an answer.
    fn enter(&mut self) -> Vec<Effect> {
        let text = self.editor.text().trim().to_owned();
        if text.is_empty() {
            if !self.waiting.is_empty() {
                self.show_panel();
            }
            return Vec::new();
        }
        if let Some(command) = text.strip_prefix('/').filter(|it| !it.contains('\n')) {
            self.editor.take();
            self.history(&text);
            return self.command(command);
        }
        match self.phase {
            Phase::Idle => {}
            Phase::Awaiting => {
                self.say("the run waits for an answer: Tab goes to the question; what you typed stays here", true);
                return Vec::new();
            }
            Phase::Running | Phase::Continuing => {
                self.say("the run is at work; what you typed stays here. /cancel stops it", true);
                return Vec::new();
            }
        }
        let Some(workflow) = self.workflow.clone() else {
            self.pick_workflow();
            return Vec::new();
        };
        let input = if self.input_is_text {
            Value::String(text.clone())
        } else {
            serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.clone()))
        };
        self.editor.take();
        self.history(&text);
        self.turn_to(Phase::Running);
        self.scrolled = None;
        if self.plain {
            self.transcript.add(crate::transcript::Item::You { by: "you".to_owned(), text });
        }
        let mut effects =
            vec![Effect::Start { workflow, input, conversation: self.conversation.clone() }];
        effects.extend(self.save());
        effects
    }

    fn history(&mut self, text: &str) {
        self.history_at = None;
        self.draft.clear();
        let history = &mut self.saved.history;
        if history.last().is_none_or(|last| last != text) && text.len() < 64 * 1024 {
            history.push(text.to_owned());
        }
        let drop = history.len().saturating_sub(MAX_HISTORY);
        history.drain(..drop);
    }

    fn remember_back(&mut self) {
        let history = &self.saved.history;
        let at = match self.history_at {
            None if history.is_empty() => return,
            None => {
                self.editor.text().clone_into(&mut self.draft);
                history.len() - 1
            }
            Some(at) => at.saturating_sub(1),
        };
        self.history_at = Some(at);
        let text = history[at].clone();
        self.editor.set(&text);
    }

    fn remember_on(&mut self) {
        let Some(at) = self.history_at else { return };
        if let Some(text) = self.saved.history.get(at + 1).cloned() {
            self.history_at = Some(at + 1);
            self.editor.set(&text);
        } else {
            self.history_at = None;
            let draft = std::mem::take(&mut self.draft);
            self.editor.set(&draft);
        }
    }

    fn panel_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('n') if control && self.waiting.len() > 1 => {
                self.waiting.rotate_left(1);
                return Vec::new();
            }
            KeyCode::Char('p') if control && self.waiting.len() > 1 => {
                self.waiting.rotate_right(1);
                return Vec::new();
            }
            _ => {}
        }
        let fresh = self.is_fresh();
        let Some(waiting) = self.waiting.front_mut() else {
            self.focus = Focus::Composer;
            return Vec::new();
        };
        if form::is_undo(key) {
            waiting.form.undo();
            return Vec::new();
        }
        if key.code == KeyCode::Enter && fresh {
            // This Enter was on its way before the question was.
            return Vec::new();
        }
        self.panel_scrolled = None;
        match waiting.form.key(key) {
            Reply::Hide => {
                self.hidden = true;
                self.focus = Focus::Composer;
                self.say("put away, undecided; Tab or /answer shows it again", false);
                Vec::new()
            }
            Reply::Decide(decision) => self.send_answer(decision),
            Reply::Taken | Reply::Unused => Vec::new(),
        }
    }

    fn picker_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match key.code {
            KeyCode::Up => self.picker.at = self.picker.at.saturating_sub(1),
            KeyCode::Down => {
                self.picker.at = (self.picker.at + 1).min(self.picker.of.len().saturating_sub(1));
            }
            KeyCode::Esc => self.focus = Focus::Composer,
            KeyCode::Enter => {
                self.focus = Focus::Composer;
                let Some((chosen, _)) = self.picker.of.get(self.picker.at).cloned() else {
                    return Vec::new();
                };
                return match self.picker.what {
                    Picked::Workflow => self.take_workflow(&chosen),
                    Picked::Session => self.go_on_with(&chosen),
                };
            }
            _ => {}
        }
        Vec::new()
    }
}
