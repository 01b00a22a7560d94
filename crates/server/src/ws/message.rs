//! What clients say.

use serde::Deserialize;
use serde_json::{Map, Value};
use signoff_core::Span;

use super::approvals::Resolve;
use crate::api::{CountQuery, MAX_PAGE, Start};
use crate::error::{ApiError, Problem, nearest};
use crate::extract::from_value;

/// The longest `id` of a message, in bytes.
const MAX_ID: usize = 128;

/// What a client wants.
#[derive(Debug)]
pub(super) enum Wish {
    Attach(Attach),
    Detach(Detach),
    Decide(Decide),
    Defer(Deferral),
    Start(Start),
    Requests(Requests),
    Resolve(Resolve),
    /// What waits, once more.
    Snapshot,
    Ping,
}

/// Tell me of this run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attach {
    pub(super) run: String,
    /// The last entry that was seen.
    #[serde(default)]
    pub(super) after: u64,
}

/// Tell me no more of this run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Detach {
    pub(super) run: String,
}

/// Decide this request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decide {
    pub(super) request: String,
    /// Read where every decision is read.
    pub(super) decision: Map<String, Value>,
    pub(super) version: Option<u32>,
}

/// Put this request off.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deferral {
    pub(super) request: String,
    pub(super) until: Option<String>,
    pub(super) r#for: Option<Span>,
    pub(super) note: Option<String>,
}

/// Which requests are there?
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Requests {
    #[serde(default)]
    pub(super) filters: CountQuery,
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<usize>,
}

const TYPES: [&str; 10] = [
    "attach",
    "detach",
    "decide",
    "defer",
    "start",
    "requests",
    "snapshot",
    "ping",
    "resolve_approval",
    "approval_response",
];

/// A message, as far as it could be read: its id, and what it wants.
pub(super) fn read(text: &str) -> (Option<Value>, Result<Wish, ApiError>) {
    let mut fields: Map<String, Value> = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => {
            let error = ApiError::new(Problem::InvalidBody, "a message is an object");
            return (None, Err(error.hint(r#"for example {"type":"ping"}"#)));
        }
        Err(error) => {
            let message = format!("the message is not JSON: {error}");
            return (None, Err(ApiError::new(Problem::MalformedJson, message)));
        }
    };
    let id = match fields.shift_remove("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if id.len() <= MAX_ID => Some(Value::String(id)),
        Some(Value::Number(id)) => Some(Value::Number(id)),
        Some(_) => {
            let message = format!("`id` is a number, or text of at most {MAX_ID} bytes");
            return (None, Err(ApiError::new(Problem::InvalidBody, message)));
        }
    };
    (id, wish(fields))
}

fn wish(mut fields: Map<String, Value>) -> Result<Wish, ApiError> {
    let Some(Value::String(kind)) = fields.shift_remove("type") else {
        return Err(ApiError::new(
            Problem::InvalidBody,
            "`type` is missing: it says what is wanted",
        )
        .hint(format!("one of {}", TYPES.join(", "))));
    };
    let rest = Value::Object(fields);
    Ok(match kind.as_str() {
        "attach" => Wish::Attach(from_value(rest)?),
        "detach" => Wish::Detach(from_value(rest)?),
        "decide" => Wish::Decide(from_value(rest)?),
        "defer" => Wish::Defer(from_value(rest)?),
        "start" => Wish::Start(from_value(rest)?),
        "requests" => {
            let requests: Requests = from_value(rest)?;
            if requests.limit.is_some_and(|limit| !(1..=MAX_PAGE).contains(&limit)) {
                let message = format!("`limit` is a number from 1 to {MAX_PAGE}");
                return Err(ApiError::new(Problem::InvalidBody, message));
            }
            Wish::Requests(requests)
        }
        // Its clients send more than is needed.
        "resolve_approval" | "approval_response" => Wish::Resolve(from_value(rest)?),
        "snapshot" | "request_state" => Wish::Snapshot,
        "ping" => Wish::Ping,
        other => {
            let error = ApiError::new(Problem::InvalidBody, format!("there is no type `{other}`"));
            return Err(match nearest(other, TYPES.into_iter()) {
                Some(found) => error.hint(format!("did you mean `{found}`?")),
                None => error.hint(format!("one of {}", TYPES.join(", "))),
            });
        }
    })
}
