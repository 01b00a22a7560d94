//! `signoff chat`: a conversation with a workflow on this terminal.

use signoff_client::Endpoint;
use signoff_tui::chat::Chat;
use signoff_tui::saved::Saved;
use signoff_tui::screen::{self, Behind, Left, Screen};

use super::connect::{connect, refused};
use super::terminal;
use crate::app::App;
use crate::args::ChatArgs;
use crate::env;
use crate::failure::{Exit, Failure, Result};
use crate::out;

pub(crate) async fn perform(app: &App, args: ChatArgs) -> Result<Exit> {
    if !terminal::is_there() {
        return Err(Failure::usage("`signoff chat` needs a terminal")
            .hint("in scripts, `signoff run --json` and `signoff inbox answer` do the same")
            .into());
    }
    let saved = terminal::saved()?;
    let named = args.server.server.is_some() || args.workflow.is_some();
    let again = args.conversation.is_some() || args.resume;
    if !named
        && !again
        && let Some((endpoint, workflow)) = endpoint()?
    {
        return plain(endpoint, workflow, saved).await;
    }
    let connected = connect(app, args.server.server.as_deref()).await?;
    let conversation = match args.conversation {
        None if args.resume => {
            let here = |it: &&signoff_tui::saved::Session| it.place == connected.place;
            let found = saved.sessions.iter().find(here).map(|it| it.conversation.clone());
            Some(found.ok_or_else(|| Failure::usage("no session was left here"))?)
        }
        named => named,
    };
    let me = connected.session.actor.clone();
    let state = Chat::new(&me, &connected.place, saved, terminal::now());
    let left = {
        let mut screen = Screen::take()?;
        let behind = Behind::Server(connected.server.clone());
        let begin = (args.workflow, conversation);
        screen::chat(&mut screen, behind, state, begin, terminal::now, &me, terminal::edit).await
    }?;
    tell(app, args.server.server.as_deref(), &left);
    connected.leave().await;
    Ok(Exit::Done)
}

/// Says how to go on.
fn tell(app: &App, server: Option<&str>, left: &Left) {
    let Some(conversation) = &left.conversation else { return };
    let server = server.map(|url| format!(" --server {url}")).unwrap_or_default();
    let waits = match left.waiting {
        0 => String::new(),
        1 => "1 question waits in the inbox. ".to_owned(),
        n => format!("{n} questions wait in the inbox. "),
    };
    let again = app.command_line(&format!("chat --conversation {conversation}{server}"));
    out::note(&format!("{waits}Nothing is lost; go on with: {again}"));
}

/// The endpoint that the environment names, and whether it is a workflow's.
fn endpoint() -> Result<Option<(Endpoint, bool)>> {
    let needs = |variable: env::Variable| {
        Failure::usage(format!("{} is not set", variable.name))
            .hint("it says which model or workflow to talk to there")
    };
    if let Some(base) = env::text(env::AF_BRIDGE_BASE_URL) {
        let model = env::text(env::AF_MODEL).or_else(|| env::text(env::OPENAI_MODEL));
        let model = model.ok_or_else(|| needs(env::AF_MODEL))?;
        let endpoint = Endpoint::bridge(&base, &model).map_err(|error| refused(&error))?;
        return Ok(Some((endpoint, true)));
    }
    let Some(base) = env::text(env::OPENAI_BASE_URL) else { return Ok(None) };
    let model = env::text(env::OPENAI_MODEL).ok_or_else(|| needs(env::OPENAI_MODEL))?;
    let key = env::text(env::OPENAI_API_KEY);
    let endpoint =
        Endpoint::plain(&base, key.as_deref(), &model).map_err(|error| refused(&error))?;
    Ok(Some((endpoint, false)))
}

async fn plain(endpoint: Endpoint, workflow: bool, saved: Saved) -> Result<Exit> {
    let place = endpoint.address().shown();
    let state = Chat::new("you", &place, saved, terminal::now()).plain(endpoint.model(), workflow);
    let mut screen = Screen::take()?;
    let behind = Behind::Endpoint(Box::new(endpoint));
    screen::chat(&mut screen, behind, state, (None, None), terminal::now, "you", terminal::edit)
        .await?;
    Ok(Exit::Done)
}
