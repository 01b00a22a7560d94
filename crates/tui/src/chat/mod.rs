//! The chat: one conversation with a workflow, or with any endpoint of Responses. State and views are pure; the performers carry
//! out what they ask for.

mod answering;
mod commands;
mod keys;
mod perform;
mod plain;
mod running;
mod transcript;
mod update;
mod view;

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::Value;
use signoff_client::{
    ClientError, InboxEvent, Noted, Run, RunEvent, Said, Workflow, WorkflowSummary,
};
use signoff_core::{Decision, Request, RequestId, RunId, Seq, Timestamp};

use crate::editor::Editor;
use crate::form::Form;
use crate::saved::{Saved, Session, Settings};
use crate::screen::Input;
use crate::text::{fit, line};

pub use perform::Performer;
pub use plain::Plain;
use transcript::Transcript;

/// How long after a question came up by itself Enter does not answer it, in milliseconds.
const ARMED_AFTER: u64 = 300;
/// How many texts are kept to be typed again.
const MAX_HISTORY: usize = 500;

/// Where the conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is under way.
    Idle,
    /// A run is at work.
    Running,
    /// It waits for a person.
    Awaiting,
    /// It was answered, and has not moved yet.
    Continuing,
}

impl Phase {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Awaiting => "awaiting an answer",
            Self::Continuing => "continuing",
        }
    }
}

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

/// Something to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Start a run; or say something to a plain endpoint.
    Start {
        /// The workflow.
        workflow: String,
        /// What it is given.
        input: Value,
        /// The conversation it goes on with.
        conversation: Option<String>,
    },
    /// Follow these runs, one after the other, the first from after this entry.
    Follow(Vec<RunId>, Seq),
    /// Read what a run asks.
    Pending(RunId),
    /// Read how a run ended.
    Ended(RunId),
    /// Answer a question.
    Answer(RequestId, u32, Decision),
    /// Stop a run.
    Cancel(RunId, String),
    /// Make a new run from a place in a journal.
    Fork(RunId, Seq, Option<String>),
    /// Read which workflows there are.
    Workflows,
    /// Read one of them.
    Workflow(String),
    /// Read the runs of a conversation.
    Restore(String),
    /// Write what was said to a file.
    Export(PathBuf, String),
    /// Keep settings, sessions and what was typed.
    Save(Box<Saved>),
    /// Let the text be edited by the editor of the person.
    Edit(String),
    /// Show the inbox for a while.
    Inbox,
    /// Call for attention.
    Bell(String),
    /// Leave.
    Quit,
}

/// What comes of it, and what happens by itself.
#[derive(Clone, Debug)]
pub enum Told {
    /// A key, text, a size, the time.
    Input(Input),
    /// A run was started, or not.
    Started(Result<Box<Run>, ClientError>),
    /// Something happened in a run.
    Run(RunId, RunEvent),
    /// What a run asks.
    Pending(RunId, Vec<Noted>),
    /// How a run ended.
    Ended(Result<Box<Run>, ClientError>),
    /// An answer was taken, or not.
    Answered(RequestId, Result<Box<Request>, ClientError>),
    /// The workflows.
    Workflows(Result<Vec<WorkflowSummary>, ClientError>),
    /// One of them.
    Workflow(Result<Box<Workflow>, ClientError>),
    /// The runs of a conversation, oldest first.
    Restored(String, Result<Vec<Run>, ClientError>),
    /// Something happened in the inbox.
    Inbox(InboxEvent),
    /// A plain endpoint says something.
    Said(Said),
    /// Something was done, or not.
    Done(Result<String, String>),
    /// The text as the editor left it.
    Edited(String),
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
    transcript: Transcript,
    waiting: VecDeque<Waiting>,
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
    scrolled: usize,
    panel_scrolled: usize,
    saved: Saved,
    /// What is wrong with the way to the server.
    lost: Option<String>,
    notice: Option<(String, bool, Timestamp)>,
    looked_at: bool,
    restoring: bool,
    frame: usize,
}

impl Chat {
    /// A chat that has not begun.
    pub fn new(me: &str, place: &str, saved: Saved, now: Timestamp) -> Self {
        Self {
            me: line(me),
            place: line(place),
            plain: false,
            workflow_mode: true,
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
            transcript: Transcript::default(),
            waiting: VecDeque::new(),
            hidden: false,
            came_at: None,
            focus: Focus::Composer,
            picker: Picker::default(),
            editor: Editor::lines(),
            completion: 0,
            history_at: None,
            draft: String::new(),
            scrolled: 0,
            panel_scrolled: 0,
            saved,
            lost: None,
            notice: None,
            looked_at: true,
            restoring: false,
            frame: 0,
        }
    }

    /// The same with a plain endpoint of Responses behind it, and this model.
    #[must_use]
    pub fn plain(mut self, model: &str, workflow_mode: bool) -> Self {
        self.plain = true;
        self.workflow_mode = workflow_mode;
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
