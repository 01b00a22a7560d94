//! `signoff export`: a run as a file; and `--move`, which ends it here.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use signoff_core::Actor;
use signoff_runtime::{Clock as _, SystemClock};
use signoff_store::{Exported, MoveOut, export};

use crate::app::App;
use crate::args::ExportArgs;
use crate::failure::{Exit, Failure, Result};
use crate::{exchange, find, out};

/// How often a run that changes meanwhile is exported anew.
const MAX_TRIES: u32 = 5;

pub(crate) async fn perform(app: &App, args: &ExportArgs) -> Result<Exit> {
    let store = app.needed_store()?;
    let record = find::run(&*store, &args.run, false)?;
    if find::is_part(&record) {
        return Err(Failure::usage(format!("{} is part of {}", record.id, record.root))
            .hint(format!("signoff export {}", record.root))
            .into());
    }
    if args.moves && args.output.is_none() {
        return Err(Failure::usage("--move needs a file: what is only printed may be lost")
            .hint("signoff export RUN --move -o FILE")
            .into());
    }
    for _ in 0..MAX_TRIES {
        let Some(exported) = export(&*store, &record.id)? else {
            return Err(Failure::usage(format!("there is no run {}", record.id)).into());
        };
        let open = exported.runs.iter().filter(|run| !run.status.is_over());
        let seen: Vec<_> = open.map(signoff_store::ExportedRun::seen).collect();
        put(args, exported)?;
        if !args.moves {
            let note =
                "it stays here as well; import it elsewhere and both go on (--move ends it here)";
            if !seen.is_empty() {
                out::note(note);
            }
            return Ok(Exit::Done);
        }
        if seen.is_empty() {
            out::note("it is over: there was nothing to move, the file is a copy");
            return Ok(Exit::Done);
        }
        let moved = MoveOut { runs: seen, by: Actor::local(), at: SystemClock.now() };
        if store.move_out(moved).await? {
            out::note(&format!(
                "{} is over here; it goes on where the file is imported",
                record.id
            ));
            return Ok(Exit::Done);
        }
    }
    let message = format!("{} is worked on, or does not stand still", record.id);
    let failure = Failure { exit: Exit::Failed, ..Failure::usage(message) };
    Err(failure.hint("pause it, or stop the server; it still goes on here").into())
}

fn put(args: &ExportArgs, exported: Exported) -> Result<()> {
    let at = SystemClock.now();
    let Some(path) = &args.output else {
        let mut text = Vec::new();
        exchange::write(exported, at, &mut text)?;
        return Ok(out::line(String::from_utf8_lossy(&text).trim_end())?);
    };
    Ok(to_file(path, exported, at)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?)
}

/// Under another name first, so that there is never half a file.
fn to_file(path: &Path, exported: Exported, at: signoff_core::Timestamp) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // What people said is in it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = std::io::BufWriter::new(options.open(part)?);
    exchange::write(exported, at, &mut file)?;
    file.flush()?;
    file.get_ref().sync_all()?;
    std::fs::rename(part, path)
}
