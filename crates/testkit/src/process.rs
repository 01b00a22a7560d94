//! Processes: started, talked to in lines of JSON, stopped, killed, waited for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take before a test gives up on it. Far more than a busy machine needs.
pub const PATIENCE: Duration = Duration::from_mins(3);
const LOOK_EVERY: Duration = Duration::from_millis(1);
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;

/// A process that runs. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    seen: Vec<String>,
    what: String,
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What was started.
    pub what: String,
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it otherwise.
    pub signal: Option<i32>,
    /// The whole lines of its standard output.
    pub stdout: Vec<String>,
    /// Its standard error.
    pub stderr: String,
}

impl Process {
    /// Starts `command` with all three streams in our hands.
    pub fn start(command: &mut Command) -> Self {
        let what = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        let stdin = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, stdout) = channel();
        std::thread::spawn(move || {
            loop {
                let mut line = String::new();
                match output.read_line(&mut line) {
                    // A line without its end was cut off by death.
                    Ok(_) if line.ends_with('\n') => {}
                    _ => return,
                }
                line.pop();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut errors = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = errors.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { child, stdin, stdout, stderr: Some(stderr), seen: Vec::new(), what }
    }

    /// What the system knows it by.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Types a line.
    pub fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Types no more.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// The next line it prints, waited for; none if it prints no more.
    pub fn line(&mut self) -> Option<String> {
        match self.stdout.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.seen.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{} says nothing", self.what),
        }
    }

    /// The next line it prints, as JSON.
    pub fn json(&mut self) -> Value {
        match self.line() {
            Some(line) => parse(&line),
            None => panic!("it ended: {:?}", self.collect()),
        }
    }

    /// Reads lines up to the first that `wanted` likes.
    pub fn json_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let value = self.json();
            if wanted(&value) {
                return value;
            }
        }
    }

    /// Stops it where it stands.
    pub fn stop(&self) {
        self.signal("STOP");
    }

    /// Lets it go on after [`stop`](Self::stop).
    pub fn go_on(&self) {
        self.signal("CONT");
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    fn signal(&self, name: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "kill -s \"$0\" \"$1\"", name, &self.child.id().to_string()]);
        assert!(shell.status().unwrap().success(), "cannot send {name} to {}", self.what);
    }

    /// Kills it.
    pub fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.collect()
    }

    /// Kills it after `span`, unless it ends before.
    pub fn kill_in(mut self, span: Duration) -> Ended {
        if self.ends_within(span).is_none() {
            self.child.kill().unwrap();
        }
        self.collect()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ended {
        if self.ends_within(PATIENCE).is_none() {
            self.child.kill().unwrap();
            panic!("it does not end: {:?}", self.collect());
        }
        self.collect()
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    fn ends_within(&mut self, span: Duration) -> Option<ExitStatus> {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            let left = span.checked_sub(since.elapsed())?;
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }

    fn collect(&mut self) -> Ended {
        let status = self.child.wait().unwrap();
        let mut stdout = std::mem::take(&mut self.seen);
        stdout.extend(self.stdout.iter());
        let stderr = self.stderr.take().map(|it| it.join().unwrap()).unwrap_or_default();
        Ended {
            what: self.what.clone(),
            code: status.code(),
            signal: status.signal(),
            stdout,
            stderr,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended and been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Whether we killed it.
    pub fn was_killed(&self) -> bool {
        self.signal == Some(SIGKILL)
    }

    /// Whether it killed itself at a commit.
    pub fn crashed(&self) -> bool {
        self.signal == Some(SIGABRT) && !self.stderr.contains("panicked")
    }

    /// Its output, line by line.
    pub fn json(&self) -> Vec<Value> {
        self.stdout.iter().map(|line| parse(line)).collect()
    }

    /// Itself, if it ended with `code` and without a panic.
    #[track_caller]
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self.quiet()
    }

    /// Itself, if nothing in it panicked.
    #[track_caller]
    #[must_use]
    pub fn quiet(self) -> Self {
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}
