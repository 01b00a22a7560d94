//! Any endpoint that speaks OpenAI's Responses, as a chat; and bridges to workflows that speak it too.
//!
//! A plain endpoint is sent everything that was said. As soon as something asks for a person (a `RequestInfoEvent`), the
//! endpoint is a workflow's: answers are sent to the request, and only new text with a message.

mod asked;

use std::time::Duration;

use serde_json::{Value, json};
use signoff_net::{Client, Method};

use crate::address::{Address, segment};
use crate::error::ClientError;
use crate::server::refused;
use crate::stream::{Next, Opened, streaming};
use asked::{asked, requested};

pub use asked::Asked;

/// How long an endpoint may say nothing: it owes nobody a sign that it is there, and a model may think.
const THINKING: Duration = Duration::from_mins(10);

/// An endpoint of Responses.
#[derive(Clone, Debug)]
pub struct Endpoint {
    address: Address,
    model: String,
    streams: Client,
    /// Where the routes begin, after the address.
    prefix: &'static str,
    workflow: bool,
    /// Whether it was one from the beginning.
    bridge: bool,
    conversation: Option<String>,
    history: Vec<Value>,
}

/// What comes of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// More of the answer.
    Text(String),
    /// A person is asked.
    Asked(Box<Asked>),
    /// Something happened in a workflow.
    Event(String),
    /// It failed.
    Failed(String),
    /// Something that this client does not know. It goes on.
    Strange(String),
    /// The turn is over.
    End,
}

/// A turn under way.
#[derive(Debug)]
pub struct Turn {
    stream: Opened,
    /// The conversation, once it was said.
    pub conversation: Option<String>,
    /// What was answered so far.
    pub text: String,
    over: bool,
}

impl Endpoint {
    /// A plain endpoint: `OPENAI_BASE_URL`, with its key.
    pub fn plain(base: &str, key: Option<&str>, model: &str) -> Result<Self, ClientError> {
        Self::new(base, key, model, "", false)
    }

    /// A bridge to workflows: `AF_BRIDGE_BASE_URL`.
    pub fn bridge(base: &str, model: &str) -> Result<Self, ClientError> {
        Self::new(base, None, model, "/v1", true)
    }

    fn new(
        base: &str,
        key: Option<&str>,
        model: &str,
        prefix: &'static str,
        workflow: bool,
    ) -> Result<Self, ClientError> {
        let base = base.trim_end_matches('/').trim_end_matches("/responses");
        Ok(Self {
            address: Address::new(base, key)?,
            model: model.to_owned(),
            streams: streaming(THINKING)?,
            prefix,
            workflow,
            bridge: workflow,
            conversation: None,
            history: Vec::new(),
        })
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The model, or the workflow.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Whether there is a workflow behind it.
    pub fn is_workflow(&self) -> bool {
        self.workflow
    }

    /// Sends a message.
    pub async fn send(&mut self, text: &str) -> Result<Turn, ClientError> {
        self.history.push(json!({ "role": "user", "content": text }));
        let input = if self.workflow { text.into() } else { Value::from(self.history.clone()) };
        let mut body = json!({ "model": self.model, "input": input, "stream": true });
        if self.workflow
            && let Some(conversation) = &self.conversation
        {
            body["conversation"] = conversation.as_str().into();
        }
        self.open(&format!("{}/responses", self.prefix), &body).await
    }

    /// Answers a question.
    pub async fn answer(&mut self, id: &str, content: &Value) -> Result<Turn, ClientError> {
        let path = format!("{}/workflows/{}/send_responses", self.prefix, segment(&self.model));
        let mut body = json!({ "responses": { id: content }, "stream": true });
        if let Some(conversation) = &self.conversation {
            body["conversation"] = conversation.as_str().into();
        }
        match self.open(&path, &body).await {
            // A bridge without that route takes the next text as the answer.
            Err(ClientError::Refused(why))
                if matches!(why.status, 404 | 405) && why.code != "unknown_request" =>
            {
                let text = content.as_str().map_or_else(|| content.to_string(), Into::into);
                self.send(&text).await
            }
            other => other,
        }
    }

    /// Keeps what came of a turn.
    pub fn took(&mut self, turn: &Turn) {
        if !turn.text.is_empty() {
            self.history.push(json!({ "role": "assistant", "content": turn.text }));
        }
        if turn.conversation.is_some() {
            self.conversation.clone_from(&turn.conversation);
        }
    }

    /// Something asked for a person: it is a workflow from now on.
    pub fn turn_to_workflow(&mut self) {
        self.workflow = true;
    }

    /// Forgets what was said: what comes next begins anew.
    pub fn forget(&mut self) {
        (self.workflow, self.conversation) = (self.bridge, None);
        self.history.clear();
    }

    async fn open(&self, path: &str, body: &Value) -> Result<Turn, ClientError> {
        let request = self.address.request(Method::POST, path, Some(body))?;
        let response = self.streams.send(request).await?;
        let status = response.status().as_u16();
        if status != 200 {
            let body = response.beginning(64 * 1024).await;
            return Err(refused(status, &serde_json::from_slice(&body).unwrap_or_default()));
        }
        let conversation = self.conversation.clone();
        Ok(Turn { stream: Opened::new(response), conversation, text: String::new(), over: false })
    }
}

impl Turn {
    /// What comes next. After `End` it is `End` again.
    pub async fn next(&mut self) -> Said {
        loop {
            if self.over {
                return Said::End;
            }
            match self.stream.next().await {
                Next::Event(name, data) => {
                    if let Some(said) = self.read(&name, &data) {
                        return said;
                    }
                }
                Next::Garbage(text) => {
                    return Said::Strange(format!("something that is not JSON: {text}"));
                }
                Next::End => self.over = true,
                Next::Broke(problem) => {
                    self.over = true;
                    return Said::Failed(format!("the answer broke off: {problem}"));
                }
            }
        }
    }

    fn read(&mut self, name: &str, data: &Value) -> Option<Said> {
        let kind = data["type"].as_str().unwrap_or(name);
        let text = |at: &str| data.pointer(at).and_then(Value::as_str).map(ToOwned::to_owned);
        match kind {
            "[DONE]" => {
                self.over = true;
                None
            }
            "response.created" | "response.in_progress" => {
                let id =
                    text("/response/conversation/id").or_else(|| text("/response/conversation"));
                self.conversation = id.or(self.conversation.take());
                None
            }
            "response.output_text.delta" => {
                let delta = text("/delta")?;
                self.text.push_str(&delta);
                Some(Said::Text(delta))
            }
            "response.trace.complete" | "response.trace.completed" => {
                let asks = data["data"]["event_type"] == "RequestInfoEvent";
                asks.then(|| asked(data)).flatten().map(|asked| Said::Asked(Box::new(asked)))
            }
            "response.request_info.requested" => Some(Said::Asked(Box::new(requested(data))))
                .filter(|_| text("/request_id").is_some()),
            "response.workflow_event.complete" | "response.workflow_event.completed" => {
                let what = text("/data/event_type").unwrap_or_else(|| "event".to_owned());
                let who =
                    text("/data/executor_id").map(|who| format!(" {who}")).unwrap_or_default();
                Some(Said::Event(format!("{what}{who}")))
            }
            "response.output_item.added" | "response.output_item.done" => {
                let action = data["item"]["type"] == "executor_action";
                let who = text("/item/executor_id").unwrap_or_default();
                let status = text("/item/status").unwrap_or_default();
                action.then(|| Said::Event(format!("{who} {status}")))
            }
            "response.completed" => None,
            "response.failed" | "response.incomplete" | "response.error" | "error" => {
                let why = text("/response/error/message")
                    .or_else(|| text("/error/message"))
                    .or_else(|| text("/message"))
                    .or_else(|| text("/response/incomplete_details/reason"));
                Some(Said::Failed(why.unwrap_or_else(|| "it failed".to_owned())))
            }
            // Of the rest, what belongs to Responses is known and says nothing new.
            other if other.starts_with("response.") => None,
            other => Some(Said::Strange(format!("an event `{other}` that is not known here"))),
        }
    }
}
