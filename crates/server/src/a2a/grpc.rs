//! A2A over gRPC. Its messages have no path: the agent that is meant is named as the tenant, as the card says.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use signoff_a2a_grpc::{Answers, Fault as GrpcFault, Method, Methods, Operations, SERVICE};

use super::card::{self, Base};
use super::fault::{Fault, Kind, broken};
use super::follow::{Follow, Until};
use super::rpc::read;
use super::version::Version;
use super::{known, push, send, tasks};
use crate::access::Caller;
use crate::api::Api;
use crate::app::App;

/// Adds the routes. Without descriptors there is no service; that they can be read is tested.
pub(super) fn routes(mut api: Api) -> Api {
    let Ok(methods) = Methods::read() else { return api };
    let path = format!("/{SERVICE}/{{method}}");
    let call = move |State(whole): State<App>, app: App, caller: Caller, path, request| {
        call(methods.clone(), whole, app, caller, path, request)
    };
    api.router = api.router.route(&path, post(call));
    api
}

async fn call(
    methods: Methods,
    whole: App,
    app: App,
    caller: Caller,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let base = Base::of(&request);
    let said = Version::read(request.headers(), request.uri());
    let Some(method) = methods.named(&name).cloned() else {
        let message = format!("there is no method `{}`", signoff_core::text::clean(&name, 64));
        return status(&GrpcFault {
            status: "UNIMPLEMENTED".to_owned(),
            message,
            details: Vec::new(),
        });
    };
    let limit = whole.settings.max_body;
    let call = Call { app, caller, base, said: said.map(drop).map_err(grpc) };
    let response = signoff_a2a_grpc::answer(call, method, limit, request).await;
    response.map(axum::body::Body::new).into_response()
}

fn status(fault: &GrpcFault) -> Response {
    signoff_a2a_grpc::refuse(fault.clone()).map(axum::body::Body::new).into_response()
}

/// Carries out one call.
#[derive(Clone)]
struct Call {
    app: App,
    caller: Caller,
    base: Base,
    said: Result<(), GrpcFault>,
}

impl Call {
    /// The agent that is meant, and the rest of what was sent.
    fn agent(&self, params: &mut Value) -> Result<String, Fault> {
        let named = params.as_object_mut().and_then(|fields| fields.remove("tenant"));
        let Some(Value::String(agent)) = named else {
            let problem = "it names the agent: the card's interface says it";
            return Err(Fault::invalid("tenant", problem));
        };
        known(&self.app, &agent)?;
        Ok(agent)
    }

    async fn perform(&self, name: &str, mut params: Value) -> Result<Value, Fault> {
        let (app, caller) = (&self.app, &self.caller);
        let agent = self.agent(&mut params)?;
        let new = Version::New;
        match name {
            "SendMessage" => {
                let told = send::send(app, caller, &agent, new, read(params)?).await?;
                new.event(&told, Until::Rest)
            }
            "GetTask" => new.task(&tasks::get(app, caller, &agent, read(params)?).await?),
            "CancelTask" => new.task(&tasks::cancel(app, caller, &agent, read(params)?).await?),
            "ListTasks" => {
                let list = tasks::list(app, caller, &agent, read(params)?).await?;
                serde_json::to_value(list).map_err(|error| broken(&error))
            }
            "CreateTaskPushNotificationConfig" => {
                let wanted = new.wanted_push(params)?;
                new.push(&push::create(app, caller, &agent, new, wanted).await?)
            }
            "GetTaskPushNotificationConfig" => {
                new.push(&push::get(app, caller, &agent, read(params)?).await?)
            }
            "ListTaskPushNotificationConfigs" => {
                Ok(push::page(&push::list(app, caller, &agent, read(params)?).await?))
            }
            "DeleteTaskPushNotificationConfig" => {
                push::delete(app, caller, &agent, read(params)?).await?;
                Ok(json!({}))
            }
            "GetExtendedAgentCard" => card::card(app, &self.base, &agent),
            _ => Err(Fault::new(Kind::MethodNotFound, format!("there is no method `{name}`"))),
        }
    }

    async fn follow(&self, name: &str, mut params: Value) -> Result<Follow, Fault> {
        let (app, caller) = (&self.app, &self.caller);
        let agent = self.agent(&mut params)?;
        match name {
            "SubscribeToTask" => tasks::subscribe(app, caller, &agent, read(params)?).await,
            _ => send::stream(app, caller, &agent, Version::New, read(params)?).await,
        }
    }
}

impl Operations for Call {
    async fn single(self, method: Method, params: Value) -> Result<Value, GrpcFault> {
        self.said.clone()?;
        self.perform(method.name(), params).await.map_err(grpc)
    }

    async fn stream(self, method: Method, params: Value) -> Result<Answers, GrpcFault> {
        self.said.clone()?;
        let follow = self.follow(method.name(), params).await.map_err(grpc)?;
        let told = futures_util::stream::try_unfold(follow, |mut follow| async move {
            let Some(event) = follow.next().await? else { return Ok(None) };
            let until = follow.until();
            Ok::<_, Fault>(Some((Version::New.event(&event, until)?, follow)))
        });
        Ok(told.map(|told| told.map_err(grpc)).boxed())
    }
}

fn grpc(fault: Fault) -> GrpcFault {
    let details = match fault.details() {
        Value::Array(details) => details,
        other => vec![other],
    };
    let (_, status) = fault.kind.status();
    GrpcFault { status: status.to_owned(), message: fault.message, details }
}
