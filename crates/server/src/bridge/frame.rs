//! The few events such a client understands, one line of data each.
//!
//! It shows any text, delta or content at the top of an event as the answer, whatever the event is. So there
//! is one kind of delta and nothing that says a text again.

use bytes::Bytes;
use serde_json::{Value, json};
use signoff_core::{Request, RunId};

use super::question::{handle, written};
use super::talk::Talk;

/// Writes events and numbers them.
#[derive(Debug)]
pub(super) struct Frames {
    id: String,
    model: String,
    number: u64,
}

impl Frames {
    pub(super) fn new(talk: &Talk) -> Self {
        let id = format!("resp_{}", talk.id.unique());
        Self { id, model: talk.model.clone(), number: 0 }
    }

    fn event(&mut self, kind: &str, mut fields: Value) -> Bytes {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.number.into();
        self.number += 1;
        format!("event: {kind}\ndata: {fields}\n\n").into()
    }

    /// The response, as it stands.
    pub(super) fn response(&self, status: &str, output: &Value, run: Option<&RunId>) -> Value {
        json!({
            "id": self.id,
            "object": "response",
            "status": status,
            "model": self.model,
            "output": output,
            "metadata": { "signoff.run": run },
        })
    }

    pub(super) fn created(&mut self, run: Option<&RunId>) -> Bytes {
        let response = self.response("in_progress", &json!([]), run);
        self.event("response.created", json!({ "response": response }))
    }

    pub(super) fn text(&mut self, text: &str) -> Bytes {
        let item = format!("msg_{}", self.id);
        let fields =
            json!({ "item_id": item, "output_index": 0, "content_index": 0, "delta": text });
        self.event("response.output_text.delta", fields)
    }

    /// A question. `several` means that it needs its handle; `said`, that its prompt was just read.
    pub(super) fn question(
        &mut self,
        run: &RunId,
        request: &Request,
        several: bool,
        said: bool,
    ) -> Bytes {
        let info = info(run, request, several, said);
        let data = json!({
            "trace_type": "workflow_info",
            "event_type": "RequestInfoEvent",
            "data": { "request_info": info },
        });
        let fields = json!({ "data": data, "item_id": request.id, "output_index": 0 });
        self.event("response.trace.complete", fields)
    }

    pub(super) fn error(&mut self, message: &str) -> Bytes {
        self.event("error", json!({ "message": message }))
    }

    pub(super) fn completed(&mut self, run: Option<&RunId>) -> Bytes {
        let response = self.response("completed", &json!([]), run);
        self.event("response.completed", json!({ "response": response }))
    }
}

/// What is known of a question.
pub(super) fn info(run: &RunId, request: &Request, several: bool, said: bool) -> Value {
    let handle = handle(run, request);
    let body = &request.body;
    let asker = body.agent_path.last();
    json!({
        "request_id": request.id,
        "source_executor_id": asker,
        "request_type": body.kind,
        "response_type": body.response_schema["type"],
        "data": {
            "prompt": written(&request.body, several.then_some(handle.as_str()), said),
            "conversation": [],
            "awaiting_agent_id": asker,
            "source_executor_id": asker,
            "question": body.prompt,
            "handle": handle,
            "allowed": body.allowed,
            "response_schema": body.response_schema,
        },
    })
}
