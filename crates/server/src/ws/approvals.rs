//! The words of clients that know approvals only.
//!
//! A request is an approval that is requested, whatever kind it is; a decision is one that is received.
//! Every message has `event_type`, `timestamp`, `run_id`, `session_id` (the conversation) and `data`.

use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::answer::from_text;
use signoff_core::decision::Then;
use signoff_core::request::{RequestKind, RequestStatus};
use signoff_core::{Decision, DecisionKind, Request, RequestBody, Timestamp};

/// How a client decides. What else it sends is left alone.
#[derive(Debug, Deserialize)]
pub(super) struct Resolve {
    pub(super) approval_id: String,
    resolution: Option<String>,
    approved: Option<bool>,
    feedback: Option<String>,
    /// JSON, or a text of JSON.
    modifications: Option<Value>,
}

/// The word for a decision in a list of options; all of them are understood in a resolution.
fn option(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Edit => "modify",
        DecisionKind::Respond => "submit",
        other => other.as_str(),
    }
}

/// Where a request comes from.
fn checkpoint(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::PlanReview => "after_planning",
        RequestKind::StepBefore => "before_step",
        RequestKind::StepAfter => "after_step",
        RequestKind::StepError => "on_error",
        other => other.as_str(),
    }
}

fn envelope(event: &str, at: Timestamp, request: &Request, data: &Value) -> Value {
    json!({
        "event_type": event,
        "timestamp": at.rfc3339(),
        "run_id": request.run,
        "session_id": request.conversation,
        "data": data,
    })
}

/// A request that waits.
pub(super) fn requested(request: &Request) -> Value {
    let body = &request.body;
    let text = body.options.is_empty() && body.allowed.contains(&DecisionKind::Respond);
    let options: Vec<Value> = if body.options.is_empty() {
        body.allowed.iter().map(|kind| option(*kind).into()).collect()
    } else {
        body.options.iter().map(|choice| choice.label.as_str().into()).collect()
    };
    let mut context = match &body.context {
        Value::Object(fields) => Value::Object(fields.clone()),
        Value::Null => json!({}),
        other => json!({ "context": other }),
    };
    let more = [
        ("agent_name", json!(body.agent_path.last())),
        ("requires_text_input", text.into()),
        ("response_schema", body.response_schema.clone()),
        ("workflow", json!(request.workflow)),
    ];
    let steps = body.proposal().and_then(|plan| plan.get("steps"));
    let plan =
        steps.filter(|_| body.kind == RequestKind::PlanReview).map(|it| ("plan", it.clone()));
    for (name, value) in more.into_iter().chain(plan) {
        if context.get(name).is_none() {
            context[name] = value;
        }
    }
    let action = checkpoint(body.kind);
    let data = json!({
        "approval_id": request.id,
        "step_id": body.agent_path.last(),
        "action": action,
        "description": body.prompt,
        "message": body.prompt,
        "options": options,
        "checkpoint_type": action,
        "context": context,
        "expires_at": body.expires_at.map(Timestamp::rfc3339),
    });
    envelope("approval_requested", request.created_at, request, &data)
}

/// A request that waits no more, as of `now`.
pub(super) fn received(request: &Request, now: Timestamp) -> Value {
    let taken = request.decision.as_ref();
    let (approved, resolution, feedback) = match taken.map(|taken| &taken.decision) {
        Some(decision) => {
            let (word, feedback) = said(decision);
            let no = matches!(decision.kind(), DecisionKind::Reject | DecisionKind::Abort);
            (!no, word, feedback)
        }
        None if request.status == RequestStatus::Expired => (false, "expired", None),
        None => (false, "cancelled", None),
    };
    let data = json!({
        "approval_id": request.id,
        "approved": approved,
        "resolution": resolution,
        "feedback": feedback,
        "by": taken.map(|taken| &taken.by),
        "decision": taken.map(|taken| &taken.decision),
    });
    envelope("approval_received", taken.map_or(now, |taken| taken.at), request, &data)
}

/// A decision as a resolution, and what was said with it.
fn said(decision: &Decision) -> (&'static str, Option<String>) {
    match decision {
        Decision::Approve { note, .. } => ("approved", note.clone()),
        Decision::Edit { note, .. } => ("modified", note.clone()),
        Decision::Reject { reason, .. } => ("rejected", reason.clone()),
        Decision::Respond { content } => ("submit", content.as_str().map(str::to_owned)),
        Decision::Revise { feedback }
        | Decision::Redo { feedback }
        | Decision::Rollback { feedback }
        | Decision::Retry { feedback } => (decision.kind().as_str(), feedback.clone()),
        Decision::Skip { reason } | Decision::Abort { reason } => {
            (decision.kind().as_str(), reason.clone())
        }
    }
}

impl Resolve {
    /// The decision it means. Never one that the request refuses.
    pub(super) fn decision(self, body: &RequestBody) -> Result<Decision, String> {
        let word = match (&self.resolution, self.approved) {
            (Some(word), _) => word.trim().to_lowercase(),
            (None, Some(true)) => "approve".to_owned(),
            (None, Some(false)) => "reject".to_owned(),
            (None, None) => return Err("`resolution` or `approved` is missing".to_owned()),
        };
        let remark = self.feedback.filter(|text| !text.trim().is_empty());
        let changed = self.modifications.filter(|it| !it.is_null()).map(|it| match it {
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            other => other,
        });
        let allows = |kind| body.allowed.contains(&kind);
        let decision = match word.as_str() {
            "approve" | "approved" | "continue" | "allow" if allows(DecisionKind::Approve) => {
                Decision::Approve { note: remark, remember: None }
            }
            "modify" | "modified" | "edit" => {
                let value =
                    changed.ok_or("`modifications` is missing: it has the changed value")?;
                Decision::Edit { value, note: remark }
            }
            "reject" | "rejected" | "deny" => Decision::reject(remark, Then::Continue),
            "revise" => Decision::Revise { feedback: remark },
            "redo" => Decision::Redo { feedback: remark },
            "retry" => Decision::Retry { feedback: remark },
            "rollback" => Decision::Rollback { feedback: remark },
            "skip" => Decision::Skip { reason: remark },
            "abort" => Decision::Abort { reason: remark },
            "submit" | "provide_instructions" | "respond" => match (changed, remark) {
                (Some(content), _) => Decision::Respond { content },
                (None, Some(text)) => return from_text(body, &text),
                (None, None) => return Err("`feedback` or `modifications` is missing".to_owned()),
            },
            // One of the options, or an answer as it would be typed.
            other => return from_text(body, other),
        };
        body.check(&decision).map(|()| decision).map_err(|refusal| refusal.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(body: &RequestBody, message: Value) -> Result<Decision, String> {
        serde_json::from_value::<Resolve>(message).unwrap().decision(body)
    }

    #[test]
    fn resolutions_are_decisions() {
        let approval = RequestBody::approval("Well?", json!({ "total": 5 }));
        for yes in ["approve", "approved", "continue", "Allow", "yes"] {
            let message = json!({ "approval_id": "r", "resolution": yes, "step_id": "left alone" });
            assert_eq!(decided(&approval, message), Ok(Decision::approve()), "{yes}");
        }
        let message = json!({ "approval_id": "r", "approved": false, "feedback": "too much" });
        let no = Decision::reject(Some("too much".into()), Then::Continue);
        assert_eq!(decided(&approval, message), Ok(no));
        for changed in [json!({ "total": 4 }), json!("{\"total\":4}")] {
            let message =
                json!({ "approval_id": "r", "resolution": "modified", "modifications": changed });
            let edit = Decision::Edit { value: json!({ "total": 4 }), note: None };
            assert_eq!(decided(&approval, message), Ok(edit));
        }
        for bad in [
            json!({ "approval_id": "r" }),
            json!({ "approval_id": "r", "resolution": "modify" }),
            json!({ "approval_id": "r", "resolution": "modify", "modifications": { "total": "x" } }),
            json!({ "approval_id": "r", "resolution": "retry" }),
            json!({ "approval_id": "r", "resolution": "perhaps" }),
        ] {
            assert!(decided(&approval, bad.clone()).is_err(), "{bad}");
        }
        let input = RequestBody::input("Why?");
        let message = json!({ "approval_id": "r", "resolution": "submit", "feedback": "so" });
        assert_eq!(decided(&input, message), Ok(Decision::respond("so")));
        let message = json!({ "approval_id": "r", "approved": false });
        assert!(decided(&input, message).is_err(), "a no is not an answer to a question");
    }
}
