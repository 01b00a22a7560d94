//! Requests as the server writes them.

use serde::Deserialize;
use serde_json::Value;
use signoff_core::request::{RequestBody, RequestStatus, TakenDecision};
use signoff_core::{Actor, ConversationId, Decision, Request, RequestId, RunId, Tenant, Timestamp};

/// A request with what people noted on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// The request.
    pub request: Request,
    /// What was noted, in order.
    pub notes: Vec<Note>,
}

/// Something that somebody noted on a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Note {
    /// By whom.
    pub by: String,
    /// What: claimed, released, assigned, commented, voted, reminded.
    pub what: String,
    /// Who looks after it since.
    #[serde(default)]
    pub to: Option<String>,
    /// The comment.
    #[serde(default)]
    pub text: Option<String>,
}

/// Reads a request.
pub(crate) fn read(json: Value) -> Result<Noted, String> {
    let Value::Object(mut fields) = json else {
        return Err("a request is not an object".to_owned());
    };
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("a request has no `{name}`")),
    };
    let (id, run) = (text("id")?, text("run")?);
    let (workflow, conversation) = (text("workflow")?, text("conversation")?);
    let (status, created_at) = (text("status")?, text("created_at")?);
    let version = fields.remove("version").and_then(|it| u32::try_from(it.as_u64()?).ok());
    let assignee = fields.remove("assignee").and_then(|it| Some(Actor::new(it.as_str()?)));
    let decision = fields.remove("decision").map(taken).transpose()?;
    let withdrawn = fields.remove("withdrawn").and_then(|why| why.as_str().map(str::to_owned));
    let deferred_until =
        fields.remove("deferred_until").and_then(|at| Timestamp::from_rfc3339(at.as_str()?));
    let notes = fields.remove("notes").unwrap_or_else(|| Value::Array(Vec::new()));
    if let Some(at) = fields.get_mut("expires_at") {
        let point = at.as_str().and_then(Timestamp::from_rfc3339);
        *at = point.map_or(Value::Null, |point| point.0.into());
    }
    let body: RequestBody = serde_json::from_value(Value::Object(fields))
        .map_err(|error| format!("request {id} cannot be read: {error}"))?;
    let request = Request {
        id: RequestId::new(&*id),
        version: version.unwrap_or(1),
        status: RequestStatus::from_word(&status)
            .ok_or_else(|| format!("request {id} is `{status}`, which is not known here"))?,
        root: RunId::new(&*run),
        run: RunId::new(run),
        workflow: workflow.into(),
        conversation: ConversationId::new(conversation),
        tenant: Tenant::local(),
        assignee,
        body,
        created_at: Timestamp::from_rfc3339(&created_at).unwrap_or_default(),
        decision,
        withdrawn,
        deferred_until,
    };
    Ok(Noted { request, notes: serde_json::from_value(notes).unwrap_or_default() })
}

/// Reads a decision with who took it and when.
pub(crate) fn taken(mut json: Value) -> Result<TakenDecision, String> {
    let fields = json.as_object_mut().ok_or("a decision is not an object")?;
    let by = fields.remove("by").and_then(|by| Some(Actor::new(by.as_str()?)));
    let at = fields.remove("at").and_then(|at| Timestamp::from_rfc3339(at.as_str()?));
    let decision: Decision = serde_json::from_value(json)
        .map_err(|error| format!("a decision cannot be read: {error}"))?;
    Ok(TakenDecision {
        decision,
        by: by.unwrap_or_else(|| Actor::new("somebody")),
        at: at.unwrap_or_default(),
        sent: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use signoff_core::request::Choice;

    use super::*;

    #[test]
    fn what_the_server_writes_is_read() {
        let options = vec![Choice { value: json!(1), label: "One".into(), description: None }];
        let mut body = RequestBody::selection("Which?", options);
        body.due(Timestamp(90_000), signoff_core::Unanswered::Pause);
        let mut request = Request {
            id: RequestId::new("req_a_1"),
            version: 3,
            status: RequestStatus::Decided,
            run: RunId::new("run_a"),
            root: RunId::new("run_a"),
            workflow: "w".into(),
            conversation: ConversationId::new("conv_a"),
            tenant: Tenant::local(),
            assignee: Some(Actor::new("ada")),
            body,
            created_at: Timestamp(1_000),
            decision: None,
            withdrawn: None,
            deferred_until: None,
        };
        request.decision = Some(TakenDecision {
            decision: Decision::respond(1),
            by: Actor::new("bob"),
            at: Timestamp(2_000),
            sent: None,
        });
        let mut json = request.to_json();
        json["notes"] = json!([{ "at": "x", "by": "ada", "what": "claimed", "to": "ada" }]);
        let read = read(json).unwrap();
        assert_eq!(read.request, request);
        assert_eq!(read.notes[0].what, "claimed");
    }

    #[test]
    fn what_is_none_is_said() {
        for json in [json!(null), json!({}), json!({ "id": 7 })] {
            assert!(read(json).is_err());
        }
    }
}
