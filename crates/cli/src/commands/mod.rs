//! One file for each command.

mod audit;
mod beacon;
mod chat;
mod check;
mod connect;
mod doctor;
mod export;
mod fork;
mod import;
mod inbox;
mod inbox_server;
mod journal;
mod mcp;
mod migrate;
mod policy;
mod prune;
mod resume;
mod run;
mod runs;
mod schema;
mod serve;
mod terminal;
mod user;
mod webhook;

use clap::CommandFactory as _;
use signoff_core::Decision;
use signoff_core::answer::{self, Answers};
use signoff_core::request::RequestBody;

use crate::app::App;
use crate::args::{Cli, Command, FollowArgs, ServeArgs};
use crate::failure::{Exit, Failure, Result};
use crate::follow::Options;
use crate::library::{self, Report};
use crate::style::printable;

/// Does what was typed.
pub(crate) async fn perform(app: App, cli: ServeArgs, command: Option<Command>) -> Result<Exit> {
    if cli.addr.is_some() && !matches!(command, None | Some(Command::Serve(_))) {
        return Err(Failure::usage("--addr is an option of `signoff serve`").into());
    }
    let traces = app.traces().clone();
    let done = carry_out(app, cli, command).await;
    traces.finish().await;
    done
}

async fn carry_out(app: App, cli: ServeArgs, command: Option<Command>) -> Result<Exit> {
    match command {
        None => serve::perform(&app, cli).await,
        Some(Command::Serve(args)) => serve::perform(&app, args.or(cli)).await,
        Some(Command::Run(args)) => run::perform(app, args).await,
        Some(Command::Resume(args)) => resume::perform(&app, args).await,
        Some(Command::Runs(args)) => runs::perform(&app, &args),
        Some(Command::Chat(args)) => chat::perform(&app, args).await,
        Some(Command::Inbox(args)) => inbox::perform(&app, args).await,
        Some(Command::Journal(args)) => journal::perform(&app, &args),
        Some(Command::Fork(args)) => fork::perform(&app, args).await,
        Some(Command::Check(args)) => check::perform(&app, &args),
        Some(Command::Schema(args)) => schema::perform(&args),
        Some(Command::Audit(args)) => audit::perform(&app, args.command),
        Some(Command::Policy(args)) => policy::perform(&app, args.command),
        Some(Command::User(args)) => user::perform(&app, args.command).await,
        Some(Command::Doctor { json }) => doctor::perform(&app, json),
        Some(Command::Prune(args)) => prune::perform(&app, &args).await,
        Some(Command::Export(args)) => export::perform(&app, &args).await,
        Some(Command::Import(args)) => import::perform(&app, &args).await,
        Some(Command::Migrate(args)) => migrate::perform(&app, &args),
        Some(Command::Webhook(args)) => webhook::perform(&app, args.command).await,
        Some(Command::Mcp(args)) => mcp::perform(&app, args).await,
        Some(Command::Bench(args)) => crate::bench::run(&args, None).map(|()| Exit::Done),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "signoff", &mut script);
            crate::out::line(String::from_utf8_lossy(&script).trim_end())?;
            Ok(Exit::Done)
        }
        Some(Command::Man { command }) => manual(command.as_deref()),
    }
}

/// Prints the manual page of the program or of one of its commands.
fn manual(command: Option<&str>) -> Result<Exit> {
    let mut all = Cli::command();
    // Makes the commands know the options of all of them.
    all.build();
    let title = command.map_or_else(|| "signoff".to_owned(), |name| format!("signoff-{name}"));
    let page = match command {
        None => all,
        Some(name) => {
            let names: Vec<String> =
                all.get_subcommands().map(|it| it.get_name().to_owned()).collect();
            let found = all.get_subcommands().find(|it| it.get_name() == name).cloned();
            let missing = || {
                Failure::usage(format!("there is no command `{}`", printable(name)))
                    .hint(format!("there are {}", names.join(", ")))
            };
            found.ok_or_else(missing)?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).title(title).render(&mut text)?;
    crate::out::line(String::from_utf8_lossy(&text).trim_end())?;
    Ok(Exit::Done)
}

/// How a run is to be followed, with the answers file read.
fn options(args: &FollowArgs) -> Result<Options> {
    let answers = match &args.answers {
        None => Answers::default(),
        Some(path) => {
            let name = path.display().to_string();
            let mut report = Report::default();
            let text = library::read_text(path, &name, &mut report);
            let answers = text.and_then(|text| {
                report.add_source(&name, text.clone());
                Answers::parse(&text)
                    .map_err(|problems| {
                        report.extend(problems.into_iter().map(|it| it.in_file(&name)));
                    })
                    .ok()
            });
            match answers {
                Some(answers) => answers,
                None => return Err(report.into_failure().into()),
            }
        }
    };
    Ok(Options { json: args.json, no_prompt: args.no_prompt, answers })
}

/// The decision that was typed, as text or as JSON.
fn decision(body: &RequestBody, text: Option<&str>, json: Option<&str>) -> Result<Decision> {
    let refused = |problem: &str| Failure::usage(printable(problem));
    if let Some(json) = json {
        let decision: Decision = serde_json::from_str(json).map_err(|error| {
            refused(&format!("--decision: {error}"))
                .hint(r#"write for example {"decision":"approve"} or {"decision":"respond","content":"text"}"#)
        })?;
        body.check(&decision).map_err(|refusal| {
            refused(&refusal.to_string()).hint(printable(&answer::accepted(body)))
        })?;
        return Ok(decision);
    }
    Ok(answer::from_text(body, text.unwrap_or_default()).map_err(|problem| refused(&problem))?)
}
