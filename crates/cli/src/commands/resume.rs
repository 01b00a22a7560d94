//! `signoff resume`: goes on with a run.

use signoff_core::{Actor, RunStatus};
use signoff_runtime::Engine;
use signoff_store::RunRecord;

use crate::app::{App, lacks};
use crate::args::ResumeArgs;
use crate::failure::{Exit, Result};
use crate::follow::{Follow, From, Options, end};
use crate::style::Style;
use crate::{find, out};

pub(crate) async fn perform(app: &App, args: ResumeArgs) -> Result<Exit> {
    let options = super::options(&args.follow)?;
    let store = app.needed_store()?;
    let mut record = find::run(&*store, &args.run, true)?;
    if find::is_part(&record) {
        // A part goes on with the whole.
        record = find::run(&*store, record.root.as_str(), false)?;
    }
    let library = app.library(&[])?;
    let engine = app.engine_at_hand(store, &library, Vec::new())?;
    go_on(app, &engine, &record, options, From::Now).await
}

/// Follows a run that exists.
pub(super) async fn go_on(
    app: &App,
    engine: &Engine,
    record: &RunRecord,
    options: Options,
    from: From,
) -> Result<Exit> {
    if record.status.is_over() {
        return end::ended(engine, record, options.json);
    }
    // Found out before anything is claimed: a run that cannot be driven here is left alone.
    engine.definition(&record.version).map_err(lacks)?;
    if !options.json {
        out::note(&Style::stderr().dim(&format!("{} · {}", record.workflow, record.id)));
    }
    let live = engine.watch();
    let follow = Follow::new(app, engine, &record.id, options, live, from)?;
    if record.status == RunStatus::Paused {
        engine.unpause(&record.id, Actor::local()).await?;
    }
    Box::pin(follow.follow()).await
}
