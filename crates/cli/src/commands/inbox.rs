//! `signoff inbox`: what waits for people, answered from any terminal.

use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value;
use signoff_client::Note;
use signoff_core::deciders::EVERY_ROLE;
use signoff_core::request::{Request, RequestKind, RequestStatus};
use signoff_core::{Actor, Entry, Span, Timestamp, Workflow};
use signoff_runtime::{
    Clock as _, DecideError, DecideRequest, DeferError, DeferRequest, SystemClock, Until,
};
use signoff_store::{RequestFilter, Store};
use signoff_tui::{RECENT_ENTRIES, said_before};

use super::{inbox_server, terminal};
use crate::app::{App, lacks};
use crate::args::{AnswerArgs, DeferArgs, InboxArgs, InboxCommand, InboxListArgs};
use crate::failure::{Exit, Failure, Result};
use crate::show::{ago, table};
use crate::style::{Style, printable, printable_line, short};
use crate::{find, out, show};

pub(crate) async fn perform(app: &App, args: InboxArgs) -> Result<Exit> {
    let server = args.server.server;
    match (args.command, server.as_deref()) {
        (None, server) if terminal::is_there() => inbox_server::screen(app, server).await,
        (Some(InboxCommand::Watch { json }), server) => {
            inbox_server::watch(app, server, json).await
        }
        (None, Some(server)) => inbox_server::list(app, server, &InboxListArgs::default()).await,
        (Some(InboxCommand::List(args)), Some(server)) => {
            inbox_server::list(app, server, &args).await
        }
        (Some(InboxCommand::Show { request, json }), Some(server)) => {
            inbox_server::show(app, server, &request, json).await
        }
        (Some(InboxCommand::Answer(args)), Some(server)) => {
            inbox_server::answer(app, server, &args).await
        }
        (None, None) => list(app, &InboxListArgs::default()),
        (Some(InboxCommand::List(args)), None) => list(app, &args),
        (Some(InboxCommand::Show { request, json }), None) => show(app, &request, json),
        (Some(InboxCommand::Answer(args)), None) => answer(app, &args).await,
        (Some(InboxCommand::Defer(args)), Some(server)) => {
            inbox_server::defer(app, server, args).await
        }
        (Some(InboxCommand::Defer(args)), None) => defer(app, args).await,
    }
}

fn now() -> Timestamp {
    SystemClock.now()
}

fn list(app: &App, args: &InboxListArgs) -> Result<Exit> {
    let kind = match &args.kind {
        None => None,
        Some(word) => Some(kind(word)?),
    };
    let filter = RequestFilter {
        status: Some(RequestStatus::Pending),
        kind,
        workflow: args.workflow.as_deref().map(Into::into),
        agent: args.agent.as_deref().map(Into::into),
        text: args.search.clone(),
        deferred: Some(args.deferred),
        ..RequestFilter::default()
    };
    let found = match app.existing_store()? {
        Some(store) => find::requests(&*store, &filter)?,
        None => Vec::new(),
    };
    listed(&found, args.json)
}

/// Prints requests as a table, or one a line.
pub(super) fn listed(found: &[Request], json: bool) -> Result<Exit> {
    if json {
        for request in found {
            out::json_line(&request.to_json())?;
        }
    } else if found.is_empty() {
        out::note("nothing waits for a person here");
    } else {
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        out::line(&table(&["REQUEST", "KIND", "WORKFLOW", "AGENT", "ASKED", "QUESTION"], &rows))?;
    }
    Ok(Exit::Done)
}

fn kind(word: &str) -> Result<RequestKind> {
    RequestKind::deserialize(Value::from(word)).map_err(|error| {
        Failure::usage(format!("--kind: {}", printable_line(&error.to_string()))).into()
    })
}

fn row(request: &Request) -> Vec<String> {
    let body = &request.body;
    vec![
        request.id.to_string(),
        body.kind.to_string(),
        printable_line(&request.workflow),
        body.agent_path.last().map(|agent| printable_line(agent)).unwrap_or_default(),
        ago(request.created_at, now()),
        short(&body.prompt, 60),
    ]
}

fn show(app: &App, id: &str, json: bool) -> Result<Exit> {
    let store = app.needed_store()?;
    let request = find::request(&*store, id)?;
    let workflow = workflow_of(&*store, &request);
    let notes = serde_json::to_value(store.notes(&request.id)?)?;
    let head = store.run(&request.run)?.map_or(0, |run| run.head);
    let after = head.saturating_sub(u64::from(RECENT_ENTRIES));
    let entries = store.entries(&request.run, after, RECENT_ENTRIES as usize)?;
    let around = Around { workflow, notes: serde_json::from_value(notes)?, entries };
    shown(app, &request, &around, json)
}

/// What is known about a request besides itself.
#[derive(Default)]
pub(super) struct Around {
    pub(super) workflow: Option<Workflow>,
    pub(super) notes: Vec<Note>,
    /// The last of its run's journal.
    pub(super) entries: Vec<Entry>,
}

/// Prints a request, and how to answer it.
pub(super) fn shown(app: &App, request: &Request, around: &Around, json: bool) -> Result<Exit> {
    if json {
        out::line(&serde_json::to_string_pretty(&request.to_json())?)?;
    } else {
        let (style, pending) = (Style::stdout(), request.status == RequestStatus::Pending);
        out::line(&show::request(request, around.workflow.as_ref(), style, now()))?;
        // What was said after it was decided is not what was said before it.
        let entries = if pending { around.entries.as_slice() } else { &[] };
        let said = said_before(entries, &request.body.prompt);
        if let Some(more) = show::around(&around.notes, &said, style) {
            out::line(&format!("\n{more}"))?;
        }
        if pending {
            out::line(&printable(&format!("\n{}", signoff_core::answer::accepted(&request.body))))?;
            let answer = app.command_line(&format!("inbox answer {} …", request.id));
            out::line(&format!("answer with: {answer}"))?;
        }
    }
    Ok(Exit::Done)
}

fn workflow_of(store: &dyn Store, request: &Request) -> Option<Workflow> {
    let version = store.run(&request.run).ok()??.version;
    serde_json::from_str(&store.definition(&version).ok()??.body).ok()
}

/// Who does it, as `--as` says.
fn actor(name: &str) -> Result<Actor> {
    let by = printable_line(name);
    if by.is_empty() || by != name || by.len() > 128 {
        return Err(Failure::usage("--as: a name is one line of at most 128 bytes").into());
    }
    Ok(Actor::new(by.as_str()))
}

async fn defer(app: &App, args: DeferArgs) -> Result<Exit> {
    let by = actor(&args.by)?;
    let until = match (args.until.parse::<Span>(), args.until.parse::<Timestamp>()) {
        (Ok(span), _) => Until::After(span),
        (_, Ok(at)) => Until::At(at),
        _ => {
            let message =
                "until when: a length of time like 2h, or a time like 2026-11-16T09:00:00Z";
            return Err(Failure::usage(message).into());
        }
    };
    let store = app.needed_store()?;
    let request = find::request(&*store, &args.request)?.id;
    let library = app.library(&[])?;
    let engine = app.engine_at_hand(Arc::clone(&store), &library, Vec::new())?;
    let (note, roles) = (args.note, vec![EVERY_ROLE.into()]);
    let deferred = engine.defer(DeferRequest { request, until, note, by, roles }).await;
    let deferred = deferred.map_err(|error| match error {
        DeferError::Decide(error) => refused(error),
        wrong @ DeferError::Invalid { .. } => Failure::usage(printable(&wrong.to_string())).into(),
    })?;
    self::deferred(app, &deferred, args.json)
}

/// Says that a request was put off.
pub(super) fn deferred(app: &App, request: &Request, json: bool) -> Result<Exit> {
    if json {
        out::json_line(&request.to_json())?;
    } else {
        let until = request.deferred_until.map(|at| at.to_string()).unwrap_or_default();
        let seen = app.command_line("inbox list --deferred");
        out::note(&format!("{} is put off until {until} · {seen}", request.id));
    }
    Ok(Exit::Done)
}

async fn answer(app: &App, args: &AnswerArgs) -> Result<Exit> {
    let by = actor(args.by.as_deref().unwrap_or("local"))?;
    let store = app.needed_store()?;
    let request = find::request(&*store, &args.request)?;
    let decision = super::decision(&request.body, args.text.as_deref(), args.decision.as_deref())?;
    let library = app.library(&[])?;
    let engine = app.engine_at_hand(Arc::clone(&store), &library, Vec::new())?;
    let drive = !args.no_drive && can_drive(&store, &engine, &request)?;
    let decide = DecideRequest::new(request.id.clone(), decision).by(by);
    let outcome =
        if drive { engine.decide(decide).await } else { engine.take_decision(decide).await };
    let outcome = outcome.map_err(refused)?;
    if let (false, Some(lease)) = (drive, outcome.lease) {
        store.release(lease).await?;
    }
    let decided = find::request(&*store, request.id.as_str())?;
    if args.json {
        out::json_line(&decided.to_json())?;
    } else {
        let what = decided.decision.as_ref().map(|it| show::decision(&it.decision));
        let again = if outcome.changed { "" } else { " (it was decided so before)" };
        out::note(&format!("{}: {}{again}", decided.id, what.unwrap_or_default()));
    }
    engine.idle().await;
    if drive && !args.json {
        rests(app, &*store, &decided)?;
    }
    Ok(Exit::Done)
}

/// Whether this process has all that the run needs. If not, whoever started it will drive it.
fn can_drive(
    store: &Arc<dyn Store>,
    engine: &signoff_runtime::Engine,
    request: &Request,
) -> Result<bool> {
    for run in [&request.run, &request.root] {
        if let Some(record) = store.run(run)?
            && let Err(error) = engine.definition(&record.version)
        {
            let failure = lacks(error);
            out::note(&format!("the decision is taken, but the run is not driven here: {failure}"));
            return Ok(false);
        }
    }
    Ok(true)
}

fn rests(app: &App, store: &dyn Store, decided: &Request) -> Result<()> {
    let Some(record) = store.run(&decided.root)? else { return Ok(()) };
    let hint = if record.status.is_over() {
        app.command_line(&format!("resume {}", record.id))
    } else {
        app.command_line("inbox")
    };
    out::note(&format!("{} is {} · {hint}", record.id, record.status));
    Ok(())
}

fn refused(error: DecideError) -> anyhow::Error {
    match error {
        DecideError::Store(error) => error.into(),
        other => Failure::usage(printable(&other.to_string())).into(),
    }
}
