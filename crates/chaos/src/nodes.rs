//! Nodes: `signoff serve`, several of them, on one database.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use signoff_testkit::Process;

const WORKFLOW: &str = "workflow: chaos
pattern: sequential
sequential: { agents: [worker] }
agents:
  worker: { instructions: Act and ask., tools: [http_request, request_user_input] }
";
/// Acts, asks, acts, asks, and says what it was told.
const SCRIPT: &str = r#"- turn: 1
  delay: 150ms
  call: [{ tool: http_request, arguments: { method: POST, url: "PEER", json: { conversation: "{{ input }}", step: 1 } } }]
- turn: 2
  call: [{ tool: request_user_input, arguments: { prompt: First?, request_type: clarification } }]
- turn: 3
  delay: 150ms
  call: [{ tool: http_request, arguments: { method: POST, url: "PEER", json: { conversation: "{{ input }}", step: 2 } } }]
- turn: 4
  call: [{ tool: request_user_input, arguments: { prompt: Second?, request_type: clarification } }]
- turn: 5
  delay: 100ms
  text: "{{ answers[0].result.answer }} {{ answers[1].result.answer }}"
"#;
const CONFIGURATION: &str = "[tools.http]\nallow_private = true\nallow_plain = true\n";

/// A folder with the workflow, and the program to start there.
#[derive(Debug)]
pub(crate) struct Place {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Place {
    /// A new folder for nodes that act at `peer`.
    pub(crate) fn new(program: &Path, peer: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        std::fs::create_dir(folder.path().join("flows")).unwrap();
        write("flows/chaos.yaml", WORKFLOW);
        write("flows/chaos.script.yaml", &SCRIPT.replace("PEER", peer));
        write("signoff.toml", CONFIGURATION);
        Self { folder, program: program.to_owned() }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A node, to be started. `before` are words in front of the command.
    pub(crate) fn command(&self, before: &[&str], more: &[&str]) -> Command {
        let mut words = before.to_vec();
        let program = self.program.display().to_string();
        words.push(&program);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["serve", "--addr", "127.0.0.1:0"]);
        command.args(["--workflows", "flows", "--config", "signoff.toml"]).args(more);
        command.current_dir(self.folder.path()).process_group(0);
        for (name, _) in std::env::vars() {
            if name.starts_with("SIGNOFF") || name.starts_with("OTEL") || name.starts_with("PG") {
                command.env_remove(name);
            }
        }
        command
    }
}

/// A node that was started. Its address, and the name of its process in the database.
#[derive(Debug)]
struct Node {
    process: Option<Process>,
    url: String,
}

/// All nodes. Any of them can be killed while others are used.
#[derive(Debug)]
pub(crate) struct Nodes(Vec<Mutex<Node>>);

impl Nodes {
    /// Places for so many nodes, none of which runs yet.
    pub(crate) fn new(count: usize) -> Self {
        let none = || Mutex::new(Node { process: None, url: "http://127.0.0.1:1".to_owned() });
        Self((0..count).map(|_| none()).collect())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Where one of them is, counted round.
    pub(crate) fn url(&self, n: usize) -> String {
        self.0[n % self.0.len()].lock().unwrap().url.clone()
    }

    /// Starts one. None, if it ended before it listened: what it said.
    pub(crate) fn start(&self, n: usize, command: &mut Command) -> Result<(), String> {
        let mut process = Process::start(command);
        let Some(line) = process.line() else { return Err(process.wait().stderr) };
        let url = line.strip_prefix("signoff listens on ").unwrap_or_else(|| panic!("{line}"));
        let mut node = self.0[n].lock().unwrap();
        url.clone_into(&mut node.url);
        node.process = Some(process);
        Ok(())
    }

    /// The id of its process.
    pub(crate) fn id(&self, n: usize) -> Option<u32> {
        self.0[n].lock().unwrap().process.as_ref().map(Process::id)
    }

    /// Kills one.
    pub(crate) fn kill(&self, n: usize) {
        let process = self.0[n].lock().unwrap().process.take();
        if let Some(process) = process {
            let ended = process.kill();
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        }
    }

    /// Stops one where it stands.
    pub(crate) fn freeze(&self, n: usize) {
        if let Some(process) = &self.0[n].lock().unwrap().process {
            process.stop();
        }
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self, n: usize) {
        if let Some(process) = &self.0[n].lock().unwrap().process {
            process.go_on();
        }
    }

    /// Asks one to end, and waits for that. What it said.
    pub(crate) fn end(&self, n: usize) -> String {
        let process = self.0[n].lock().unwrap().process.take();
        let Some(process) = process else { return String::new() };
        process.terminate();
        process.wait().exits(0).stderr
    }
}
