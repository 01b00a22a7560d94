//! A server in a folder of its own, and a client of it.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use signoff_testkit::process::{Ended, PATIENCE, Process};

pub(crate) const PARTY: &str = "Plan a party for 30 people";
pub(crate) const COMPLETE: &str = "Plan a corporate team building event for 30 people, budget $3000, downtown Seattle, \
     Friday evening in 3 weeks, vegetarian and gluten-free options required";

/// A folder with data and workflows.
#[derive(Clone)]
pub(crate) struct Place {
    folder: Arc<tempfile::TempDir>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: Arc::new(tempfile::tempdir().unwrap()) };
        std::fs::create_dir(place.path("flows")).unwrap();
        let ask = "workflow: ask\npattern: graph\nstart: ask\nexecutors:\n  ask: { ask: { prompt: Well?, kind: approval } }\n";
        std::fs::write(place.path("flows/ask.yaml"), ask).unwrap();
        let late = "workflow: late\npattern: graph\nstart: ask\nexecutors:\n  ask: { ask: { prompt: Quick?, within: 200ms } }\n";
        std::fs::write(place.path("flows/late.yaml"), late).unwrap();
        let then = "workflow: then\npattern: graph\nstart: ask\nexecutors:\n  ask: { ask: { prompt: Well?, kind: approval } }\n\
                    agents:\n  a: { instructions: Wait. }\nedges:\n  - { from: ask, to: a }\n";
        std::fs::write(place.path("flows/then.yaml"), then).unwrap();
        std::fs::write(place.path("flows/then.script.yaml"), "- { text: done, delay: 30s }\n")
            .unwrap();
        let slow = "workflow: slow\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Wait. }\n";
        std::fs::write(place.path("flows/slow.yaml"), slow).unwrap();
        std::fs::write(place.path("flows/slow.script.yaml"), "- { text: done, delay: 1500ms }\n")
            .unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signoff"));
        command.args(args).args(["--workflows", "flows"]).current_dir(self.folder.path());
        let ours = |name: &str| name.starts_with("SIGNOFF") || name.starts_with("OTEL");
        for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    pub(crate) fn serve_with(&self, more: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", more)
    }

    pub(crate) fn serve_at(&self, address: &str, more: &[&str]) -> Server {
        self.start(address, &[], more)
    }

    /// A server with these environment variables.
    pub(crate) fn serve_in(&self, env: &[(&str, &str)], more: &[&str]) -> Server {
        self.start("127.0.0.1:0", env, more)
    }

    fn start(&self, address: &str, env: &[(&str, &str)], more: &[&str]) -> Server {
        let args = [&["serve", "--addr", address], more].concat();
        let mut process = Process::start(self.command(&args).envs(env.iter().copied()));
        let Some(line) = process.line() else { panic!("it ended: {:?}", process.wait()) };
        let url = line.strip_prefix("signoff listens on ").unwrap().to_owned();
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        Server { process, client: Client { url, http }, _place: self.clone() }
    }
}

/// A server that runs. Killed when dropped.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) client: Client,
    // The folder stays as long as its server.
    _place: Place,
}

impl Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Server {
    pub(crate) fn stop(self) -> Ended {
        self.process.terminate();
        self.process.wait()
    }
}

/// A client of a server.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) url: String,
    http: reqwest::Client,
}

impl Client {
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// What is there, which must be.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let (status, value) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        answer(self.request(Method::POST, path).json(body).send().await.unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        answer(self.request(Method::DELETE, path).send().await.unwrap()).await
    }

    /// Starts a run and gives its id.
    pub(crate) async fn start(&self, workflow: &str, input: &str) -> String {
        let body = json!({ "workflow": workflow, "input": input });
        let (status, run) = self.post("/v1/runs", &body).await;
        assert_eq!(status, 201, "{run}");
        text(&run["id"])
    }

    /// The run once it waits for people or is over.
    pub(crate) async fn at_rest(&self, run: &str) -> Value {
        let since = Instant::now();
        loop {
            let found = self.read(&format!("/v1/runs/{run}")).await;
            if found["status"] != "running" {
                return found;
            }
            assert!(since.elapsed() < PATIENCE, "it does not rest: {found}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The one request that waits in a run.
    pub(crate) async fn pending(&self, run: &str) -> String {
        let found = self.at_rest(run).await;
        assert_eq!(found["pending"].as_array().unwrap().len(), 1, "{found}");
        text(&found["pending"][0])
    }

    pub(crate) async fn decide(&self, request: &str, decision: &Value) -> (u16, Value) {
        self.post(&format!("/v1/requests/{request}/decision"), decision).await
    }

    /// Answers all three questions of the event planner.
    pub(crate) async fn answer_party(&self, run: &str) -> Value {
        for decision in [
            json!({ "decision": "respond", "content": "The Glasshouse" }),
            json!({ "decision": "approve" }),
            json!({ "decision": "respond", "content": "vegan" }),
        ] {
            let request = self.pending(run).await;
            let (status, decided) = self.decide(&request, &decision).await;
            assert_eq!((status, &decided["status"]), (200, &json!("decided")), "{decided}");
        }
        self.at_rest(run).await
    }

    /// All entries of a journal, page by page.
    pub(crate) async fn journal(&self, run: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.read(&format!("/v1/runs/{run}/journal?limit=7{cursor}")).await;
            all.extend(page["data"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }

    /// All events of a response, as what is sent or asked for answers it. They must come to their end.
    pub(crate) async fn told(&self, request: RequestBuilder) -> Vec<Value> {
        let response = request.send().await.unwrap();
        let (status, body) = (response.status(), response.text().await.unwrap());
        assert_eq!(status, StatusCode::OK, "{body}");
        let data: Vec<&str> = body.lines().filter_map(|it| it.strip_prefix("data: ")).collect();
        let (last, events) = data.split_last().unwrap();
        assert_eq!(*last, "[DONE]", "{body}");
        let events: Vec<Value> =
            events.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], number, "no gap, no repeat: {event}");
        }
        events
    }

    /// The events that a body posted to `path` leads to.
    pub(crate) async fn tells(&self, path: &str, body: &Value) -> Vec<Value> {
        self.told(self.request(Method::POST, path).json(body)).await
    }

    pub(crate) async fn stream(&self, run: &str, after: Option<u64>) -> Stream {
        let mut request = self.request(Method::GET, &format!("/v1/runs/{run}/events"));
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Stream { response, buffer: String::new() }
    }
}

async fn answer(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let body = response.text().await.unwrap();
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text")).to_owned()
}

/// A stream of events.
pub(crate) struct Stream {
    response: Response,
    buffer: String,
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<u64>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Stream {
    /// Begins to read what is streamed there.
    pub(crate) async fn open(server: &Client, path: &str) -> Self {
        let response = server.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Self { response, buffer: String::new() }
    }

    /// The next event; none when the stream has ended or broke.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let rest = self.buffer.split_off(end + 2);
                let frame = std::mem::replace(&mut self.buffer, rest);
                if frame.contains("data: ") {
                    return Some(event(&frame));
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.buffer.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next entry.
    pub(crate) async fn entry(&mut self) -> Option<Event> {
        loop {
            let event = self.next().await?;
            if event.name == "entry" {
                return Some(event);
            }
        }
    }

    /// Entries up to the first of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Event> {
        let mut seen = Vec::new();
        while let Some(event) = self.entry().await {
            let last = event.data["type"] == kind;
            seen.push(event);
            if last {
                return seen;
            }
        }
        panic!("it ended before {kind}: {seen:?}");
    }
}

fn event(frame: &str) -> Event {
    let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
    Event {
        id: field("id: ").map(|id| id.parse().unwrap()),
        name: field("event: ").unwrap().to_owned(),
        data: serde_json::from_str(field("data: ").unwrap()).unwrap(),
    }
}
