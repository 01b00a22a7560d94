//! A question put to the client's own user, as a form, and what that user said as a decision.

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequests, InputResponses,
};
use serde_json::{Value, json};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{Decision, DecisionKind, RequestKind};
use signoff_runtime::DecideRequest;

use super::call::Call;
use crate::api::take_decision;
use crate::error::{ApiError, Problem};

/// The one question of a call has this key.
const KEY: &str = "answer";
/// More than this is not put into a form: nobody may decide on what they are not shown.
const MAX_MESSAGE: usize = 16 * 1024;

/// A request as a form for the client's user, if it can be one.
pub(super) fn form(request: &Request) -> Option<ElicitRequestParams> {
    let message = message(request)?;
    let requested_schema: ElicitationSchema = serde_json::from_value(fields(request)?).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The same for a client that comes back with the answer.
pub(super) fn inputs(request: &Request) -> Option<InputRequests> {
    let asked = rmcp::model::ElicitRequest::new(form(request)?);
    Some(InputRequests::from([(KEY.to_owned(), InputRequest::Elicitation(asked))]))
}

/// What a client that comes back says its user said.
pub(super) fn said(responses: Option<&InputResponses>) -> Option<ElicitResult> {
    serde_json::from_value(responses?.get(KEY)?.clone()).ok()
}

/// All that a person must see to decide. None, if it is too much.
fn message(request: &Request) -> Option<String> {
    let body = &request.body;
    let mut blocks = vec![body.prompt.clone()];
    let pretty = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    blocks.extend(body.shown_proposal().map(pretty));
    match &body.context {
        Value::Null => {}
        Value::Object(fields) => {
            let hidden = ["proposal", "shown", "digest", "warnings"];
            let others = fields.iter().filter(|(name, _)| !hidden.contains(&name.as_str()));
            blocks.extend(others.map(|(name, value)| format!("{name}: {}", pretty(value))));
        }
        other => blocks.push(pretty(other)),
    }
    blocks.extend(body.risk.map(|risk| format!("risk: {risk}")));
    blocks.extend(body.warnings().map(|warning| format!("! {warning}")));
    let message = blocks.join("\n\n");
    (message.len() <= MAX_MESSAGE).then_some(message)
}

/// The fields of the form. None, if the answer cannot be given in plain fields.
fn fields(request: &Request) -> Option<Value> {
    let body = &request.body;
    if body.allowed.contains(&DecisionKind::Approve) {
        return Some(json!({
            "type": "object",
            "properties": {
                "decision": { "type": "string", "title": "Decision", "enum": ["approve", "reject"] },
                "reason": { "type": "string", "title": "Reason or remark" },
            },
            "required": ["decision"],
        }));
    }
    let one = |field: Value| {
        Some(json!({ "type": "object", "properties": { KEY: field }, "required": [KEY] }))
    };
    if body.kind == RequestKind::Selection {
        let labels: Vec<&str> = body.options.iter().map(|option| option.label.as_str()).collect();
        return one(json!({ "type": "string", "title": "Answer", "enum": labels }));
    }
    match body.response_schema["type"].as_str() {
        Some("object") => Some(body.response_schema.clone()),
        Some("string" | "number" | "integer" | "boolean") => one(body.response_schema.clone()),
        _ => None,
    }
}

/// The decision that the user's answer means. None, if it means that somebody else shall decide.
fn decision(request: &Request, said: ElicitResult, client: &str) -> Option<Decision> {
    let body = &request.body;
    let approval = body.allowed.contains(&DecisionKind::Approve);
    let content = match said.action {
        ElicitationAction::Accept => said.content.unwrap_or_default(),
        // To decline to agree is to disagree; to decline to answer leaves the question to others.
        ElicitationAction::Decline if approval => {
            let reason = format!("declined in {client}");
            return Some(Decision::reject(Some(reason), signoff_core::decision::Then::Continue));
        }
        _ => return None,
    };
    if approval {
        let remark = content["reason"].as_str().map(str::trim).filter(|text| !text.is_empty());
        let remark = remark.map(str::to_owned);
        return match content["decision"].as_str() {
            Some("approve") => Some(Decision::Approve { note: remark, remember: None }),
            Some("reject") => {
                Some(Decision::reject(remark, signoff_core::decision::Then::Continue))
            }
            _ => None,
        };
    }
    if body.kind == RequestKind::Selection {
        let label = content[KEY].as_str()?;
        let chosen = body.options.iter().find(|option| option.label == label)?;
        return Some(Decision::respond(chosen.value.clone()));
    }
    match body.response_schema["type"].as_str() {
        Some("object") => Some(Decision::respond(content)),
        _ => Some(Decision::respond(content.get(KEY)?.clone())),
    }
}

impl Call {
    /// Whether the client's own user may be asked this.
    pub(super) fn may_elicit(&self, request: &Request) -> bool {
        request.status == RequestStatus::Pending
            && self.client_answers()
            && self.can_elicit()
            && request.body.admit(&self.caller.actor, &self.caller.roles).is_ok()
    }

    /// Takes what the client's user said, in the caller's name. Whoever was faster has decided.
    pub(super) async fn take(&self, request: &Request, said: ElicitResult) -> Result<(), ApiError> {
        if !self.client_answers() {
            let message = "the client's own user may not answer here";
            return Err(ApiError::new(Problem::NotPermitted, message).hint(
                "the question waits for others; `client_answers` in [mcp_server] allows it",
            ));
        }
        let client = self.client();
        let Some(decision) = decision(request, said, &client) else { return Ok(()) };
        let decide = DecideRequest::new(request.id.clone(), decision)
            .by(self.caller.actor.clone())
            .with_roles(&self.caller.roles)
            .seen_at(Some(request.version))
            .by_link(format!("mcp:{client}").into());
        match take_decision(&self.app, decide).await {
            Ok(_) => Ok(()),
            Err(error) if is_late(error.code()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether somebody or something was faster.
fn is_late(code: &str) -> bool {
    ["already_decided", "version_conflict", "expired", "cancelled"].contains(&code)
}

#[cfg(test)]
#[path = "elicit_tests.rs"]
mod tests;
