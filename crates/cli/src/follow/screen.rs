//! Progress, for people: a line that moves on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;

use signoff_core::journal::{Entry, Event};
use signoff_core::{ActivationId, Name, RunId, Workflow};

use crate::out;
use crate::show::What;
use crate::style::{Style, printable_line, short};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How much of the line that moves is text.
const WIDTH: usize = 76;
/// How much of what a model is saying is kept to show its end.
const KEPT: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Silent,
    Plain,
    Moving,
}

/// Shows what happens in a run.
#[derive(Debug)]
pub(super) struct Screen {
    mode: Mode,
    style: Style,
    titles: BTreeMap<String, String>,
    open: BTreeMap<(RunId, ActivationId), Name>,
    /// Who works now.
    busy: Option<String>,
    /// The end of what a model is saying.
    saying: String,
    /// Whether what it is saying is for programs.
    structured: bool,
    /// Answers that were typed here; the typist need not be told.
    own_answers: usize,
    frame: usize,
    drawn: bool,
    hidden: bool,
}

impl Screen {
    pub(super) fn new(silent: bool, workflow: Option<&Workflow>) -> Self {
        let mode = match (silent, out::stderr_is_terminal()) {
            (true, _) => Mode::Silent,
            (false, true) => Mode::Moving,
            (false, false) => Mode::Plain,
        };
        let agents = workflow.into_iter().flat_map(|workflow| &workflow.agents);
        let titles = agents
            .filter_map(|(id, agent)| Some((id.clone(), printable_line(agent.name.as_deref()?))))
            .collect();
        Self {
            mode,
            style: Style::stderr(),
            titles,
            open: BTreeMap::new(),
            busy: None,
            saying: String::new(),
            structured: false,
            own_answers: 0,
            frame: 0,
            drawn: false,
            hidden: false,
        }
    }

    /// A line that stays.
    pub(super) fn line(&mut self, text: &str) {
        if self.mode != Mode::Silent {
            self.wipe();
            out::note(text);
        }
    }

    /// An entry of the journal, as it comes.
    pub(super) fn entry(&mut self, run: &RunId, entry: &Entry, what: &What) {
        match &entry.event {
            Event::Delivered(delivered) => self.works(run, delivered.activation, &delivered.to),
            Event::Completed(completed) => {
                self.ends(run, completed.activation, true);
                for next in &completed.next {
                    self.works(run, next.activation, &next.to);
                }
            }
            Event::Failed { activation, .. } => {
                let text = format!("{} failed: {}", self.title(&what.who), what.text);
                self.line(&self.style.bad(&text));
                self.ends(run, *activation, false);
            }
            Event::Effect { .. } if what.kind == "tool" => {
                self.saying.clear();
                let tool = what.text.split(':').next().unwrap_or_default();
                if !tool.contains(char::is_whitespace) {
                    let text = format!("{} used {tool}", self.title(&what.who));
                    self.line(&self.style.dim(&text));
                }
            }
            Event::Effect { .. } => self.saying.clear(),
            Event::Decided { .. } if self.mode == Mode::Moving && self.own_answers > 0 => {
                self.own_answers -= 1;
            }
            Event::Decided { .. } => {
                let text = format!("{} {}", what.who, what.text);
                self.line(&self.style.dim(&text));
            }
            Event::Expired { .. } => {
                let text = format!("{}: {}", self.title(&what.who), what.text);
                self.line(&self.style.warn(&text));
            }
            _ => {}
        }
    }

    fn works(&mut self, run: &RunId, activation: ActivationId, executor: &Name) {
        let title = self.title(executor);
        self.open.insert((run.clone(), activation), executor.clone());
        if self.mode == Mode::Plain {
            out::note(&format!("{title} is working…"));
        }
        self.busy = Some(title);
        self.saying.clear();
    }

    fn ends(&mut self, run: &RunId, activation: ActivationId, well: bool) {
        let Some(executor) = self.open.remove(&(run.clone(), activation)) else { return };
        if well && self.mode == Mode::Moving {
            let title = self.title(&executor);
            self.line(&format!("{} {title}", self.style.good("✓")));
        }
        self.busy = self.open.values().next_back().map(|name| self.title(name));
    }

    fn title(&self, executor: &str) -> String {
        self.titles.get(executor).cloned().unwrap_or_else(|| printable_line(executor))
    }

    /// A piece of what an agent is saying.
    pub(super) fn delta(&mut self, agent: &str, text: &str) {
        if self.mode != Mode::Moving {
            return;
        }
        self.busy = Some(self.title(agent));
        if self.saying.is_empty() {
            self.structured = text.trim_start().starts_with(['{', '[']);
        }
        self.saying.push_str(text);
        let long = self.saying.len().saturating_sub(KEPT);
        let cut = (long..=self.saying.len()).find(|at| self.saying.is_char_boundary(*at));
        self.saying.drain(..cut.unwrap_or(0));
        self.draw();
    }

    /// What was being said is said anew.
    pub(super) fn restart(&mut self) {
        self.saying.clear();
        self.draw();
    }

    /// An answer was typed here.
    pub(super) fn own_answer(&mut self) {
        self.own_answers += 1;
    }

    /// Moves the line that moves.
    pub(super) fn tick(&mut self) {
        self.frame = (self.frame + 1) % FRAMES.len();
        self.draw();
    }

    fn draw(&mut self) {
        if self.mode != Mode::Moving || self.hidden {
            return;
        }
        let Some(busy) = &self.busy else { return self.wipe() };
        let room = WIDTH.saturating_sub(busy.chars().count() + 16);
        let saying = if self.structured { String::new() } else { printable_line(&self.saying) };
        let length = saying.chars().count();
        let end: String = saying.chars().skip(length.saturating_sub(room)).collect();
        let line = format!(
            "\r\u{1b}[2K{} {} is working… {}",
            self.style.accent(FRAMES[self.frame]),
            short(busy, 40),
            self.style.dim(&end)
        );
        out::raw(&line);
        self.drawn = true;
    }

    /// Takes the line that moves away, until [`Screen::show`].
    pub(super) fn hide(&mut self) {
        self.hidden = true;
        self.wipe();
    }

    /// Lets it move again.
    pub(super) fn show(&mut self) {
        self.hidden = false;
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.drawn) {
            out::raw("\r\u{1b}[2K");
        }
    }
}
