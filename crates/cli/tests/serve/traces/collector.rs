//! Whoever collects spans: takes requests, keeps their bodies, and answers as it is told.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use signoff_testkit::peers::{cache, install};
use signoff_testkit::process::PATIENCE;

/// How a request is answered.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Status(u16, &'static str),
    /// Never.
    Silence,
}

pub(super) const TAKEN: Answer = Answer::Status(200, "{}");

#[derive(Default)]
struct Seen {
    heads: Vec<String>,
    /// What was taken.
    bodies: Vec<String>,
    answers: VecDeque<Answer>,
}

#[derive(Clone)]
pub(super) struct Collector {
    pub(super) url: String,
    seen: Arc<Mutex<Seen>>,
    usual: Answer,
}

impl Collector {
    /// One that answers with each of `answers` once, then with `usual`.
    pub(super) fn start(answers: &[Answer], usual: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Seen { answers: answers.iter().copied().collect(), ..Seen::default() };
        let collector = Self { url, seen: Arc::new(Mutex::new(seen)), usual };
        let serving = collector.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let serving = serving.clone();
                std::thread::spawn(
                    move || while serving.serve(stream.as_ref().unwrap()).is_some() {},
                );
            }
        });
        collector
    }

    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        let mut body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let answer = {
            let mut seen = self.seen.lock().unwrap();
            seen.heads.push(head);
            let answer = seen.answers.pop_front().unwrap_or(self.usual);
            if matches!(answer, Answer::Status(200, _)) {
                seen.bodies.push(String::from_utf8(body).unwrap());
            }
            answer
        };
        let Answer::Status(status, text) = answer else {
            std::thread::sleep(PATIENCE);
            return None;
        };
        let length = text.len();
        let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n\r\n{text}");
        stream.write_all(answer.as_bytes()).ok()
    }

    /// How often it was asked, and the last head.
    pub(super) fn asked(&self) -> (usize, String) {
        let seen = self.seen.lock().unwrap();
        (seen.heads.len(), seen.heads.last().cloned().unwrap_or_default())
    }

    /// All it has taken, as it was sent.
    pub(super) fn raw(&self) -> String {
        self.seen.lock().unwrap().bodies.join("\n")
    }

    /// Waits until it has taken something with this in it.
    pub(super) async fn has(&self, text: &str) {
        let since = Instant::now();
        while !self.raw().contains(text) {
            assert!(since.elapsed() < PATIENCE, "{text} does not come: {}", self.raw());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// All spans it has taken, as the messages of OTLP from their registry have them.
    pub(super) fn spans(&self) -> Vec<Value> {
        let folder = cache("otlp-python");
        let (venv, packages) = (folder.join("venv/bin/python"), folder.join("packages"));
        install(&folder, &venv, &["python3", "-m", "venv", "venv"]);
        let pip = "venv/bin/python -m pip install -q --target packages opentelemetry-proto==1.45.2";
        let pip: Vec<&str> = pip.split(' ').collect();
        install(&folder, &packages.join("opentelemetry"), &pip);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/traces/validate.py");
        let mut python = Command::new(venv)
            .arg("-B")
            .arg(script)
            .env("PYTHONPATH", packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = python.stdin.take().unwrap();
        let raw = self.raw();
        let writing = std::thread::spawn(move || stdin.write_all(raw.as_bytes()));
        let output = python.wait_with_output().unwrap();
        writing.join().unwrap().unwrap();
        assert!(output.status.success(), "what was sent is not OTLP: {}", self.raw());
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
