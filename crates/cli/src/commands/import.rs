//! `signoff import`: takes in a run that was exported elsewhere.

use std::io::{BufReader, Read};

use serde_json::json;
use signoff_core::Actor;
use signoff_runtime::{Clock as _, SystemClock};
use signoff_store::{TakeIn, TakenIn};

use crate::app::App;
use crate::args::ImportArgs;
use crate::failure::{Exit, Failure, Result};
use crate::style::printable_line;
use crate::{exchange, out};

pub(crate) async fn perform(app: &App, args: &ImportArgs) -> Result<Exit> {
    let name = args.file.display().to_string();
    let wrong = |problem: &str| Failure::usage(printable_line(&format!("{name}: {problem}")));
    let file: Box<dyn Read> = if args.file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(&args.file).map_err(|error| wrong(&error.to_string()))?)
    };
    let exported = exchange::read(BufReader::new(file)).map_err(|problem| {
        wrong(&problem).hint("a file that `signoff export` has written, whole and unchanged")
    })?;
    let run = exported.run.clone();
    let was_over = exported.runs.iter().any(|it| it.id == run && it.status.is_over());
    let store = app.store()?;
    let take = TakeIn { exported, by: Actor::local(), at: SystemClock.now() };
    let taken = store.take_in(take).await?;
    let status = store.run(&run)?.map(|record| record.status);
    let new = match taken {
        TakenIn::New(new) => new,
        TakenIn::Known => 0,
        TakenIn::Differs(id) => {
            let message = format!("there is a run {id} here already, and its journal is another");
            let failure = Failure { exit: Exit::Failed, ..Failure::usage(message) };
            return Err(failure.hint("nothing was changed; `signoff journal RUN` shows it").into());
        }
    };
    if args.json {
        out::json_line(&json!({ "run": run, "status": status, "new": new }))?;
        return Ok(Exit::Done);
    }
    let goes_on = status.is_some_and(|it| !it.is_over());
    let status = status.map(|it| it.to_string()).unwrap_or_default();
    out::line(&match new {
        0 => format!("{run} is here already: {status}"),
        1 => format!("{run}: {status}"),
        more => format!("{run}: {status}, with {} more that belong to it", more - 1),
    })?;
    if goes_on {
        out::note(&format!("to go on: {}", app.command_line("inbox")));
    } else if !was_over {
        out::note("it has ended here since, or was moved from here: it does not come back");
    }
    Ok(Exit::Done)
}
