//! A client of A2A that speaks JSON-RPC or HTTP, for tests that look at what is on the wire.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{Client, Place, Server, text};

/// How it is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Rpc,
    Rest,
}

pub(crate) const BINDINGS: [Binding; 2] = [Binding::Rpc, Binding::Rest];

/// A folder with the workflow that does what the kits want.
pub(crate) fn place() -> Place {
    let place = Place::new();
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/a2a");
    for file in ["kit.yaml", "kit.script.yaml"] {
        std::fs::copy(from.join(file), place.path(&format!("flows/{file}"))).unwrap();
    }
    let two = "workflow: two\npattern: graph\nstart: both\nexecutors:\n  both: { transform: input }\n  \
               left: { ask: { prompt: 'Left?', kind: approval } }\n  right: { ask: { prompt: 'Right?', kind: approval } }\n  \
               end: { transform: '\"done\"' }\nedges:\n  - { from: both, to: left }\n  - { from: both, to: right }\n  \
               - { from: [left, right], to: end }\n";
    std::fs::write(place.path("flows/two.yaml"), two).unwrap();
    let whole = "workflow: whole\npattern: graph\nstart: part\nexecutors:\n  part: { workflow: ask }\n  \
                 end: { transform: '\"whole\"' }\nedges:\n  - { from: part, to: end }\n";
    std::fs::write(place.path("flows/whole.yaml"), whole).unwrap();
    place
}

/// An agent, and how it is spoken to.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) client: Client,
    pub(crate) workflow: String,
    pub(crate) binding: Binding,
    pub(crate) token: Option<String>,
}

/// What comes back: a result, or an error with its code in JSON-RPC and its reason.
pub(crate) type Answer = Result<Value, (i64, String, Value)>;

impl Agent {
    pub(crate) fn of(server: &Server, workflow: &str, binding: Binding) -> Self {
        let (client, workflow) = (server.client.clone(), workflow.to_owned());
        Self { client, workflow, binding, token: None }
    }

    pub(crate) fn with(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// Sends a request as it is.
    pub(crate) async fn raw(&self, method: &str, params: &Value) -> Response {
        let base = format!("/a2a/{}", self.workflow);
        let id = text_or(&params["id"]);
        let request = if self.binding == Binding::Rpc {
            let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
            self.client.request(Method::POST, &base).json(&body)
        } else {
            let at = |verb: Method, path: &str| self.client.request(verb, &format!("{base}{path}"));
            match method {
                "SendMessage" => at(Method::POST, "/message:send").json(params),
                "SendStreamingMessage" => at(Method::POST, "/message:stream").json(params),
                "GetTask" => at(Method::GET, &format!("/tasks/{id}?{}", rest(params))),
                "ListTasks" => at(Method::GET, &format!("/tasks?{}", rest(params))),
                "CancelTask" => at(Method::POST, &format!("/tasks/{id}:cancel")),
                "SubscribeToTask" => at(Method::GET, &format!("/tasks/{id}:subscribe")),
                "CreateTaskPushNotificationConfig" => {
                    let task = text_or(&params["taskId"]);
                    let path = format!("/tasks/{task}/pushNotificationConfigs");
                    at(Method::POST, &path).json(params)
                }
                "ListTaskPushNotificationConfigs" => {
                    let task = text_or(&params["taskId"]);
                    at(Method::GET, &format!("/tasks/{task}/pushNotificationConfigs"))
                }
                "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
                    let task = text_or(&params["taskId"]);
                    let get = method.starts_with("Get");
                    let verb = if get { Method::GET } else { Method::DELETE };
                    at(verb, &format!("/tasks/{task}/pushNotificationConfigs/{id}"))
                }
                "GetExtendedAgentCard" => at(Method::GET, "/extendedAgentCard"),
                other => panic!("{other}"),
            }
        };
        let request = request.header("a2a-version", "1.0");
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.unwrap()
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Answer {
        let response = self.raw(method, &params).await;
        let body = response.text().await.unwrap();
        self.result(serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}")))
    }

    fn result(&self, body: Value) -> Answer {
        let (error, details) = match self.binding {
            Binding::Rpc => {
                assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(7)), "{body}");
                (&body["error"], "data")
            }
            Binding::Rest => (&body["error"], "details"),
        };
        if !error.is_null() {
            let info = &error[details][0];
            assert_eq!(info["domain"], "a2a-protocol.org", "{body}");
            let code = match self.binding {
                Binding::Rpc => error["code"].as_i64().unwrap(),
                Binding::Rest => code(&info["reason"]),
            };
            return Err((code, text(&info["reason"]), error.clone()));
        }
        Ok(if self.binding == Binding::Rpc { body["result"].clone() } else { body })
    }

    /// Sends a text and waits for what comes of it, which must be a task.
    pub(crate) async fn send(&self, message: Value) -> Value {
        let sent = self.call("SendMessage", json!({ "message": message })).await;
        let sent = sent.unwrap_or_else(|why| panic!("{why:?}"));
        assert!(sent["task"].is_object(), "{sent}");
        sent["task"].clone()
    }

    pub(crate) async fn refused(&self, message: Value) -> (i64, Value) {
        let sent = self.call("SendMessage", json!({ "message": message })).await;
        let (code, _, error) = sent.unwrap_err();
        (code, error)
    }

    pub(crate) async fn get(&self, task: &str) -> Value {
        self.call("GetTask", json!({ "id": task })).await.unwrap_or_else(|why| panic!("{why:?}"))
    }

    /// All events of a stream. It must come to its end.
    pub(crate) async fn events(&self, method: &str, params: Value) -> Vec<Value> {
        let mut stream = self.stream(method, params).await;
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        events
    }

    pub(crate) async fn stream(&self, method: &str, params: Value) -> Events {
        let response = self.raw(method, &params).await;
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind, "text/event-stream", "{method} {params}");
        Events { agent: self.clone(), response, buffer: String::new() }
    }
}

fn text_or(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Parameters as a query. What tests send needs no escapes.
fn rest(params: &Value) -> String {
    let fields = params.as_object().unwrap().iter().filter(|(name, _)| *name != "id");
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs: Vec<String> =
        fields.map(|(name, value)| format!("{name}={}", plain(value))).collect();
    pairs.join("&")
}

/// The code in JSON-RPC that goes with a reason.
fn code(reason: &Value) -> i64 {
    match reason.as_str().unwrap() {
        "TASK_NOT_FOUND" => -32001,
        "TASK_NOT_CANCELABLE" => -32002,
        "PUSH_NOTIFICATION_NOT_SUPPORTED" => -32003,
        "UNSUPPORTED_OPERATION" => -32004,
        "CONTENT_TYPE_NOT_SUPPORTED" => -32005,
        "VERSION_NOT_SUPPORTED" => -32009,
        "PARSE_ERROR" => -32700,
        "METHOD_NOT_FOUND" => -32601,
        "INVALID_PARAMS" => -32602,
        other => panic!("{other}"),
    }
}

/// A stream of a task.
pub(crate) struct Events {
    agent: Agent,
    response: Response,
    buffer: String,
}

impl Events {
    /// The next event; none when the stream has ended or broke.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let rest = self.buffer.split_off(end + 2);
                let frame = std::mem::replace(&mut self.buffer, rest);
                if let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) {
                    let body = serde_json::from_str(data).unwrap();
                    return Some(self.agent.result(body).unwrap_or_else(|why| panic!("{why:?}")));
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.buffer.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// A message with a text.
pub(crate) fn message(id: &str, says: &str) -> Value {
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": says }] })
}

/// A message with a text to a task.
pub(crate) fn reply(task: &Value, id: &str, says: &str) -> Value {
    let mut message = message(id, says);
    message["taskId"] = task["id"].clone();
    message
}

/// How a task, or what a stream says of it, stands.
pub(crate) fn state(of: &Value) -> &str {
    let status = if of["statusUpdate"].is_object() {
        &of["statusUpdate"]["status"]
    } else if of["task"].is_object() {
        &of["task"]["status"]
    } else {
        &of["status"]
    };
    let state = status["state"].as_str().unwrap_or_default();
    state.strip_prefix("TASK_STATE_").unwrap_or(state)
}

/// The ids of what was said.
pub(crate) fn history(task: &Value) -> Vec<String> {
    let all = task["history"].as_array().cloned().unwrap_or_default();
    all.iter().map(|message| text(&message["messageId"])).collect()
}
