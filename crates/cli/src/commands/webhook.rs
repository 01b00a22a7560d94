//! `signoff webhook`: tries out who is told what happens to requests.

use signoff_runtime::{Clock as _, SystemClock, new_id};

use crate::app::App;
use crate::args::WebhookCommand;
use crate::failure::{Exit, Failure, Result};
use crate::out;
use crate::style::printable_line;

pub(crate) async fn perform(app: &App, command: WebhookCommand) -> Result<Exit> {
    let WebhookCommand::Test { name } = command;
    let refused =
        |problem: &str| Failure { exit: Exit::Failed, ..Failure::usage(printable_line(problem)) };
    if let Some(channel) = name.strip_prefix("channel:") {
        app.channel(channel)?.reach().await.map_err(|problem| refused(&problem))?;
        out::line(&format!("{name} can be reached"))?;
        return Ok(Exit::Done);
    }
    let webhook = app.webhook(&name)?;
    let answer = webhook.ping(&new_id(), SystemClock.now()).await;
    let answer = answer.map_err(|error| refused(&error.to_string()))?;
    out::line(&format!("{name} answers {answer}"))?;
    Ok(if (200..300).contains(&answer) { Exit::Done } else { Exit::Failed })
}
