//! An MCP client of the reference libraries, steered by a test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::peers::{cache, install};
use signoff_testkit::process::{PATIENCE, Process};

use crate::support::{Place, Server, text};

/// The folder with the libraries, a newer node and the script.
pub(crate) fn installed() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/mcp");
    let folder = cache("mcp-clients");
    for file in ["package.json", "client.mjs"] {
        std::fs::copy(here.join(file), folder.join(file)).unwrap();
    }
    let done = folder.join("node_modules/@modelcontextprotocol/client");
    install(&folder, &done, &["npm", "install", "--no-audit", "--no-fund"]);
    folder
}

/// A program of that folder, run by the newer node.
pub(crate) fn node(folder: &Path) -> Command {
    Command::new(folder.join("node_modules/.bin/node"))
}

/// A client that is connected.
pub(crate) struct Mcp {
    process: Process,
    next: u32,
    /// What was told and not asked for yet.
    told: Vec<Value>,
    pub(crate) ready: Value,
}

/// How a client comes in.
pub(crate) fn over_http(server: &Server) -> Value {
    json!({ "url": format!("{}/mcp", server.url) })
}

/// The same over a pipe, to a process of its own.
pub(crate) fn over_stdio(place: &Place, more: &[&str]) -> Value {
    let args = [&["mcp", "--workflows", "flows"], more].concat();
    json!({ "command": env!("CARGO_BIN_EXE_signoff"), "args": args, "cwd": place.path("") })
}

/// These settings and those.
pub(crate) fn with(mut settings: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more} is not an object") };
    settings.as_object_mut().unwrap().extend(more);
    settings
}

impl Mcp {
    /// Connects, or tells why it was refused.
    pub(crate) fn try_connect(settings: &Value) -> Result<Self, Value> {
        let folder = installed();
        let mut command = node(&folder);
        command.arg(folder.join("client.mjs")).arg(settings.to_string()).current_dir(&folder);
        let mut process = Process::start(&mut command);
        let ready = process.json_until(|it| it["event"] == "ready" || it["event"] == "refused");
        if ready["event"] == "refused" {
            return Err(ready);
        }
        Ok(Self { process, next: 0, told: Vec::new(), ready })
    }

    pub(crate) fn connect(settings: &Value) -> Self {
        Self::try_connect(settings).unwrap_or_else(|refused| panic!("{settings}: {refused}"))
    }

    /// Begins something; its number.
    pub(crate) fn begin(&mut self, operation: Value) -> u32 {
        self.next += 1;
        self.process.say(&with(operation, json!({ "id": self.next })).to_string());
        self.next
    }

    /// Begins a call.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> u32 {
        let mut operation = json!({ "op": "call", "name": name });
        operation["arguments"] = arguments;
        self.begin(operation)
    }

    /// The next thing that is told and that `wanted` likes. What is told before stays.
    pub(crate) fn told(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.told.iter().position(&wanted) {
            return self.told.remove(at);
        }
        loop {
            let value = self.process.json();
            if wanted(&value) {
                return value;
            }
            self.told.push(value);
        }
    }

    /// How something that was begun ended.
    pub(crate) fn end(&mut self, id: u32) -> Value {
        let ends = [json!("result"), json!("error")];
        self.told(move |it| it["id"] == id && ends.contains(&it["event"]))
    }

    /// The structured result of a call, which must not be an error.
    #[track_caller]
    pub(crate) fn result(&mut self, id: u32) -> Value {
        let end = self.end(id);
        assert_eq!(end["event"], "result", "{end}");
        assert_ne!(end["result"]["isError"], true, "{end}");
        let said = text(&end["result"]["content"][0]["text"]);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said, end["result"]["structuredContent"], "the text says the same");
        said
    }

    /// The error that a tool told its model.
    #[track_caller]
    pub(crate) fn refusal(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.call(name, arguments);
        let end = self.end(id);
        assert_eq!(end["result"]["isError"], true, "{end}");
        end["result"]["structuredContent"]["error"].clone()
    }

    /// Calls and waits for the result.
    #[track_caller]
    pub(crate) fn get(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.call(name, arguments);
        self.result(id)
    }

    /// What the user of the client says to the next form.
    pub(crate) fn user_says(&mut self, action: &str, content: Option<Value>) {
        let mut said = json!({ "op": "answer", "action": action });
        said["content"] = content.unwrap_or_default();
        self.process.say(&said.to_string());
    }

    /// The next form that the user of the client is shown.
    pub(crate) fn form(&mut self) -> Value {
        self.told(|it| it["event"] == "elicit")["params"].clone()
    }

    /// Whether something was told.
    pub(crate) fn has_told(&self, event: &str) -> bool {
        self.told.iter().any(|it| it["event"] == event)
    }

    pub(crate) fn kill(self) {
        self.process.kill();
    }
}

/// What a command in the place prints.
#[track_caller]
pub(crate) fn run(place: &Place, args: &[&str]) -> String {
    let output = place.command(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What waits in the place, as soon as there is so much of it.
pub(crate) fn waiting(place: &Place, count: usize) -> Vec<Value> {
    let since = Instant::now();
    loop {
        let said = run(place, &["inbox", "list", "--json"]);
        let found: Vec<Value> =
            said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        if found.len() == count {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "{found:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A person answers.
#[track_caller]
pub(crate) fn answer(place: &Place, request: &Value, said: &str) {
    run(place, &["inbox", "answer", request["id"].as_str().unwrap(), said]);
}
