//! The chat: one conversation with a workflow, or with any endpoint of Responses. State and views are pure; the performers carry
//! out what they ask for.

mod answering;
mod commands;
mod keys;
mod perform;
mod phase;
mod plain;
mod running;
mod scroll;
mod sessions;
mod settings;
mod steer;
mod told;
mod update;
mod view;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ratatui::text::Line;
use signoff_client::{Note, WorkflowSummary};
use signoff_core::{Request, RequestId, RunId, Seq, Timestamp};

use crate::Spoken;
use crate::editor::Editor;
use crate::form::Form;
use crate::overlay::Extent;
use crate::saved::{Saved, Session, Settings};
use crate::text::{fit, line};
use crate::transcript::Transcript;
use scroll::Place;

pub use perform::Performer;
pub use phase::Phase;
pub use plain::Plain;
pub use told::{Effect, Told};

/// How long after a question came up by itself Enter does not answer it, in milliseconds.
const ARMED_AFTER: u64 = 300;
/// How many texts are kept to be typed again.
const MAX_HISTORY: usize = 500;

/// Where keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Focus {
    Composer,
    Panel,
    Picker,
    Help,
}

/// A question that waits, with the form by which it is answered.
#[derive(Clone, Debug)]
struct Waiting {
    request: Request,
    form: Form,
    /// What people noted on it.
    notes: Vec<Note>,
    /// What was said before it, where it was told along with it.
    said: Vec<Spoken>,
    sent: bool,
}

/// Something to choose from.
#[derive(Clone, Debug, Default)]
struct Picker {
    title: String,
    /// What is chosen, and what is said of it.
    of: Vec<(String, String)>,
    at: usize,
    what: Picked,
}

/// What is done with what was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Picked {
    #[default]
    Workflow,
    Session,
}

/// A chat.
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
#[derive(Debug)]
pub struct Chat {
    /// Who we are.
    me: String,
    /// Where the server is, as it is shown.
    place: String,
    /// Whether there is no server of ours behind it.
    plain: bool,
    /// Whether a plain endpoint has turned out to be a workflow's.
    workflow_mode: bool,
    /// Whether it was one from the beginning.
    bridge: bool,
    now: Timestamp,
    workflow: Option<String>,
    input_is_text: bool,
    samples: Vec<String>,
    workflows: Vec<WorkflowSummary>,
    conversation: Option<String>,
    run: Option<RunId>,
    head: Seq,
    has_parts: bool,
    phase: Phase,
    /// Since when it stands there.
    since: Timestamp,
    transcript: Transcript,
    waiting: VecDeque<Waiting>,
    /// Questions that are over. One that was read a moment before is not shown again.
    over: BTreeSet<RequestId>,
    /// The question is put away.
    hidden: bool,
    came_at: Option<Timestamp>,
    focus: Focus,
    picker: Picker,
    editor: Editor,
    /// Which line of the completions is meant.
    completion: usize,
    history_at: Option<usize>,
    draft: String,
    /// Where it was scrolled back to.
    scrolled: Option<Place>,
    /// Things as lines, by number and columns, until something is told: a long text is laid out once for a frame.
    laid_out: RefCell<BTreeMap<(usize, usize), Vec<Line<'static>>>>,
    /// Columns and lines that the last frame had for what was said.
    room: Cell<(usize, usize)>,
    /// The first line of the question that is to be seen; the one that has the focus is, if nothing is said.
    panel_scrolled: Option<usize>,
    panel_seen: Cell<Extent>,
    help_at: usize,
    /// How far the help can be scrolled, as it was last shown.
    help_most: Cell<usize>,
    saved: Saved,
    /// What is wrong with the way to the server.
    lost: Option<String>,
    notice: Option<(String, bool, Timestamp)>,
    looked_at: bool,
    restoring: bool,
}

impl Chat {
    /// A chat that has not begun.
    pub fn new(me: &str, place: &str, saved: Saved, now: Timestamp) -> Self {
        Self {
            me: line(me),
            place: line(place),
            plain: false,
            workflow_mode: true,
            bridge: true,
            now,
            workflow: None,
            input_is_text: true,
            samples: Vec::new(),
            workflows: Vec::new(),
            conversation: None,
            run: None,
            head: 0,
            has_parts: false,
            phase: Phase::Idle,
            since: now,
            transcript: Transcript::default(),
            waiting: VecDeque::new(),
            over: BTreeSet::new(),
            hidden: false,
            came_at: None,
            focus: Focus::Composer,
            picker: Picker::default(),
            editor: Editor::lines(),
            completion: 0,
            history_at: None,
            draft: String::new(),
            scrolled: None,
            laid_out: RefCell::default(),
            room: Cell::new((80, 20)),
            panel_scrolled: None,
            panel_seen: Cell::default(),
            help_at: 0,
            help_most: Cell::new(0),
            saved,
            lost: None,
            notice: None,
            looked_at: true,
            restoring: false,
        }
    }

    /// The same with a plain endpoint of Responses behind it, and this model.
    #[must_use]
    pub fn plain(mut self, model: &str, workflow_mode: bool) -> Self {
        self.plain = true;
        self.workflow_mode = workflow_mode;
        self.bridge = workflow_mode;
        self.workflow = Some(line(model));
        self
    }

    /// The conversation, once there is one.
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// The run, once there is one.
    pub fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// How many questions wait here.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether something moves on the screen by itself.
    pub fn moves(&self) -> bool {
        let works = matches!(self.phase, Phase::Running | Phase::Continuing);
        self.is_fresh() || works && self.lost.is_none()
    }

    /// Whether the question has just come up by itself, so that an Enter was not meant for it.
    fn is_fresh(&self) -> bool {
        self.focus == Focus::Panel
            && self.came_at.is_some_and(|came| self.now.since(came).0 < ARMED_AFTER)
    }

    /// What is to be done at first: a workflow and a conversation may have been named.
    pub fn begin(&mut self, workflow: Option<String>, conversation: Option<String>) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.plain {
            return effects;
        }
        if let Some(workflow) = workflow {
            self.workflow = Some(line(&workflow));
            effects.push(Effect::Workflow(workflow));
        }
        effects.push(Effect::Workflows);
        if let Some(conversation) = conversation {
            self.restoring = true;
            effects.push(Effect::Restore(conversation));
        }
        effects
    }

    /// How it is set.
    pub fn settings(&self) -> Settings {
        self.saved.settings
    }

    /// What is typed and not sent.
    pub fn typed(&self) -> &str {
        self.editor.text()
    }

    /// It is this late.
    pub fn at(&mut self, now: Timestamp) {
        self.now = now;
    }

    fn say(&mut self, text: impl Into<String>, bad: bool) {
        let until = self.now.plus(signoff_core::Span::seconds(10));
        self.notice = Some((fit(&line(&text.into()), 400), bad, until));
    }

    /// Keeps this conversation among the sessions.
    fn keep(&mut self, about: &str) -> Vec<Effect> {
        let Some(conversation) = self.conversation.clone().filter(|_| !self.plain) else {
            return Vec::new();
        };
        self.saved.remember(Session {
            place: self.place.clone(),
            conversation,
            workflow: self.workflow.clone().unwrap_or_default(),
            about: fit(&line(about), 120),
            at: self.now.0,
        });
        self.save()
    }

    fn save(&self) -> Vec<Effect> {
        vec![Effect::Save(Box::new(self.saved.clone()))]
    }
}
