//! A terminal client as `qlaw-cli` is one: the same bytes on the wire, and what it shows of what comes back,
//! with all that leaks through. It shows text that no other client would: any event it does not know, if
//! that has `delta`, `text` or `content` at its top.

use std::fmt::Write as _;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::Client;

/// A terminal.
#[derive(Clone)]
pub(crate) struct Qlaw {
    server: Client,
    /// What is set as the address of the bridge, without the server.
    base: String,
    model: String,
    /// What it sends as `Authorization`, if there is a name in the address.
    basic: Option<(String, String)>,
}

/// An answer as it comes.
pub(crate) struct Coming {
    response: Response,
    buffer: String,
    event: Option<String>,
    /// What the person sees.
    pub(crate) shown: String,
    /// The events, for checks that a person cannot make.
    pub(crate) events: Vec<Value>,
}

impl Qlaw {
    pub(crate) fn new(server: &Client, base: &str, model: &str) -> Self {
        Self { server: server.clone(), base: base.into(), model: model.into(), basic: None }
    }

    pub(crate) fn with_name(mut self, name: &str, word: &str) -> Self {
        self.basic = Some((name.into(), word.into()));
        self
    }

    /// The same terminal, connected to another server.
    pub(crate) fn at(mut self, server: &Client) -> Self {
        self.server = server.clone();
        self
    }

    /// Sends a text and does not wait for the answer.
    pub(crate) async fn send(&self, text: &str) -> Coming {
        let url = format!("{}/v1/responses", self.base.strip_suffix('/').unwrap_or(&self.base));
        let body = json!({ "model": self.model, "input": text, "stream": true });
        let mut request = self
            .server
            .request(Method::POST, &url)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .header("user-agent", "Bun/1.4.4")
            .header("accept-encoding", "gzip, deflate, br, zstd")
            .body(body.to_string());
        if let Some((name, word)) = &self.basic {
            request = request.basic_auth(name, Some(word));
        }
        let response = request.send().await.unwrap();
        let (buffer, shown) = (String::new(), String::new());
        Coming { response, buffer, event: None, shown, events: Vec::new() }
    }

    /// Sends a text and gives what the person sees when the turn is over.
    pub(crate) async fn say(&self, text: &str) -> String {
        self.send(text).await.rest().await
    }
}

impl Coming {
    /// What is seen at the end of the turn, which is the end of the body.
    pub(crate) async fn rest(mut self) -> String {
        self.run_out().await;
        self.shown
    }

    pub(crate) async fn run_out(&mut self) {
        let status = self.response.status();
        if !status.is_success() {
            let mut body = String::new();
            while let Ok(Some(chunk)) = self.response.chunk().await {
                body.push_str(&String::from_utf8_lossy(&chunk));
            }
            let reason = status.canonical_reason().unwrap_or_default();
            let _ = write!(self.shown, "[Error] HTTP {} {reason} - {body}", status.as_u16());
            return;
        }
        while self.read_some().await {}
        let rest = std::mem::take(&mut self.buffer);
        rest.lines().for_each(|line| self.line(line));
    }

    /// Reads until the person sees this.
    pub(crate) async fn until(&mut self, wanted: &str) {
        while !self.shown.contains(wanted) {
            assert!(self.read_some().await, "it ended before `{wanted}`: {}", self.shown);
        }
    }

    /// Reads what has come; false when the body has ended or broke.
    async fn read_some(&mut self) -> bool {
        let Ok(Some(chunk)) = self.response.chunk().await else { return false };
        self.buffer.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some(end) = self.buffer.find('\n') {
            let rest = self.buffer.split_off(end + 1);
            let line = std::mem::replace(&mut self.buffer, rest);
            self.line(line.trim_end_matches(['\r', '\n']));
        }
        true
    }

    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("event:") {
            self.event = Some(name.trim().to_owned());
        } else if let Some(data) = line.strip_prefix("data:") {
            // Each line of data is read on its own; what is no JSON is dropped.
            if data.trim() == "[DONE]" {
                self.event = None;
            } else if let Ok(payload) = serde_json::from_str::<Value>(data.trim()) {
                self.take(&payload);
                self.events.push(payload);
            }
        } else if line.trim().is_empty() {
            self.event = None;
        }
    }

    /// The order of these checks is the client's.
    fn take(&mut self, payload: &Value) {
        let name = self.event.as_deref().unwrap_or_default();
        let kind = payload["type"].as_str().unwrap_or_default();
        let text = ["delta", "text", "content"].iter().find_map(|field| payload[field].as_str());
        if name == "response.trace.complete" || kind == "response.trace.complete" {
            self.request_info(payload);
        } else if name == "response.error" {
            self.error(payload["error"]["message"].as_str().or(payload["message"].as_str()));
        } else if ["response.output_text.delta", "message.delta", "response.delta"].contains(&name)
        {
            self.shown.push_str(text.unwrap_or_default());
        } else if name == "response.completed" {
            self.event = None;
        } else if kind == "error" {
            self.error(payload["message"].as_str());
        } else {
            // The leak.
            self.shown.push_str(text.unwrap_or_default());
        }
    }

    fn error(&mut self, message: Option<&str>) {
        let _ = write!(self.shown, "[Error] {}", message.unwrap_or("Unknown error"));
    }

    fn request_info(&mut self, payload: &Value) {
        let data = &payload["data"];
        if data["trace_type"] != "workflow_info" || data["event_type"] != "RequestInfoEvent" {
            return;
        }
        let inner = &data["data"]["request_info"];
        let info = if inner.is_object() { inner } else { &payload["request_info"] };
        if info["request_id"].as_str().is_none_or(str::is_empty) {
            return;
        }
        let mut text = info["data"]["prompt"].as_str().unwrap_or_default().to_owned();
        let said = info["data"]["conversation"].as_array().cloned().unwrap_or_default();
        if !said.is_empty() {
            text.push_str("\n\nRecent messages:");
            for message in said.iter().rev().take(5).rev() {
                let who = message["author_name"].as_str().or(message["role"].as_str());
                let _ = write!(text, "\n- {}: {}", who.unwrap_or_default(), message["text"]);
            }
        }
        if !text.is_empty() {
            let _ = write!(self.shown, "\n\n{text}");
        }
    }
}
