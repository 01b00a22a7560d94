//! `signoff` alone: what it is, what waits here, what to try.

use signoff_core::RunStatus;
use signoff_core::request::RequestStatus;
use signoff_store::{RequestFilter, RunFilter};

use crate::app::App;
use crate::failure::{Exit, Result};
use crate::out;
use crate::style::Style;

pub(crate) fn perform(app: &App) -> Result<Exit> {
    let style = Style::stdout();
    out::line(&format!(
        "{} runs multi-agent workflows that stop for people.",
        style.bold("signoff")
    ))?;
    out::line(&here(app)?)?;
    out::line("\nThings to try:")?;
    for (command, what) in [
        (
            "signoff run event_planner \"Plan a party for 30 people\"",
            "four agents; three of them ask you",
        ),
        ("signoff inbox", "what waits for people, from a second terminal"),
        ("signoff check FILE", "a workflow file of your own"),
    ] {
        out::line(&format!("  {}\n    {}", style.accent(command), style.dim(what)))?;
    }
    out::line("\n`signoff --help` lists all commands.")?;
    Ok(Exit::Done)
}

fn here(app: &App) -> Result<String> {
    let Some(store) = app.existing_store()? else {
        return Ok("No runs here yet.".to_owned());
    };
    let waiting = RunFilter { status: Some(RunStatus::Waiting), ..RunFilter::default() };
    let page = store.runs(&waiting, None, 100)?;
    let runs = page.items.iter().filter(|run| !crate::find::is_part(run)).count();
    let pending =
        RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    let requests = store.count_requests(&pending)?;
    let more = if page.next.is_some() { "more than " } else { "" };
    Ok(match (runs, requests) {
        (0, 0) => "Nothing waits here.".to_owned(),
        (1, 1) => "1 run waits here, with 1 question: signoff inbox".to_owned(),
        (runs, requests) => {
            format!("{more}{runs} runs wait here, with {requests} questions: signoff inbox")
        }
    })
}
