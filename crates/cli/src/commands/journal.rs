//! `signoff journal`: everything that happened in a run.

use signoff_core::journal::to_json;

use crate::app::App;
use crate::args::JournalArgs;
use crate::failure::{Exit, Result};
use crate::show::{JournalReader, local, table};
use crate::{find, out};

const PAGE: usize = 500;

pub(crate) fn perform(app: &App, args: &JournalArgs) -> Result<Exit> {
    let store = app.needed_store()?;
    let record = find::run(&*store, &args.run, false)?;
    // Read from the beginning even if only the end is shown: names are given at the beginning.
    let mut reader = JournalReader::default();
    let mut rows = Vec::new();
    let mut seen = 0;
    loop {
        let entries = store.entries(&record.id, seen, PAGE)?;
        let Some(last) = entries.last() else { break };
        seen = last.seq;
        for entry in &entries {
            let what = reader.read(entry);
            if entry.seq <= args.after {
                continue;
            }
            if args.json {
                let mut json = to_json(entry);
                json["run"] = record.id.as_str().into();
                out::json_line(&json)?;
            } else {
                let seq = format!("{:>4}", entry.seq);
                rows.push(vec![seq, local(entry.at), what.kind.into(), what.who, what.text]);
            }
        }
    }
    if !args.json {
        out::line(&table(&[" SEQ", "TIME", "WHAT", "WHO", "TEXT"], &rows))?;
    }
    Ok(Exit::Done)
}
