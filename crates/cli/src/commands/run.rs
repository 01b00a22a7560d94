//! `signoff run`: one run in this process.

use std::io::{BufRead as _, Read as _};
use std::path::Path;

use serde_json::Value;
use signoff_core::id::ConversationId;
use signoff_core::{Workflow, schema};
use signoff_runtime::{EngineError, StartRun};

use crate::app::App;
use crate::args::RunArgs;
use crate::failure::{Exit, Failure, Result};
use crate::follow::{Follow, From};
use crate::style::{Style, printable, short};
use crate::{library, out, show};

/// The largest input, in bytes.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

pub(crate) async fn perform(app: App, args: RunArgs) -> Result<Exit> {
    let options = super::options(&args.follow)?;
    let conversation = args.conversation.as_deref().map(conversation).transpose()?;
    let path = Path::new(&args.workflow);
    let is_path = path.components().count() > 1
        || path.extension().is_some_and(|it| it == "yaml" || it == "yml")
        || (path.is_file() && app.library(&[])?.get(&args.workflow).is_none());
    let app = if is_path { app.also_in(path) } else { app };
    let library = app.library(&[])?;
    let id = if is_path { library.in_file(path) } else { Some(args.workflow.as_str()) };
    let workflow = id
        .and_then(|id| library.get(id))
        .ok_or_else(|| library::unknown(&library, &printable(&args.workflow)))?;
    let input = input(workflow, args.input.as_deref())?;
    let engine = app.engine_at_hand(app.store()?, &library, library.with_uses(&workflow.id))?;
    let live = engine.watch();
    let start = StartRun { conversation, ..StartRun::new(&workflow.id, input) };
    let started = engine.start(start).await.map_err(|error| refused(&app, workflow, error))?;
    if !options.json {
        out::note(&Style::stderr().dim(&format!("{} · {}", workflow.id, started.run)));
    }
    let follow = Follow::new(&app, &engine, &started.run, options, live, From::After(0))?;
    Box::pin(follow.follow()).await
}

fn conversation(text: &str) -> Result<ConversationId> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if text.is_empty() || text.len() > 128 || !text.chars().all(plain) {
        return Err(Failure::usage(
            "--conversation: at most 128 letters, digits, `_`, `-` and `.`",
        )
        .into());
    }
    Ok(ConversationId::new(text))
}

fn refused(app: &App, workflow: &Workflow, error: EngineError) -> anyhow::Error {
    let failure = Failure::usage(printable(&error.to_string()));
    match error {
        EngineError::InvalidInput { .. } => match workflow.samples.first() {
            Some(sample) => {
                failure.hint(format!("for example: {}", short(&sample.to_string(), 200)))
            }
            None => failure,
        },
        EngineError::ConversationBusy { run } => {
            failure.hint(format!("go on with it: {}", app.command_line(&format!("resume {run}"))))
        }
        EngineError::Store(error) => return error.into(),
        _ => failure,
    }
    .into()
}

/// What the workflow is given: what was typed, or read, or asked for.
fn input(workflow: &Workflow, typed: Option<&str>) -> Result<Value> {
    let text = match typed {
        Some("-") => read_all()?,
        Some(text) => text.to_owned(),
        None if out::stdin_is_terminal() && out::stderr_is_terminal() => ask(workflow)?,
        None => return Err(missing(workflow).into()),
    };
    let schema = workflow.input_schema();
    if schema["type"] == "string" {
        return Ok(Value::String(text));
    }
    match serde_json::from_str(&text) {
        Ok(value) => Ok(value),
        Err(_) if schema::check(&schema, &Value::String(text.clone())).is_ok() => {
            Ok(Value::String(text))
        }
        Err(error) => {
            let failure = Failure::usage(format!("INPUT is not JSON: {error}"));
            Err(match workflow.samples.first() {
                Some(sample) => {
                    failure.hint(format!("for example: {}", short(&sample.to_string(), 200)))
                }
                None => failure.hint(format!(
                    "`{}` wants {}",
                    workflow.id,
                    short(&schema.to_string(), 200)
                )),
            }
            .into())
        }
    }
}

fn read_all() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(
            Failure::usage(format!("standard input has more than {MAX_INPUT} bytes")).into()
        );
    }
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8 text"))?;
    Ok(text.strip_suffix('\n').map_or(&*text, |it| it.strip_suffix('\r').unwrap_or(it)).to_owned())
}

fn samples(workflow: &Workflow) -> Vec<String> {
    workflow.samples.iter().map(|sample| short(&show::plain(sample), 160)).collect()
}

fn ask(workflow: &Workflow) -> Result<String> {
    let style = Style::stderr();
    let title = workflow.input_schema()["title"].as_str().map(printable);
    out::note(
        &style.bold(&title.unwrap_or_else(|| format!("What should `{}` be given?", workflow.id))),
    );
    for sample in samples(workflow) {
        out::note(&style.dim(&format!("  for example: {sample}")));
    }
    out::raw("> ");
    let mut line = String::new();
    std::io::stdin().lock().take(MAX_INPUT).read_line(&mut line)?;
    let line = line.trim();
    if line.is_empty() { Err(missing(workflow).into()) } else { Ok(line.to_owned()) }
}

fn missing(workflow: &Workflow) -> Failure {
    let failure = Failure::usage(format!("`{}` needs an input", workflow.id));
    match samples(workflow).first() {
        Some(sample) => {
            failure.hint(format!("for example: signoff run {} \"{sample}\"", workflow.id))
        }
        None => failure.hint("write it after the workflow, or `-` to read standard input"),
    }
}
