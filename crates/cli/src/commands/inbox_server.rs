//! `signoff inbox` over a server: the screen, and the same for scripts.

use serde_json::json;
use signoff_client::{Filter, InboxEvent, Server};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{RequestId, Span};
use signoff_tui::RECENT_ENTRIES;
use signoff_tui::inbox::Inbox;
use signoff_tui::screen::{self, Screen};

use super::connect::{Connected, connect, refused};
use super::inbox::Around;
use super::terminal;
use crate::app::App;
use crate::args::{AnswerArgs, DeferArgs, InboxListArgs};
use crate::failure::{Exit, Failure, Result};
use crate::style::{printable_line, short};
use crate::{out, show};

/// The screen.
pub(crate) async fn screen(app: &App, named: Option<&str>) -> Result<Exit> {
    let settings = terminal::saved()?.settings;
    let connected = connect(app, named).await?;
    let state =
        Inbox::new(&connected.session.actor, settings.theme, settings.bell, terminal::now());
    {
        let mut screen = Screen::take()?;
        screen::inbox(&mut screen, connected.server.clone(), state, terminal::now).await?;
    }
    connected.leave().await;
    Ok(Exit::Done)
}

pub(crate) async fn list(app: &App, url: &str, args: &InboxListArgs) -> Result<Exit> {
    let Connected { server, .. } = connect(app, Some(url)).await?;
    let filter = Filter {
        kind: args.kind.clone(),
        workflow: args.workflow.clone(),
        agent: args.agent.clone(),
        text: args.search.clone(),
        deferred: args.deferred.then_some(true),
        ..Filter::pending()
    };
    let found = server.all_requests(&filter).await.map_err(|error| refused(&error))?;
    super::inbox::listed(&found, args.json)
}

pub(crate) async fn show(app: &App, url: &str, id: &str, json: bool) -> Result<Exit> {
    let Connected { server, .. } = connect(app, Some(url)).await?;
    let request = find(&server, id).await?;
    let noted = server.request(&request.id).await.map_err(|error| refused(&error))?;
    // Without what was said it can be decided as well.
    let entries = server.last_entries(&request.run, RECENT_ENTRIES).await.unwrap_or_default();
    let around = Around { workflow: None, notes: noted.notes, entries };
    super::inbox::shown(app, &noted.request, &around, json)
}

pub(crate) async fn answer(app: &App, url: &str, args: &AnswerArgs) -> Result<Exit> {
    if args.by.is_some() {
        return Err(Failure::usage("--as: a server knows by the token who answers")
            .hint("put another token in SIGNOFF_TOKEN")
            .into());
    }
    let Connected { server, .. } = connect(app, Some(url)).await?;
    let request = find(&server, &args.request).await?;
    let decision = super::decision(&request.body, args.text.as_deref(), args.decision.as_deref())?;
    let decided = server.decide(&request.id, request.version, &decision).await;
    let decided = decided.map_err(|error| refused(&error))?;
    if args.json {
        out::json_line(&decided.to_json())?;
    } else {
        let what = decided.decision.as_ref().map(|it| show::decision(&it.decision));
        let what = what.unwrap_or_else(|| "it counts; others must agree".to_owned());
        out::note(&format!("{}: {what}", decided.id));
    }
    Ok(Exit::Done)
}

pub(crate) async fn defer(app: &App, url: &str, args: DeferArgs) -> Result<Exit> {
    let Connected { server, .. } = connect(app, Some(url)).await?;
    let request = find(&server, &args.request).await?;
    let name = if args.until.parse::<Span>().is_ok() { "for" } else { "until" };
    let deferred = server.defer(&request.id, (name, &args.until), args.note.as_deref()).await;
    let deferred = deferred.map_err(|error| refused(&error))?;
    super::inbox::deferred(app, &deferred, args.json)
}

/// The request that `text` means: its id, or the beginning or end of one that waits.
async fn find(server: &Server, text: &str) -> Result<Request> {
    if let Ok(noted) = server.request(&RequestId::new(text)).await {
        return Ok(noted.request);
    }
    let all = server.all_requests(&Filter::pending()).await.map_err(|error| refused(&error))?;
    let fits =
        |request: &&Request| crate::find::means(request.id.as_str(), request.id.unique(), text);
    let found: Vec<&Request> = all.iter().filter(fits).collect();
    let shown = printable_line(text);
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Failure::usage(format!("there is no request `{shown}` that waits"))
            .hint("`signoff inbox list` lists what waits")
            .into()),
        several => Err(Failure::usage(format!("`{shown}` could be {} requests", several.len()))
            .hint("type more of it")
            .into()),
    }
}

/// Tells what happens to requests until Ctrl-C.
pub(crate) async fn watch(app: &App, named: Option<&str>, json: bool) -> Result<Exit> {
    let connected = connect(app, named).await?;
    let mut events = connected.server.inbox();
    let interrupt = tokio::signal::ctrl_c();
    tokio::pin!(interrupt);
    loop {
        let event = tokio::select! {
            _ = &mut interrupt => break,
            event = events.next() => event,
        };
        match event {
            InboxEvent::Listening if json => out::json_line(&json!({ "type": "listening" }))?,
            InboxEvent::Listening => out::note("listening; Ctrl-C ends it"),
            InboxEvent::Change { change, request } if json => {
                out::json_line(
                    &json!({ "type": "request", "change": change, "request": request.to_json() }),
                )?;
            }
            InboxEvent::Change { change, request } => out::line(&told(&change, &request))?,
            InboxEvent::Lost { problem } => {
                out::note(&format!("no server: {}; trying again", printable_line(&problem)));
            }
            InboxEvent::Strange(what) => {
                out::note(&format!("the server said something strange: {}", short(&what, 200)));
            }
            InboxEvent::Refused(problem) => {
                return Err(Failure::usage(printable_line(&problem)).into());
            }
        }
    }
    connected.leave().await;
    Ok(Exit::Interrupted)
}

fn told(change: &str, request: &Request) -> String {
    let taken = request.decision.as_ref().filter(|_| request.status == RequestStatus::Decided);
    let more = match taken {
        Some(taken) => {
            format!("{} by {}", show::decision(&taken.decision), printable_line(taken.by.as_str()))
        }
        None => short(&request.body.prompt, 80),
    };
    format!("{} {}  {}", printable_line(change), request.id, more)
}
