//! The native API: one file for each thing it is about.
//!
//! Other dialects add their routes here too. A route is added together with what the document says of it, so there is none without the other.

mod audit;
mod calendar;
mod decide;
mod decide_many;
mod defer;
mod errors;
mod events;
mod feedback;
mod filter;
mod grants;
mod group;
mod health;
mod markdown;
mod marks;
mod operation;
mod policy;
mod requests;
mod requests_events;
mod retry;
mod runs;
mod session;
mod start;
mod steer;
mod workflows;

use axum::Router;
use axum::handler::Handler;
use axum::http::{Method, Uri};
use axum::routing::on;

pub(crate) use decide::{decide_as_said, decide_request, take_decision};
pub(crate) use defer::{Defer, defer_request};
pub(crate) use filter::CountQuery;
pub(crate) use operation::{Answer, Operation, SchemaOf, Verb, of};
pub(crate) use requests::requests;
pub(crate) use runs::{MAX_PAGE, runs};
pub(crate) use start::{Start, conversation, key, start_run};

use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::{a2a, ag_ui, bridge, devui, link, mcp, openai, ws};

/// Routes, and what the document says of them.
#[derive(Debug, Default)]
pub(crate) struct Api {
    pub(crate) router: Router<App>,
    pub(crate) operations: Vec<&'static Operation>,
}

impl Api {
    /// Adds a route.
    pub(crate) fn add<H, T>(mut self, operation: &'static Operation, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.router = self.router.route(operation.path, on(operation.verb.filter(), handler));
        self.operations.push(operation);
        self
    }
}

/// Everything that is served.
pub(crate) fn api() -> Api {
    let api = Api::default();
    let api = health::routes(api);
    let api = workflows::routes(api);
    let api = start::routes(api);
    let api = runs::routes(api);
    let api = events::routes(api);
    let api = calendar::routes(api);
    let api = steer::routes(api);
    let api = retry::routes(api);
    let api = feedback::routes(api);
    let api = requests::routes(api);
    let api = requests_events::routes(api);
    let api = group::routes(api);
    let api = decide::routes(api);
    let api = decide_many::routes(api);
    let api = link::routes(api);
    let api = policy::routes(api);
    let api = grants::routes(api);
    let api = marks::routes(api);
    let api = defer::routes(api);
    let api = session::routes(api);
    let api = audit::routes(api);
    let api = markdown::routes(api);
    let api = errors::routes(api);
    let api = ws::routes(api);
    let api = bridge::routes(api);
    let api = a2a::routes(api);
    let api = ag_ui::routes(api);
    let api = mcp::routes(api);
    devui::routes(openai::routes(api))
}

/// The answer where there is no route.
pub(crate) async fn no_route(uri: Uri) -> ApiError {
    ApiError::new(Problem::UnknownRoute, format!("there is nothing at `{}`", uri.path()))
        .hint("GET /openapi.json lists what there is")
}

/// The answer where there is a route, but not for this method.
pub(crate) async fn no_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("`{}` does not take {method}", uri.path());
    ApiError::new(Problem::MethodNotAllowed, message)
}
