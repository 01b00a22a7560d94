//! Items: what is said, asked and answered, one by one. Each follows from one journal entry.

use serde_json::{Value, json};
use signoff_core::journal::{Entry, Event};
use signoff_core::request::RequestKind;
use signoff_core::state::Answer;
use signoff_core::{Decision, Name, RequestBody, RequestId, RunId, RunState, Seq};

use crate::shape::{is_told_whole, spoken};

/// The name under which a question to people is called. There is nothing to run: a person answers.
const ASK: &str = "request_user_input";

/// How much there was before an entry, to see what it adds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    /// Messages of the run when the telling began.
    pub(super) messages: usize,
    /// Outputs right before the entry.
    pub(super) outputs: usize,
}

/// What an entry adds to what is told. `state` is the run right after it.
pub(super) fn told(run: &RunId, state: &RunState, entry: &Entry, before: Before) -> Option<Value> {
    match &entry.event {
        Event::Said { activation: Some(_), .. } => {
            spoken(state.messages.last()?).map(|text| said(run, entry.seq, &text))
        }
        Event::Asked { request, body, .. } => Some(asked(&run.request(*request), body)),
        // What the run gives, unless an agent has just said it.
        Event::Output { .. } | Event::Completed(_) if state.outputs.len() > before.outputs => {
            let given = state.outputs.last()?;
            let text = match &**given {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let since = state.messages.iter().skip(before.messages);
            let repeated = since.into_iter().any(|it| is_told_whole(it, &text));
            (!repeated && !text.trim().is_empty()).then(|| said(run, entry.seq, &text))
        }
        _ => None,
    }
}

/// What the run gives, for clients that tell it apart from what is said on the way. `open` are those at
/// work before the entry.
pub(super) fn terminal(
    run: &RunId,
    state: &RunState,
    entry: &Entry,
    before: Before,
    open: &[(u32, Name)],
) -> Option<Value> {
    let by = match &entry.event {
        Event::Output { activation, .. } => activation,
        Event::Completed(done) => &done.activation,
        _ => return None,
    };
    if state.outputs.len() <= before.outputs {
        return None;
    }
    let text = match &**state.outputs.last()? {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let executor = open.iter().find(|(id, _)| id == by).map(|(_, executor)| executor);
    let mut item = said(run, entry.seq, &text);
    item["metadata"] = json!({
        "workflow_event_type": "output",
        "workflow_output_kind": "terminal",
        "executor_id": executor,
    });
    Some(item)
}

/// What a person decided on a tool call.
pub(super) fn approval(run: &RunId, state: &RunState, entry: &Entry) -> Option<Value> {
    let Event::Decided { request, .. } = &entry.event else { return None };
    let asked = state.requests.get(request)?;
    let Some(Answer::Decided { decision, .. }) = &asked.answer else { return None };
    let approved = matches!(decision, Decision::Approve { .. } | Decision::Edit { .. });
    let id = run.request(*request);
    (asked.body.kind == RequestKind::ToolCall)
        .then(|| json!({ "request_id": id, "approved": approved }))
}

/// What an entry brought from outside: the input, or a decision.
pub(super) fn given(run: &RunId, entry: &Entry) -> Option<Value> {
    match &entry.event {
        Event::Started(started) => {
            let text = match &started.input {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(json!({
                "id": format!("msg_{}_{}", run.unique(), entry.seq),
                "type": "message",
                "role": "user",
                "status": "completed",
                "content": [{ "type": "input_text", "text": text }],
            }))
        }
        Event::Decided { request, decision, .. } => {
            let id = run.request(*request);
            Some(json!({
                "id": format!("fco_{}", id.unique()),
                "type": "function_call_output",
                "call_id": id,
                "status": "completed",
                "output": serde_json::to_string(decision).unwrap_or_default(),
            }))
        }
        _ => None,
    }
}

fn said(run: &RunId, seq: Seq, text: &str) -> Value {
    json!({
        "id": format!("msg_{}_{seq}", run.unique()),
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }],
    })
}

/// A question to people, as the call of a function that the client is to answer.
pub(super) fn asked(id: &RequestId, body: &RequestBody) -> Value {
    let mut arguments = json!({
        "kind": body.kind,
        "prompt": body.prompt,
        "response_schema": body.response_schema,
        "allowed": body.allowed,
    });
    if !body.options.is_empty() {
        arguments["options"] = json!(body.options);
    }
    if !body.context.is_null() {
        arguments["context"] = body.context.clone();
    }
    if let Some(at) = body.expires_at {
        arguments["expires_at"] = at.rfc3339().into();
    }
    json!({
        "id": format!("fc_{}", id.unique()),
        "type": "function_call",
        "call_id": id,
        "name": ASK,
        "arguments": arguments.to_string(),
        "status": "completed",
    })
}
