//! Commands as the documentation shows them, in a folder of their own.

use std::path::Path;
use std::process::{Command, Stdio};

use signoff_testkit::Process;

use crate::page::root;

/// Where the documentation says that the server listens.
const PORT: &str = "8484";

/// A folder to follow a page in, perhaps with a server.
pub(crate) struct Shell {
    folder: tempfile::TempDir,
    server: Option<(Process, String)>,
}

pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) text: String,
}

impl Shell {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples"))
            .unwrap();
        Self { folder, server: None }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Starts the server that a page talks to; what it prints until it listens.
    pub(crate) fn serve(&mut self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signoff"));
        command.args(["serve", "--addr", "127.0.0.1:0"]).current_dir(self.folder.path());
        for (name, _) in std::env::vars()
            .filter(|(name, _)| ["SIGNOFF", "OTEL"].iter().any(|it| name.starts_with(it)))
        {
            command.env_remove(name);
        }
        let mut process = Process::start(&mut command);
        let mut text = String::new();
        while !text.contains("Ctrl-C") {
            text.push_str(&process.line().expect("it serves"));
            text.push('\n');
        }
        let first = text.lines().next().unwrap();
        let port = first.rsplit(':').next().unwrap().to_owned();
        let text = text.replace(&port, PORT);
        self.server = Some((process, port));
        Output { code: 0, text }
    }

    /// Runs a line. A server listens where it could, and the line goes there.
    pub(crate) fn run(&self, line: &str) -> Output {
        match &self.server {
            None => self.run_here(line),
            Some((_, port)) => {
                let output = self.run_here(&line.replace(&format!(":{PORT}"), &format!(":{port}")));
                Output {
                    text: output.text.replace(&format!(":{port}"), &format!(":{PORT}")),
                    ..output
                }
            }
        }
    }

    fn run_here(&self, line: &str) -> Output {
        let bin = Path::new(env!("CARGO_BIN_EXE_signoff")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        // In the order a person sees them.
        command.args(["-c", &format!("exec 2>&1\n{line}")]).current_dir(self.folder.path());
        for (name, _) in std::env::vars()
            .filter(|(name, _)| ["SIGNOFF", "OTEL"].iter().any(|it| name.starts_with(it)))
        {
            command.env_remove(name);
        }
        command.env("PATH", format!("{}:{path}", bin.display())).env("NO_COLOR", "1");
        let done = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        Output { code: done.status.code().unwrap_or(-1), text }
    }
}

/// A command of a `console` block with what it must end with and print.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) line: String,
    pub(crate) code: i32,
    pub(crate) output: Vec<String>,
}

/// The commands of a block: `$ command   # exit 3`, and below it lines of its output.
pub(crate) fn commands(block: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let (command, code) = match command.split_once("   # exit ") {
                Some((command, code)) => (command, code.trim().parse().unwrap()),
                None => (command, 0),
            };
            shown.push(Shown { line: command.to_owned(), code, output: Vec::new() });
        } else if !line.trim().is_empty() {
            shown.last_mut().expect("a block begins with a command").output.push(line.to_owned());
        }
    }
    shown
}

/// The first of the `expected` lines that is not there, after those before it.
pub(crate) fn missing<'a>(expected: &'a [String], output: &str) -> Option<&'a str> {
    let plain: Vec<String> = output.lines().map(plain).collect();
    let mut at = 0;
    for line in expected {
        let wanted = self::plain(line);
        let fits = |actual: &String| match wanted.strip_suffix('…') {
            Some(beginning) => actual.starts_with(beginning),
            None => *actual == wanted,
        };
        match plain.iter().skip(at).position(fits) {
            Some(found) => at += found + 1,
            None => return Some(line),
        }
    }
    None
}

/// A line without what differs from run to run: ids, times, and how wide columns are.
fn plain(line: &str) -> String {
    let mut words: Vec<String> = line.split_whitespace().map(word).collect();
    if let Some(at) = words.iter().position(|word| word == "ago").filter(|at| *at >= 2) {
        words.drain(at - 2..at);
    }
    words.join(" ")
}

fn word(word: &str) -> String {
    let is_time = |text: &str| {
        text.len() >= 8 && text.chars().all(|c| c.is_ascii_digit() || "-:T.Z".contains(c))
    };
    for prefix in ["run_", "req_", "sha256:"] {
        let Some(id) = word.strip_prefix(prefix) else { continue };
        // The number of a request stays.
        let number = id.rfind('_').map_or("", |at| &id[at..]);
        return format!("{prefix}{number}");
    }
    if is_time(word) || word.strip_suffix(':').is_some_and(is_time) {
        return "TIME".to_owned();
    }
    word.to_owned()
}
