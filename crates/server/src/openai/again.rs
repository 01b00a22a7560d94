//! The same sent again. OpenAI's libraries do so by themselves when a connection breaks, and what was sent
//! may have arrived the first time: then the text of an answer must not answer the next question.

use axum::http::HeaderMap;
use serde_json::Value;
use signoff_core::journal::Event;
use signoff_core::request::RequestStatus;
use signoff_core::{Decision, Request, RunId};
use signoff_runtime::Engine;
use signoff_store::{RequestFilter, RunRecord};

use super::answer::decision;
use super::fault::Fault;
use super::id::Manner;
use crate::api;
use crate::error::{ApiError, Problem};
use crate::idempotency::{self, Derived};

/// What the head of a request says about repeating.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// The ids of a run that is started by this request.
    pub(super) ids: Option<Derived>,
    /// Whether this was sent before.
    pub(super) repeated: bool,
    /// Whether one of OpenAI's libraries asks. They take no events but their own.
    pub(super) library: bool,
}

impl Again {
    pub(super) fn read(headers: &HeaderMap, tenant: &str) -> Result<Self, Fault> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let key = text("idempotency-key").map(api::key).transpose()?;
        let count = text("x-stainless-retry-count").and_then(|count| count.parse::<u32>().ok());
        Ok(Self {
            ids: key.map(|key| idempotency::derive(tenant, key)),
            repeated: count.is_some_and(|count| count > 0),
            library: headers.contains_key("x-stainless-lang"),
        })
    }
}

impl Again {
    /// How to tell a response to whoever asks.
    pub(super) fn manner(&self) -> Manner {
        if self.library { Manner::Plain } else { Manner::Framework }
    }
}

/// What was found to be done before.
#[derive(Debug)]
pub(super) enum Done {
    Started(RunId),
    Answered(Box<Request>, Decision),
}

/// Whether a run was started by this key with the same.
pub(super) fn started(
    engine: &Engine,
    run: &RunId,
    workflow: Option<&str>,
    input: &Value,
) -> Result<bool, Fault> {
    if engine.store().run(run)?.is_none() {
        return Ok(false);
    }
    let first = engine.store().entries(run, 0, 1)?.into_iter().next().map(|entry| entry.event);
    match first {
        Some(Event::Started(it)) if workflow == Some(&*it.workflow) && it.input == *input => {
            Ok(true)
        }
        _ => {
            let message = "this `Idempotency-Key` was used for another run before";
            Err(ApiError::new(Problem::IdempotencyConflict, message)
                .hint("take a new key for a new run")
                .into())
        }
    }
}

/// What the latest run of a conversation has that may be this: its last answer, or its start.
pub(super) fn done(
    engine: &Engine,
    record: &RunRecord,
    value: &Value,
    input: &Value,
) -> Result<Option<Done>, Fault> {
    let store = engine.store();
    let decided = RequestFilter {
        status: Some(RequestStatus::Decided),
        root: Some(record.id.clone()),
        ..RequestFilter::default()
    };
    let at = |request: &Request| request.decision.as_ref().map(|taken| taken.at);
    let last = store.requests(&decided, None, 1000)?.items.into_iter().max_by_key(at);
    if let Some(request) = last {
        let same = decision(&request, value).ok().filter(|decision| {
            request.decision.as_ref().is_some_and(|taken| taken.decision == *decision)
        });
        return Ok(same.map(|decision| Done::Answered(Box::new(request), decision)));
    }
    let first = store.entries(&record.id, 0, 1)?.into_iter().next().map(|entry| entry.event);
    let same = matches!(first, Some(Event::Started(started)) if started.input == *input);
    Ok(same.then(|| Done::Started(record.id.clone())))
}
