//! Runs the binary in a folder of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;

pub(crate) const PARTY: &str = "Plan a party for 30 people";
pub(crate) const COMPLETE: &str = "Plan a corporate team building event for 30 people, budget $3000, downtown Seattle, \
     Friday evening in 3 weeks, vegetarian and gluten-free options required";
pub(crate) const HOLIDAY: &str = "Plan a corporate holiday party for 50 people, budget $5000";

pub(crate) struct Place {
    folder: tempfile::TempDir,
}

pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Each line of standard output as JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The requests that were announced.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let events = self.events().into_iter();
        events
            .filter(|event| event["type"] == "request.pending")
            .map(|it| it["request"].clone())
            .collect()
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signoff"));
        command.args(args).current_dir(self.folder.path());
        for (name, _) in std::env::vars()
            .filter(|(name, _)| ["SIGNOFF", "OTEL"].iter().any(|it| name.starts_with(it)))
        {
            command.env_remove(name);
        }
        command.env_remove("COLUMNS").env_remove("NO_COLOR").env("TZ", "UTC");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        finish(self.command(args).spawn().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Output {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        finish(child)
    }

    /// The id of the latest run.
    pub(crate) fn last_run(&self) -> String {
        let runs = self.run(&["runs", "--json", "--limit", "1"]).exits(0);
        runs.events()[0]["id"].as_str().unwrap().to_owned()
    }

    /// The pending requests.
    pub(crate) fn inbox(&self) -> Vec<Value> {
        self.run(&["inbox", "list", "--json"]).exits(0).events()
    }
}

pub(crate) fn finish(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A process that is talked to while it runs.
pub(crate) struct Talk {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Talk {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        let mut child = place.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// Reads events up to the first that is of this type.
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        let mut line = String::new();
        while self.stdout.read_line(&mut line).unwrap() > 0 {
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["type"] == kind {
                return event;
            }
            line.clear();
        }
        panic!("it ended without {kind}");
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The exit code and what is left of both outputs.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        drop(self.stdin.take());
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), stdout, stderr)
    }
}

/// A workflow that asks `prompt` of a person and gives the answer.
pub(crate) fn asking(id: &str, kind: &str) -> String {
    format!(
        "workflow: {id}\npattern: graph\nstart: ask\nexecutors:\n  ask: {{ ask: {{ prompt: Well?, kind: {kind} }} }}\n"
    )
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
