//! `signoff fork`: another way from a place in a run's journal.

use signoff_core::journal::Event;
use signoff_core::request::RequestBody;
use signoff_core::{Actor, RunState, Seq};
use signoff_runtime::{EngineError, ForkRun};
use signoff_store::{RunRecord, Store};

use super::resume::go_on;
use crate::app::App;
use crate::args::ForkArgs;
use crate::failure::{Exit, Failure, Result};
use crate::follow::From;
use crate::style::printable;
use crate::{find, out};

/// The longest reason, in characters.
const MAX_REASON: usize = 16 * 1024;

pub(crate) async fn perform(app: &App, args: ForkArgs) -> Result<Exit> {
    let options = super::options(&args.follow)?;
    if args.reason.as_ref().is_some_and(|why| why.chars().count() > MAX_REASON) {
        let message = format!("--reason: at most {MAX_REASON} characters");
        return Err(Failure::usage(message).into());
    }
    let store = app.needed_store()?;
    let old = find::run(&*store, &args.run, false)?;
    let decision = match (&args.answer, &args.decision) {
        (None, None) => None,
        (text, json) => {
            let body = waiting_at(&*store, &old, args.at)?;
            Some(super::decision(&body, text.as_deref(), json.as_deref())?)
        }
    };
    let library = app.library(&[])?;
    let engine = app.engine_at_hand(store, &library, Vec::new())?;
    let (run, by) = (old.id.clone(), Actor::local());
    let fork = ForkRun { run, at: args.at, decision, by, reason: args.reason };
    let forked = engine.fork(fork).await.map_err(refused)?;
    let record = find::run(&**engine.store(), forked.run.as_str(), false)?;
    if !options.json {
        out::note(&format!("forked {} at {}: {}", old.id, args.at, forked.run));
    }
    go_on(app, &engine, &record, options, From::After(shared(&engine.state(&forked.run)?))).await
}

/// How many entries the fork has in common with the old run.
fn shared(state: &RunState) -> Seq {
    state.started.forked_from.as_ref().map_or(0, |(_, at)| *at)
}

/// The one request that waits at a place in a journal, before it is decided there.
fn waiting_at(store: &dyn Store, run: &RunRecord, at: Seq) -> Result<RequestBody> {
    let mut entries = store.load(&run.id, Some(at))?.entries;
    while let Some(Event::Decided { .. } | Event::Expired { .. }) =
        entries.last().map(|entry| &entry.event)
    {
        entries.pop();
    }
    let cannot = |problem: &str| {
        Failure::usage(format!("{problem} at {at}"))
            .hint("`signoff journal` shows where something was asked")
    };
    let state = RunState::fold(&entries).map_err(|_| cannot("there is nothing"))?;
    let mut pending = state.pending();
    match (pending.next(), pending.next()) {
        (Some((_, request)), None) => Ok(RequestBody::clone(&request.body)),
        (None, _) => Err(cannot("no request waits").into()),
        (Some(_), Some(_)) => Err(cannot("several requests wait").into()),
    }
}

fn refused(error: EngineError) -> anyhow::Error {
    match error {
        EngineError::Store(error) => error.into(),
        EngineError::Unable(error) => crate::app::lacks(error).into(),
        other => Failure::usage(printable(&other.to_string()))
            .hint("`signoff journal` shows the numbers")
            .into(),
    }
}
