//! A2A over JSON-RPC, in both versions.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use signoff_a2a::wire::{Event, PushConfig};

use super::card::{self, Base};
use super::fault::{Fault, Kind, broken};
use super::follow::Follow;
use super::version::Version;
use super::{known, push, send, sse, tasks};
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{is, json as answered, received};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    Card,
    CreatePush,
    GetPush,
    ListPushes,
    DeletePush,
}

/// Its names: of 1.0, and of 0.3.
const NAMES: [(&str, &str, Wish); 11] = [
    ("SendMessage", "message/send", Wish::Send),
    ("SendStreamingMessage", "message/stream", Wish::Stream),
    ("GetTask", "tasks/get", Wish::Get),
    ("ListTasks", "", Wish::List),
    ("CancelTask", "tasks/cancel", Wish::Cancel),
    ("SubscribeToTask", "tasks/resubscribe", Wish::Subscribe),
    ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", Wish::Card),
    ("CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", Wish::CreatePush),
    ("GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", Wish::GetPush),
    ("ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list", Wish::ListPushes),
    ("DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete", Wish::DeletePush),
];

/// What comes of it.
enum Done {
    Value(Value),
    Stream(Box<Follow>),
}

pub(super) async fn call(
    State(whole): State<App>,
    app: App,
    caller: Caller,
    Path(workflow): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    known(&app, &workflow)?;
    let (headers, uri) = (request.headers().clone(), request.uri().clone());
    if !is(&headers, "application/json") {
        let fault = Fault::new(Kind::BodyNotSupported, "the body must be application/json");
        let body = error(&Value::Null, &fault);
        return Ok(answered(StatusCode::UNSUPPORTED_MEDIA_TYPE, &body));
    }
    let (_, bytes) = received(request, &whole).await?;
    let Ok(mut body) = serde_json::from_slice::<Value>(&bytes) else {
        let fault = Fault::new(Kind::ParseError, "the body is not JSON");
        return Ok(answered(StatusCode::OK, &error(&Value::Null, &fault)));
    };
    let id = match &body["id"] {
        id @ (Value::String(_) | Value::Number(_)) => id.clone(),
        _ => Value::Null,
    };
    let params = body.get_mut("params").map(Value::take).unwrap_or_default();
    let asked = asked(&body, &headers, &uri);
    let done = match asked {
        Ok((wish, version)) => {
            let base = Base::read(&headers, &uri);
            perform(&app, &caller, &workflow, (wish, version), params, &base)
                .await
                .map(|done| (done, version))
        }
        Err(fault) => Err(fault),
    };
    Ok(match done {
        Ok((Done::Value(result), _)) => {
            answered(StatusCode::OK, &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
        }
        Ok((Done::Stream(follow), version)) => {
            let write = move |told: Result<&Event, &Fault>, until| match told {
                Ok(event) => match version.event(event, until) {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    Err(fault) => error(&id, &fault),
                },
                Err(fault) => error(&id, fault),
            };
            sse::response(&app, *follow, Box::new(write)).into_response()
        }
        Err(fault) => answered(StatusCode::OK, &error(&id, &fault)),
    })
}

fn error(id: &Value, fault: &Fault) -> Value {
    let error =
        json!({ "code": fault.kind.code(), "message": fault.message, "data": fault.details() });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// What is asked for, and in which version. Who does not say the version is known by the name.
fn asked(body: &Value, headers: &HeaderMap, uri: &Uri) -> Result<(Wish, Version), Fault> {
    let invalid = |message: &str| Fault::new(Kind::InvalidRequest, message);
    if !body.is_object() || body["jsonrpc"] != "2.0" {
        return Err(invalid(
            "the body is no request of JSON-RPC 2.0; several at once are not taken",
        ));
    }
    if !matches!(body["id"], Value::Null | Value::String(_) | Value::Number(_)) {
        return Err(invalid("`id` is text or a number"));
    }
    let Some(method) = body["method"].as_str() else {
        return Err(invalid("`method` is missing"));
    };
    let said = Version::read(headers, uri)?;
    let found = NAMES.iter().find_map(|(new, old, wish)| match method {
        _ if method == *new => Some((*wish, Version::New)),
        _ if method == *old && !old.is_empty() => Some((*wish, Version::Old)),
        _ => None,
    });
    let fits = found.filter(|(_, version)| said.is_none_or(|said| said == *version));
    fits.ok_or_else(|| {
        let shown = signoff_core::text::clean(method, 64);
        Fault::new(Kind::MethodNotFound, format!("there is no method `{shown}`"))
    })
}

async fn perform(
    app: &App,
    caller: &Caller,
    workflow: &str,
    (wish, version): (Wish, Version),
    params: Value,
    base: &Base,
) -> Result<Done, Fault> {
    let value = match wish {
        Wish::Send => {
            let told = send::send(app, caller, workflow, version, read(params)?).await?;
            version.event(&told, super::follow::Until::Rest)?
        }
        Wish::Get => version.task(&tasks::get(app, caller, workflow, read(params)?).await?)?,
        Wish::Cancel => {
            version.task(&tasks::cancel(app, caller, workflow, read(params)?).await?)?
        }
        Wish::List => {
            let list = tasks::list(app, caller, workflow, read(params)?).await?;
            serde_json::to_value(list).map_err(|error| broken(&error))?
        }
        Wish::Card => card::card(app, base, workflow)?,
        Wish::CreatePush => {
            let wanted = version.wanted_push(params)?;
            version.push(&push::create(app, caller, workflow, version, wanted).await?)?
        }
        Wish::GetPush => version.push(&push::get(app, caller, workflow, read(params)?).await?)?,
        Wish::ListPushes => {
            let all = push::list(app, caller, workflow, read(params)?).await?;
            match version {
                Version::New => push::page(&all),
                Version::Old => all.iter().map(PushConfig::in_old_words).collect(),
            }
        }
        Wish::DeletePush => {
            push::delete(app, caller, workflow, read(params)?).await?;
            match version {
                Version::New => json!({}),
                Version::Old => Value::Null,
            }
        }
        Wish::Stream => {
            let follow = send::stream(app, caller, workflow, version, read(params)?).await?;
            return Ok(Done::Stream(Box::new(follow)));
        }
        Wish::Subscribe => {
            let follow = tasks::subscribe(app, caller, workflow, read(params)?).await?;
            return Ok(Done::Stream(Box::new(follow)));
        }
    };
    Ok(Done::Value(value))
}

/// The parameters, as the shape they should have. None are as good as an empty object.
pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Fault> {
    let params = if params.is_null() { json!({}) } else { params };
    if !params.is_object() {
        return Err(Fault::invalid("params", "it is an object"));
    }
    serde_json::from_value(params).map_err(|error| Fault::invalid("params", error.to_string()))
}
