//! A server that is a program of ours: started with nothing but what it was given, stopped with all
//! that it started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::config::Program;
use signoff_core::text::clean;

/// The longest line that is read, in bytes. A server that sends more is cut off.
pub(crate) const MAX_LINE: usize = 8 * 1024 * 1024;
/// How much of what a server writes to its standard error is kept, in bytes.
const MAX_WORDS: usize = 8 * 1024;

/// The last of what a program wrote to its standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    pub(crate) fn text(&self) -> String {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clean(&String::from_utf8_lossy(&words), MAX_WORDS)
    }

    fn add(&self, more: &[u8]) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend_from_slice(more);
        let excess = words.len().saturating_sub(MAX_WORDS);
        words.drain(..excess);
    }
}

/// A running program. Dropping it kills the program and its group.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nobody else waits for the child, so its id is still its own.
        #[cfg(unix)]
        if let Some(pid) = self.child.id()
            && let Some(group) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

/// Starts the program; its standard error goes to `words`.
pub(crate) fn start(
    program: &Program,
    words: &LastWords,
) -> std::io::Result<(Process, Lines<ChildStdout>, ChildStdin)> {
    let mut command = Command::new(find(&program.file));
    command
        .args(&program.arguments)
        .current_dir(&program.cwd)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    for name in program.env.iter().map(String::as_str).chain(["PATH"]) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let missing = || std::io::Error::other("the program has no pipes");
    let output = child.stdout.take().ok_or_else(missing)?;
    let input = child.stdin.take().ok_or_else(missing)?;
    if let Some(errors) = child.stderr.take() {
        tokio::spawn(listen(errors, words.clone()));
    }
    Ok((Process { child }, Lines { inner: output, since_newline: 0 }, input))
}

async fn listen(mut errors: ChildStderr, words: LastWords) {
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        words.add(&piece[..read]);
    }
}

/// The program's file, looked for in our own `PATH`.
fn find(program: &str) -> PathBuf {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    if program.contains('/') {
        return Path::new(program).to_owned();
    }
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .unwrap_or_else(|| Path::new(program).to_owned())
}

/// Reads lines, none of which may be too long.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    inner: R,
    since_newline: usize,
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        for byte in &buffer.filled()[before..] {
            self.since_newline = if *byte == b'\n' { 0 } else { self.since_newline + 1 };
            if self.since_newline > MAX_LINE {
                return Poll::Ready(Err(std::io::Error::other("a line is too long")));
            }
        }
        Poll::Ready(Ok(()))
    }
}
