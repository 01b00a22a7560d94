//! How a command ends: exit codes, and errors that say what to do.

use std::process::ExitCode;

/// How this process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The run failed.
    Failed,
    /// Wrong usage, or something is wrong with a file.
    Usage,
    /// The run waits for a person.
    Waiting,
    /// A person denied or aborted it.
    Denied,
    /// Ctrl-C.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Waiting => 3,
            Exit::Denied => 4,
            Exit::Interrupted => 130,
        })
    }
}

/// An error with its exit code and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The message is already made for people and needs no `error:` before it.
    pub(crate) rendered: bool,
}

impl Failure {
    /// Wrong usage, or something is wrong with a file.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), hint: None, rendered: false }
    }

    /// The same with what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A command's result.
pub(crate) type Result<T> = anyhow::Result<T>;
