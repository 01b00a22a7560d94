//! The `signoff` binary.
//!
//! Owns what is typed and what is printed. Everything it does with runs it does through the engine;
//! nothing here knows how a run works.

mod app;
mod args;
mod bench;
mod commands;
mod config;
mod env;
mod exchange;
mod failure;
mod find;
mod follow;
mod help;
mod library;
mod log;
mod out;
mod place;
mod policy;
mod show;
mod style;
mod traces;

use std::process::ExitCode;

use clap::Parser as _;

use app::App;
use args::{Cli, Command};
use failure::{Exit, Failure, Result};
use style::Style;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match perform(cli) {
        Ok(exit) => exit.into(),
        Err(error) => tell(&error).into(),
    }
}

fn perform(cli: Cli) -> Result<Exit> {
    // Measures on a runtime of its own.
    if let Some(Command::Bench(args)) = &cli.command {
        return bench::run(args, cli.global.store.as_deref()).map(|()| Exit::Done);
    }
    let serves = matches!(cli.command, None | Some(Command::Serve(_)));
    let threads = if serves { std::thread::available_parallelism()?.get().max(2) } else { 2 };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let app = App::new(cli.global);
    let done = runtime.block_on(Box::pin(commands::perform(app, cli.serve, cli.command)));
    // A thread may still wait for a line that nobody will type.
    runtime.shutdown_background();
    done
}

fn tell(error: &anyhow::Error) -> Exit {
    let style = Style::stderr();
    let Some(failure) = error.downcast_ref::<Failure>() else {
        out::note(&format!("{} {}", style.bad("error:"), style::printable(&format!("{error:#}"))));
        return Exit::Usage;
    };
    // Made printable where it was put together: only there is known what came from outside.
    if failure.rendered {
        out::note(&failure.message);
    } else {
        out::note(&format!("{} {}", style.bad("error:"), failure.message));
    }
    if let Some(hint) = &failure.hint {
        out::note(&format!("{} {hint}", style.bold("hint:")));
    }
    failure.exit
}
