//! A terminal that the binary runs on, and a server in a folder of its own.

use std::io::{Read as _, Write};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};
use signoff_testkit::process::{PATIENCE, Process};

pub(crate) const PARTY: &str = "Plan a party for 30 people";

/// A folder with data and workflows.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.path("flows")).unwrap();
        let ask = "workflow: ask\npattern: graph\nstart: ask\nexecutors:\n  ask: { ask: { prompt: May I go on?, kind: approval } }\n";
        std::fs::write(place.path("flows/ask.yaml"), ask).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A server at an address; port 0 takes any.
    pub(crate) fn serve_at(&self, address: &str) -> Server {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_signoff"));
        command.args(["serve", "--addr", address, "--workflows", "flows"]);
        command.current_dir(self.folder.path());
        for (name, _) in std::env::vars().filter(|(name, _)| is_ours(name)) {
            command.env_remove(name);
        }
        let mut process = Process::start(&mut command);
        let Some(line) = process.line() else { panic!("it ended: {:?}", process.wait()) };
        let url = line.strip_prefix("signoff listens on ").unwrap().to_owned();
        Server { process, url, http: client() }
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_at("127.0.0.1:0")
    }

    /// The binary on a terminal of so many columns and lines.
    pub(crate) fn open(&self, args: &[&str], env: &[(&str, &str)], size: (u16, u16)) -> Screen {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_signoff"));
        command.args(args);
        command.args(["--workflows", "flows"]);
        command.cwd(self.folder.path());
        for (name, _) in std::env::vars().filter(|(name, _)| is_ours(name)) {
            command.env_remove(name);
        }
        command.env("HOME", self.folder.path());
        command.env("TERM", "xterm-256color");
        for (name, value) in env {
            command.env(name, value);
        }
        Screen::start(command, size)
    }
}

fn is_ours(name: &str) -> bool {
    ["SIGNOFF", "OTEL", "OPENAI", "AF_", "XDG_", "NO_COLOR", "COLORFGBG", "EDITOR", "VISUAL"]
        .iter()
        .any(|it| name.starts_with(it))
}

pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap()
}

/// A server that runs. Killed when dropped.
pub(crate) struct Server {
    process: Process,
    pub(crate) url: String,
    http: reqwest::Client,
}

impl Server {
    pub(crate) fn address(&self) -> String {
        self.url.strip_prefix("http://").unwrap().to_owned()
    }

    /// As if the power went.
    pub(crate) fn kill(self) {
        self.process.kill();
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.http.get(format!("{}{path}", self.url)).send().await.unwrap();
        serde_json::from_str(&response.text().await.unwrap()).unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response =
            self.http.post(format!("{}{path}", self.url)).json(body).send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap())
    }

    pub(crate) async fn start(&self, workflow: &str, input: &str) -> String {
        let (status, run) =
            self.post("/v1/runs", &json!({ "workflow": workflow, "input": input })).await;
        assert_eq!(status, 201, "{run}");
        run["id"].as_str().unwrap().to_owned()
    }

    /// The requests that wait, once there are so many.
    pub(crate) async fn pending(&self, count: usize) -> Vec<Value> {
        let since = Instant::now();
        loop {
            let found = self.get("/v1/requests?status=pending").await;
            let found = found["data"].as_array().unwrap().clone();
            if found.len() == count {
                return found;
            }
            assert!(since.elapsed() < PATIENCE, "{} wait", found.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A run, once it stands so.
    pub(crate) async fn becomes(&self, run: &str, status: &str) -> Value {
        let since = Instant::now();
        loop {
            let found = self.get(&format!("/v1/runs/{run}")).await;
            if found["status"] == status {
                return found;
            }
            assert!(since.elapsed() < PATIENCE, "{found}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// What was written to the terminal, and what it shows of it.
struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    over: bool,
}

/// What a terminal shows, line by line, without what stands empty at the end of each.
fn shown(parser: &vt100::Parser) -> String {
    let contents = parser.screen().contents();
    contents.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// A terminal with the binary on it. Killed when dropped.
pub(crate) struct Screen {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Screen {
    fn start(command: CommandBuilder, (columns, lines): (u16, u16)) -> Self {
        let size = PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let answers = Arc::clone(&writer);
        let parser = vt100::Parser::new(lines, columns, 0);
        let seen =
            Arc::new((Mutex::new(Seen { parser, bytes: Vec::new(), over: false }), Condvar::new()));
        let sink = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            loop {
                let read = reader.read(&mut buffer).unwrap_or(0);
                let mut seen = sink.0.lock().unwrap();
                if read == 0 {
                    seen.over = true;
                } else {
                    seen.parser.process(&buffer[..read]);
                    seen.bytes.extend_from_slice(&buffer[..read]);
                    // Whoever asks where the cursor is must be told.
                    if String::from_utf8_lossy(&buffer[..read]).contains("\u{1b}[6n") {
                        let (row, column) = seen.parser.screen().cursor_position();
                        let told = format!("\u{1b}[{};{}R", row + 1, column + 1);
                        answers.lock().unwrap().write_all(told.as_bytes()).unwrap();
                    }
                }
                sink.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { child, master: pair.master, writer, seen }
    }

    /// Waits until what is shown fits, and gives it.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        let mut seen = self.seen.0.lock().unwrap();
        loop {
            let text = shown(&seen.parser);
            if fits(&text) {
                return text;
            }
            let left = PATIENCE.checked_sub(since.elapsed());
            let Some(left) = left.filter(|_| !seen.over) else {
                panic!("it does not show {what}:\n{text}");
            };
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(&format!("`{text}`"), |shown| shown.contains(text))
    }

    #[track_caller]
    pub(crate) fn hides(&self, text: &str) -> String {
        self.until(&format!("no `{text}`"), |shown| !shown.contains(text))
    }

    pub(crate) fn text(&self) -> String {
        shown(&self.seen.0.lock().unwrap().parser)
    }

    /// Waits until this was written, seen or not, and gives all of it.
    #[track_caller]
    pub(crate) fn writes(&self, text: &str) -> String {
        let since = Instant::now();
        loop {
            let written = String::from_utf8_lossy(&self.bytes()).into_owned();
            if written.contains(text) {
                return written;
            }
            assert!(since.elapsed() < PATIENCE, "{text:?} is not written");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// All that was written so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap().bytes.clone()
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Types a line into the composer, once what was typed is there sends it.
    pub(crate) fn say(&mut self, text: &str) {
        self.keys(text);
        let end: String =
            text.chars().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect();
        self.shows(end.trim());
        self.keys("\r");
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.keys(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    }

    pub(crate) fn resize(&mut self, columns: u16, lines: u16) {
        let size = PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.seen.0.lock().unwrap().parser.screen_mut().set_size(lines, columns);
        self.master.resize(size).unwrap();
    }

    /// The device that the binary runs on.
    pub(crate) fn terminal(&self) -> String {
        self.master.tty_name().unwrap().display().to_string()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits until it has ended; gives its exit code and all that it wrote.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (u32, String) {
        let since = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.exit_code();
            }
            assert!(since.elapsed() < PATIENCE, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut seen = self.seen.0.lock().unwrap();
        while !seen.over && since.elapsed() < PATIENCE {
            seen = self.seen.1.wait_timeout(seen, Duration::from_millis(100)).unwrap().0;
        }
        let text = String::from_utf8_lossy(&seen.bytes).into_owned();
        drop(seen);
        (code, text)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// How long a process has computed.
pub(crate) fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
