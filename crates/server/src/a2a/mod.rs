//! The dialect of A2A: every workflow is an agent, and a task is a run seen from there.
//!
//! A task's id is its run's, its context is the run's conversation. How a task stands, what it made and what was said
//! is a fold of the journal (`project`), and streams tell that fold's steps (`follow`); so nothing is kept here, and
//! an event exists exactly when its entry is committed. The operations are plain functions (`send`, `tasks`, `card`)
//! over the words in `signoff_a2a::wire` and one kind of [fault](fault::Fault); JSON-RPC (`rpc`) and HTTP (`rest`) only
//! read and write.
//!
//! What these routes take and give is described by the specification of A2A and by each agent's card, not by our
//! `OpenAPI` document.

mod card;
mod fault;
mod follow;
#[cfg(feature = "grpc")]
mod grpc;
mod load;
mod message;
mod output;
mod project;
mod push;
mod question;
mod rest;
mod rpc;
mod send;
mod sign;
mod sse;
mod tasks;
mod version;

use axum::routing::post;
use signoff_a2a::wire::Task;

pub(crate) use card::{KEYS, PLACES as CARDS};
pub(crate) use push::Delivery as PushDelivery;
pub use push::Receivers;
pub use sign::CardKey;

use crate::api::Api;
use crate::app::App;
use crate::error::{ApiError, unknown_workflow};

/// Adds the routes of this dialect.
pub(crate) fn routes(api: Api) -> Api {
    let mut api = rest::routes(card::routes(api));
    #[cfg(feature = "grpc")]
    {
        api = grpc::routes(api);
    }
    for path in ["/a2a/{workflow}", "/a2a/{workflow}/"] {
        api.router = api.router.route(path, post(rpc::call));
    }
    api
}

/// Refuses an agent that is not there.
fn known(app: &App, workflow: &str) -> Result<(), ApiError> {
    let mut there = app.engine.workflows().map(|definition| &definition.workflow.id);
    if there.any(|id| id == workflow) {
        return Ok(());
    }
    let known: Vec<String> = app.engine.workflows().map(|it| it.workflow.id.clone()).collect();
    Err(unknown_workflow(workflow, &known))
}

/// A task with the latest messages only, as many as are wanted.
fn trimmed(mut task: Task, length: Option<usize>) -> Task {
    if let Some(length) = length {
        let before = task.history.len().saturating_sub(length);
        task.history.drain(..before);
    }
    task
}
