//! Workers in a folder of their own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use signoff_core::{Event, RequestKind};
use signoff_testkit::{Ended, Ledger, Process, Record, record, workflows};

/// A folder with a database, a ledger and calendars.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path("test.db")
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::new(self.path("ledger"))
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        record::read_all(&self.database())
    }

    /// A worker that does `command` here, with what follows it.
    pub(crate) fn worker(&self, command: &str, rest: &[&str], env: &[(&str, &str)]) -> Process {
        let mut worker = Command::new(env!("CARGO_BIN_EXE_signoff-test-worker"));
        worker.current_dir(self.folder.path()).args([command, "test.db", "ledger"]).args(rest);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SIGNOFF")) {
            worker.env_remove(name);
        }
        Process::start(worker.envs(env.iter().copied()))
    }

    /// A worker that finishes a run of `workflow`.
    pub(crate) fn finisher(&self, workflow: &str, env: &[(&str, &str)]) -> Process {
        self.worker("finish", &[workflow, signoff_testkit::answers::PARTY], env)
    }
}

/// A run that nobody interrupted, to hold others against.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) workflow: &'static str,
    /// How many commits it took.
    pub(crate) commits: u64,
    output: Value,
    said: Vec<Value>,
    done: BTreeMap<String, usize>,
    day: String,
}

/// What people were asked about effects that may have happened.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    pub(crate) retried: usize,
    pub(crate) had_happened: usize,
}

impl Reference {
    pub(crate) fn of(workflow: &'static str) -> Self {
        let place = Place::new();
        let count = place.path("commits");
        let env = [("SIGNOFF_CRASH_COUNT_FILE", count.to_str().unwrap())];
        let ended = place.finisher(workflow, &env).wait().exits(0);
        let commits = std::fs::read_to_string(count);
        let commits = commits.expect("the worker is built without failpoints").parse().unwrap();
        let records = place.records();
        let root = root(&records, &ended);
        let doubts = assert_done_once(&records, &place.ledger());
        assert_eq!(doubts.retried + doubts.had_happened, 0);
        Self {
            workflow,
            commits,
            output: root.output(),
            said: said(root),
            done: done(&records, &place.ledger()),
            day: root.entries[0].at.date(),
        }
    }

    /// Checks that the run in `place` came to the same, with everything in it done once.
    pub(crate) fn assert_same(&self, place: &Place, last: &Ended) -> Doubts {
        let records = place.records();
        let root = root(&records, last);
        let ledger = place.ledger();
        let doubts = assert_done_once(&records, &ledger);
        assert_eq!(done(&records, &ledger), self.done, "what was done");
        // A plan is for a day; midnight may have come between.
        if root.entries[0].at.date() == self.day {
            assert_eq!(root.output(), self.output);
            assert_eq!(said(root), self.said);
        }
        if self.workflow == workflows::EVENT_PLANNER {
            let calendar = std::fs::read_to_string(place.path("calendars/event_planning.ics"));
            assert_eq!(calendar.unwrap().matches("BEGIN:VEVENT").count(), 1);
        }
        doubts
    }
}

fn root<'a>(records: &'a [Record], last: &Ended) -> &'a Record {
    let mut roots = records.iter().filter(|it| it.run.root == it.run.id);
    match (roots.next(), roots.next()) {
        (Some(root), None) => root,
        _ => panic!("not one run: {records:#?} {last:#?}"),
    }
}

/// What was said, without its place in the journal.
fn said(record: &Record) -> Vec<Value> {
    let mut said = record.comparable();
    said.retain(|entry| entry["type"] == "said");
    for entry in &mut said {
        entry["seq"] = Value::Null;
    }
    said
}

/// The keys of all effects that must not be repeated.
fn intended(records: &[Record]) -> Vec<String> {
    let mut keys = Vec::new();
    for record in records {
        for entry in &record.entries {
            if let Event::Intent { activation, key, .. } = &entry.event {
                keys.push(format!("{}/{activation}/{key}", record.run.id));
            }
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Checks each run, and that each effect that must not be repeated was done exactly once: whoever
/// answers here says "retry" only where nothing was done.
pub(crate) fn assert_done_once(records: &[Record], ledger: &Ledger) -> Doubts {
    let mut doubts = Doubts::default();
    for record in records {
        record.assert_whole();
        doubts.retried += record.retries();
        doubts.had_happened += record.asked(RequestKind::InDoubt).count() - record.retries();
    }
    let done = ledger.read();
    for key in intended(records) {
        let times = done.iter().filter(|it| it.key == key).count();
        assert_eq!(times, 1, "{key} was done {times} times: {done:#?} {records:#?}");
    }
    doubts
}

/// What was done that must not be repeated, by its action, and how often.
fn done(records: &[Record], ledger: &Ledger) -> BTreeMap<String, usize> {
    let intended = intended(records);
    let mut counts = BTreeMap::new();
    for done in ledger.read() {
        if intended.contains(&done.key) {
            *counts.entry(done.action.to_string()).or_default() += 1;
        }
    }
    counts
}
