//! A2A over plain HTTP and JSON, in version 1.0.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, FromRequestParts as _, Path, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use signoff_a2a::wire::{Event, ListParams, PushConfig, PushParams, SendParams, TaskParams};

use super::card::{self, Base};
use super::fault::{Fault, Kind, broken};
use super::follow::{Follow, Until};
use super::rpc::read;
use super::version::Version;
use super::{known, push, send, sse, tasks};
use crate::access::Caller;
use crate::api::Api;
use crate::app::App;
use crate::error::{ApiError, no_more};
use crate::extract::{is, json as answered, received};

/// What the protocol calls its JSON; plain `application/json` is taken as well, and answered with itself.
const MEDIA: &str = "application/a2a+json";

/// Adds the routes. A tenant in the path must be the caller's.
pub(super) fn routes(mut api: Api) -> Api {
    for base in ["/a2a/{workflow}", "/a2a/{workflow}/{tenant}"] {
        let at = |path: &str| format!("{base}{path}");
        api.router = api
            .router
            .route(&at("/message:send"), post(send_message))
            .route(&at("/message:stream"), post(stream_message))
            .route(&at("/tasks"), get(list_tasks))
            .route(&at("/tasks/{task}"), get(look).post(steer))
            .route(&at("/tasks/{task}/pushNotificationConfigs"), get(pushes).post(create_push))
            .route(
                &at("/tasks/{task}/pushNotificationConfigs/{config}"),
                get(one_push).delete(delete_push),
            )
            .route(&at("/extendedAgentCard"), get(extended_card));
    }
    api
}

/// A request, with everything that is needed to answer it.
struct Call {
    app: App,
    caller: Caller,
    headers: HeaderMap,
    uri: Uri,
    workflow: String,
    tenant: Option<String>,
    /// The task in the path, and what is wanted of it.
    task: String,
    wish: Option<String>,
    /// Who is told of it, if the path names one.
    push: Option<String>,
    query: Vec<(String, String)>,
    body: Bytes,
    said: Result<Option<Version>, Fault>,
}

impl FromRequest<App> for Call {
    type Rejection = ApiError;

    async fn from_request(request: Request, whole: &App) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let app = App::from_request_parts(&mut parts, whole).await?;
        let caller = Caller::from_request_parts(&mut parts, whole).await?;
        let path = Path::<BTreeMap<String, String>>::from_request_parts(&mut parts, whole).await;
        let Ok(Path(mut path)) = path else {
            let problem = crate::error::Problem::InvalidPath;
            return Err(ApiError::new(problem, "the path cannot be read"));
        };
        let workflow = path.remove("workflow").unwrap_or_default();
        known(&app, &workflow)?;
        let task = path.remove("task").unwrap_or_default();
        let (task, wish) = match task.split_once(':') {
            Some((task, wish)) => (task.to_owned(), Some(wish.to_owned())),
            None => (task, None),
        };
        let query = parts.uri.query().unwrap_or_default();
        let query = serde_urlencoded::from_str(query).unwrap_or_default();
        let said = Version::read(&parts.headers, &parts.uri);
        let (headers, uri) = (parts.headers.clone(), parts.uri.clone());
        let (_, body) = received(Request::from_parts(parts, body), whole).await?;
        let (tenant, push) = (path.remove("tenant"), path.remove("config"));
        Ok(Self {
            app,
            caller,
            headers,
            uri,
            workflow,
            tenant,
            task,
            wish,
            push,
            query,
            body,
            said,
        })
    }
}

impl Call {
    /// Refuses another version than this one.
    fn version(&mut self) -> Result<(), Fault> {
        match std::mem::replace(&mut self.said, Ok(None))? {
            Some(Version::Old) => {
                let message = "0.3 is spoken over JSON-RPC only; 1.0 is spoken here";
                Err(Fault::new(Kind::VersionNotSupported, message))
            }
            _ => Ok(()),
        }
    }

    /// The body, with what the path says.
    fn params(&mut self) -> Result<Value, Fault> {
        self.version()?;
        let mut params = if self.body.is_empty() {
            json!({})
        } else if is(&self.headers, "application/json") || is(&self.headers, MEDIA) {
            serde_json::from_slice(&self.body)
                .map_err(|_| Fault::new(Kind::ParseError, "the body is not JSON"))?
        } else {
            let message = format!("the body must be application/json or {MEDIA}");
            return Err(Fault::new(Kind::BodyNotSupported, message));
        };
        self.placed(&mut params);
        Ok(params)
    }

    /// The query, with what the path says.
    fn asked(&mut self) -> Result<Value, Fault> {
        self.version()?;
        let mut params = Map::new();
        for (name, text) in std::mem::take(&mut self.query) {
            let wrong = |kind: &str| Fault::invalid(&name, format!("it is {kind}"));
            let value: Value = match name.as_str() {
                "historyLength" | "pageSize" => {
                    text.parse::<i64>().map_err(|_| wrong("a number"))?.into()
                }
                "includeArtifacts" => {
                    text.parse::<bool>().map_err(|_| wrong("true or false"))?.into()
                }
                _ => text.into(),
            };
            params.insert(name, value);
        }
        let mut params = params.into();
        self.placed(&mut params);
        Ok(params)
    }

    fn placed(&self, params: &mut Value) {
        let Value::Object(fields) = params else { return };
        if !self.task.is_empty() {
            fields.insert("id".into(), self.task.as_str().into());
        }
        if let Some(tenant) = &self.tenant {
            fields.insert("tenant".into(), tenant.as_str().into());
        }
    }

    /// The answer, in the kind of JSON that was asked in.
    fn answer(&self, done: Result<Value, Fault>) -> Response {
        let mut response = match done {
            Ok(value) => answered(StatusCode::OK, &value),
            Err(fault) => answered(fault.kind.status().0, &error(&fault)),
        };
        let accepts = self.headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
        let asked = is(&self.headers, MEDIA) || accepts.is_some_and(|it| it.contains(MEDIA));
        if asked {
            let media = HeaderValue::from_static(MEDIA);
            response.headers_mut().insert(header::CONTENT_TYPE, media);
        }
        no_more(&mut response);
        response
    }

    fn stream(&self, follow: Result<Follow, Fault>) -> Response {
        let follow = match follow {
            Ok(follow) => follow,
            Err(fault) => return self.answer(Err(fault)),
        };
        let write = |told: Result<&Event, &Fault>, until: Until| match told {
            Ok(event) => Version::New.event(event, until).unwrap_or_else(|fault| error(&fault)),
            Err(fault) => error(fault),
        };
        sse::response(&self.app, follow, Box::new(write))
    }
}

fn error(fault: &Fault) -> Value {
    let (code, status) = fault.kind.status();
    json!({ "error": {
        "code": code.as_u16(), "status": status, "message": fault.message,
        "details": fault.details(),
    } })
}

fn value(of: &impl serde::Serialize) -> Result<Value, Fault> {
    serde_json::to_value(of).map_err(|error| broken(&error))
}

async fn send_message(mut call: Call) -> Response {
    let done = async {
        let params = read::<SendParams>(call.params()?)?;
        value(&send::send(&call.app, &call.caller, &call.workflow, Version::New, params).await?)
    };
    let done = done.await;
    call.answer(done)
}

async fn stream_message(mut call: Call) -> Response {
    let done = async {
        let params = read::<SendParams>(call.params()?)?;
        send::stream(&call.app, &call.caller, &call.workflow, Version::New, params).await
    };
    let follow = done.await;
    call.stream(follow)
}

async fn list_tasks(mut call: Call) -> Response {
    let done = async {
        let params = read::<ListParams>(call.asked()?)?;
        value(&tasks::list(&call.app, &call.caller, &call.workflow, params).await?)
    };
    let done = done.await;
    call.answer(done)
}

/// `GET /tasks/{id}` and `GET /tasks/{id}:subscribe`.
async fn look(mut call: Call) -> Response {
    let params = call.asked().and_then(read::<TaskParams>);
    if call.wish.as_deref() == Some("subscribe") {
        return subscribed(&call, params).await;
    }
    let done = async {
        call.wish.as_deref().map_or(Ok(()), |_| Err(no_such(&call)))?;
        value(&tasks::get(&call.app, &call.caller, &call.workflow, params?).await?)
    };
    let done = done.await;
    call.answer(done)
}

/// `POST /tasks/{id}:cancel` and `POST /tasks/{id}:subscribe`.
async fn steer(mut call: Call) -> Response {
    let params = call.params().and_then(read::<TaskParams>);
    if call.wish.as_deref() == Some("subscribe") {
        return subscribed(&call, params).await;
    }
    let done = async {
        if call.wish.as_deref() != Some("cancel") {
            return Err(no_such(&call));
        }
        value(&tasks::cancel(&call.app, &call.caller, &call.workflow, params?).await?)
    };
    let done = done.await;
    call.answer(done)
}

async fn subscribed(call: &Call, params: Result<TaskParams, Fault>) -> Response {
    let follow = match params {
        Ok(params) => tasks::subscribe(&call.app, &call.caller, &call.workflow, params).await,
        Err(fault) => Err(fault),
    };
    call.stream(follow)
}

fn no_such(call: &Call) -> Fault {
    let shown = signoff_core::text::clean(call.wish.as_deref().unwrap_or("nothing"), 64);
    Fault::new(Kind::MethodNotFound, format!("a task does not do `{shown}`"))
}

/// The query, with the task and who is told of it.
fn push_params(call: &mut Call) -> Result<PushParams, Fault> {
    let asked = read::<PushParams>(call.asked()?)?;
    let (task, push) = (call.task.clone(), call.push.clone());
    Ok(PushParams { task_id: Some(task), id: push, ..asked })
}

async fn create_push(mut call: Call) -> Response {
    let done = async {
        let config = read::<PushConfig>(call.params()?)?;
        // The id that the path brings along is the task's.
        let own = serde_json::from_slice::<Value>(&call.body).unwrap_or_default();
        let id = own["id"].as_str().map(str::to_owned);
        let config = PushConfig { id, task_id: Some(call.task.clone()), ..config };
        let (app, workflow) = (&call.app, &call.workflow);
        value(&push::create(app, &call.caller, workflow, Version::New, config).await?)
    };
    let done = done.await;
    call.answer(done)
}

async fn pushes(mut call: Call) -> Response {
    let done = async {
        let params = push_params(&mut call)?;
        Ok(push::page(&push::list(&call.app, &call.caller, &call.workflow, params).await?))
    };
    let done = done.await;
    call.answer(done)
}

async fn one_push(mut call: Call) -> Response {
    let done = async {
        let params = push_params(&mut call)?;
        value(&push::get(&call.app, &call.caller, &call.workflow, params).await?)
    };
    let done = done.await;
    call.answer(done)
}

async fn delete_push(mut call: Call) -> Response {
    let done = async {
        let params = push_params(&mut call)?;
        push::delete(&call.app, &call.caller, &call.workflow, params).await?;
        Ok(json!({}))
    };
    let done = done.await;
    call.answer(done)
}

async fn extended_card(mut call: Call) -> Response {
    let done = call.asked().and_then(|params| {
        let named = params["tenant"].as_str();
        send::own_tenant(&call.caller, named)?;
        card::card(&call.app, &Base::read(&call.headers, &call.uri), &call.workflow)
    });
    call.answer(done)
}
