//! A question to people, as each kind of client wants to hear it.

use serde_json::{Value, json};
use signoff_core::request::RequestKind;
use signoff_core::{Message, RequestBody, RequestId, Role, RunState, Timestamp};

use super::id::Manner;
use super::{form, item};
use crate::shape::is_data;

/// How many of the latest messages come with a question.
const RECENT: usize = 20;

/// A question that is told.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) id: RequestId,
    pub(super) body: &'a RequestBody,
    /// The executor that asks.
    pub(super) source: &'a str,
    /// The run that asks, if it is the one that is told and not a part of it.
    pub(super) state: Option<&'a RunState>,
}

impl Question<'_> {
    /// As a call of a function.
    pub(super) fn item(&self) -> Value {
        item::asked(&self.id, self.body)
    }

    /// As events, each with its type.
    pub(super) fn told(&self, at: Timestamp, manner: Manner) -> Vec<(&'static str, Value)> {
        let body = self.body;
        let request_type = format!("signoff:{}", body.kind);
        let requested = json!({
            "request_id": self.id,
            "source_executor_id": self.source,
            "request_type": request_type,
            "request_data": form::data(body, manner.notice()),
            "request_schema": form::schema(body),
            "response_schema": body.response_schema,
            "timestamp": at.rfc3339(),
        });
        let agent = body.agent_path.last().map_or(self.source, |agent| &**agent);
        let info = json!({
            "request_id": self.id,
            "source_executor_id": self.source,
            "request_type": request_type,
            "response_type": form::response_type(body),
            "data": {
                "prompt": body.prompt,
                "conversation": self.recent(),
                "awaiting_agent_id": agent,
                "source_executor_id": self.source,
            },
        });
        let traced = json!({
            "trace_type": "workflow_info",
            "event_type": "RequestInfoEvent",
            "data": { "request_info": info },
            "timestamp": at.rfc3339(),
        });
        let mut told = vec![
            ("response.request_info.requested", requested),
            ("response.trace.complete", json!({ "data": traced })),
        ];
        if body.kind == RequestKind::ToolCall {
            let asked = json!({ "request_id": self.id, "function_call": self.call() });
            told.push(("response.function_approval.requested", asked));
        }
        told
    }

    /// The call that is to be approved.
    fn call(&self) -> Value {
        json!({
            "id": self.id,
            "occurrence_id": self.id,
            "name": self.body.context["tool"].as_str().unwrap_or(self.source),
            "arguments": self.body.proposal(),
        })
    }

    /// What was said last, without what agents hand each other as data.
    fn recent(&self) -> Vec<Value> {
        let messages = self.state.map_or(&[][..], |state| &state.messages);
        let mut said: Vec<Value> =
            messages.iter().rev().filter_map(|it| heard(it)).take(RECENT).collect();
        said.reverse();
        said
    }
}

fn heard(message: &Message) -> Option<Value> {
    let text = message.text();
    if text.trim().is_empty() || is_data(&text) || message.role == Role::Tool {
        return None;
    }
    let mut said = json!({ "role": message.role, "text": text });
    if let Some(author) = &message.author {
        said["author_name"] = (**author).into();
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use signoff_core::{RunId, Timestamp};

    use super::*;

    #[test]
    fn a_tool_call_is_asked_for_as_one() {
        let mut body = RequestBody::approval("May it?", json!({ "path": "a.txt" }));
        body.context["tool"] = "delete".into();
        let id = RunId::from_unique("x").request(1);
        let told = |body: &RequestBody| {
            let question = Question { id: id.clone(), body, source: "engineer", state: None };
            question.told(Timestamp(0), Manner::Framework)
        };
        assert_eq!(told(&body).len(), 2, "an approval is no tool call");
        body.kind = RequestKind::ToolCall;
        let told = told(&body);
        let (kind, event) = told.last().unwrap();
        assert_eq!(*kind, "response.function_approval.requested");
        assert_eq!(event["request_id"], "req_x_1");
        assert_eq!(event["function_call"]["name"], "delete");
        assert_eq!(event["function_call"]["arguments"], json!({ "path": "a.txt" }));
    }
}
