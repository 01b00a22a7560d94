//! Reads a run from a file. What is not wholly there, or not as it was written, is refused.

use std::io::{BufRead, Read as _};

use signoff_core::Entry;
use signoff_store::{Exported, ExportedRun, hex_sha256};

use super::{Line, MAX_BYTES, MAX_LINE, VERSION};

/// The run in a file, or what is wrong with it.
pub(crate) fn read(file: impl BufRead) -> Result<Exported, String> {
    let mut file = file.take(MAX_BYTES);
    let mut digest = String::new();
    let mut found: Option<Exported> = None;
    for number in 1_usize.. {
        let wrong = |problem: &dyn std::fmt::Display| format!("line {number}: {problem}");
        let Some(text) = next_line(&mut file).map_err(|problem| wrong(&problem))? else {
            return Err("it ends early: the last line must say `end`".to_owned());
        };
        let line: Line = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
        let before = digest;
        digest = hex_sha256(format!("{before}\n{text}").as_bytes());
        match (line, &mut found) {
            (Line::Signoff(header), None) if header.version == VERSION => {
                let (definitions, runs) = (Vec::new(), Vec::new());
                found = Some(Exported { run: header.run, conversation: None, definitions, runs });
            }
            (Line::Signoff(header), None) => {
                return Err(wrong(&format!(
                    "it has version {}, this program reads version {VERSION}",
                    header.version
                )));
            }
            (_, None) => return Err(wrong(&"the first line must say `signoff`")),
            (Line::Signoff(_), Some(_)) => {
                return Err(wrong(&"only the first line says `signoff`"));
            }
            (Line::Conversation(it), Some(found)) => found.conversation = Some(*it),
            (Line::Definition(it), Some(found)) => found.definitions.push(it),
            (Line::Run(it), Some(found)) => found.runs.push(*it),
            (Line::Entries(entries), Some(found)) => {
                let run = found.runs.last_mut().ok_or_else(|| wrong(&"entries of no run"))?;
                let next = run.entries.len() as u64 + 1;
                let entries = (next..).zip(entries);
                run.entries.extend(entries.map(|(seq, (at, event))| Entry { seq, at, event }));
            }
            (Line::End { sha256 }, Some(_)) if sha256 != before => {
                return Err("it was changed: its digest is another".to_owned());
            }
            (Line::End { .. }, Some(_)) => break,
        }
    }
    let found = found.ok_or("it is empty")?;
    if !found.runs.iter().any(|run| run.id == found.run) {
        return Err(format!("{} is not in it", found.run));
    }
    found.runs.iter().try_for_each(sound)?;
    Ok(found)
}

/// A journal that folds belongs to a run that can go on.
fn sound(run: &ExportedRun) -> Result<(), String> {
    let state = signoff_core::RunState::fold(&run.entries);
    state.map(drop).map_err(|error| format!("the journal of {}: {error}", run.id))
}

fn next_line(file: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let mut limited = file.by_ref().take(MAX_LINE as u64 + 1);
    limited.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > MAX_LINE {
        return Err(format!("it has more than {MAX_LINE} bytes"));
    }
    if line.pop_if(|last| *last == b'\n').is_none() {
        return Err("it was cut".to_owned());
    }
    String::from_utf8(line).map(Some).map_err(|_| "it is not text".to_owned())
}
