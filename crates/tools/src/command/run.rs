//! Running a program to its end, or to the end of its time.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Prepared;
use super::output::Output;
use crate::tool::ToolError;

/// How long a program has to end by itself once it is told to.
const GRACE: Duration = Duration::from_secs(2);
/// How long we wait for what is left in the pipes when everything has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) async fn run(prepared: Prepared, max_output: usize) -> Result<Value, ToolError> {
    let shown = prepared.program.name.clone();
    let failed = |error: std::io::Error| {
        ToolError::new("command_failed", format!("`{shown}` could not be started: {error}"))
    };
    let mut child = command(&prepared).map_err(failed)?.spawn().map_err(failed)?;
    let group = Group::of(&child);
    // It is there now and needs no handle of ours.
    let limit = prepared.limit.to_std();
    drop(prepared);

    let (mut out, mut errors) = (Output::new(max_output), Output::new(max_output));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut timed_out = false;
    let status = {
        let reading = async { tokio::join!(out.fill(stdout), errors.fill(stderr)) };
        tokio::pin!(reading);
        let mut read = false;
        let mut status = None;
        for (wait, end) in [(limit, Signal::TERM), (GRACE, Signal::KILL), (GRACE, Signal::KILL)] {
            let ending = async {
                loop {
                    tokio::select! {
                        status = child.wait() => return status,
                        _ = &mut reading, if !read => read = true,
                    }
                }
            };
            status = timeout(wait, ending).await.ok();
            if status.is_some() {
                break;
            }
            timed_out = true;
            group.signal(end);
        }
        // The program has ended; what it left running is ended as well, or it would hold the pipes.
        group.signal(Signal::KILL);
        if !read {
            // What has not come by then is given up.
            let _ = timeout(LAST_WORDS, reading).await;
        }
        status
    };
    group.done();
    let mut result = Map::new();
    match status {
        Some(status) => told(status.map_err(failed)?, &mut result),
        None => return Err(ToolError::new("command_stuck", "the program could not be ended")),
    }
    if timed_out {
        result.insert("timed_out".to_owned(), true.into());
    }
    out.put("stdout", &mut result);
    errors.put("stderr", &mut result);
    Ok(Value::Object(result))
}

fn told(status: ExitStatus, result: &mut Map<String, Value>) {
    if let Some(code) = status.code() {
        result.insert("exit_code".to_owned(), code.into());
    }
    if let Some(signal) = status.signal() {
        result.insert("signal".to_owned(), signal.into());
    }
}

fn command(prepared: &Prepared) -> std::io::Result<Command> {
    let mut command = Command::new(&prepared.program.path);
    command
        .arg0(&prepared.program.name)
        .args(&prepared.arguments)
        .env_clear()
        .envs(&prepared.environment)
        .current_dir(folder(&prepared.folder)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own process group, so that it can be ended with its children.
        .process_group(0)
        .kill_on_drop(true);
    Ok(command)
}

/// The folder that is open, by a name that cannot come to mean another one before the child is in it: the
/// child has the same handles until it becomes the program.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_wraps)] // elsewhere it can fail
fn folder(handle: &OwnedFd) -> std::io::Result<PathBuf> {
    Ok(PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd())))
}

/// The folder that is open, by the name it has now.
#[cfg(target_vendor = "apple")]
fn folder(handle: &OwnedFd) -> std::io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let path = rustix::fs::getpath(handle)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

/// The folder that is open, by its handle.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn folder(handle: &OwnedFd) -> std::io::Result<PathBuf> {
    Ok(PathBuf::from(format!("/dev/fd/{}", handle.as_raw_fd())))
}

/// A program's process group. Whoever drops it before the end (a call that is cancelled or took too long)
/// ends all of it.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// The group's number belongs to nobody else as long as one of it is alive, and where none is there is
    /// nobody to tell.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, signal);
        }
    }

    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
