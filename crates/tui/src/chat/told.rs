//! What passes between the chat and those who carry out what it asks for.

use std::path::PathBuf;

use serde_json::Value;
use signoff_client::{
    ClientError, InboxEvent, Noted, Run, RunEvent, Said, Workflow, WorkflowSummary,
};
use signoff_core::{Decision, Request, RequestId, RunId, Seq};

use crate::mark::Mark;
use crate::saved::Saved;
use crate::screen::Input;

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
    /// Do something to a question that decides nothing.
    Mark(RequestId, Mark),
    /// Stop a run; or stop listening to a plain endpoint.
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
    /// Something else was done to a question, or not.
    Marked(Mark, Result<Box<Request>, ClientError>),
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
