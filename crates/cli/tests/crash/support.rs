//! Runs of the event planner by the binary, in folders of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use signoff_testkit::answers::{self, PARTY};
use signoff_testkit::{Ended, Process, Record, record};

/// The answers of [`answers::file`], one by one, as they are typed.
pub(crate) const TYPED: [(&str, &str); 3] =
    [("venue", "2"), ("budget", "yes"), ("catering", "vegan and nut-free")];

/// A data directory, and what was shown and acknowledged by the processes that worked on it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    shown: Vec<Value>,
    acknowledged: Vec<Value>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("answers.json"), answers::file()).unwrap();
        Self { folder, shown: Vec::new(), acknowledged: Vec::new() }
    }

    /// A place with the same in it.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        copy_files(self.folder.path(), copy.folder.path());
        Self { shown: self.shown.clone(), acknowledged: self.acknowledged.clone(), ..copy }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn start(&self, args: &[&str], env: &[(&str, &str)]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signoff"));
        command.args(args).current_dir(self.folder.path());
        for (name, _) in std::env::vars()
            .filter(|(name, _)| ["SIGNOFF", "OTEL"].iter().any(|it| name.starts_with(it)))
        {
            command.env_remove(name);
        }
        Process::start(command.envs(env.iter().copied()))
    }

    /// The same, to its end.
    pub(crate) fn run(&mut self, args: &[&str], env: &[(&str, &str)]) -> Ended {
        let mut process = self.start(args, env);
        process.hang_up();
        let ended = process.wait().quiet();
        self.saw(&ended);
        ended
    }

    /// Remembers what a process has shown and acknowledged.
    pub(crate) fn saw(&mut self, ended: &Ended) {
        self.shown.extend(ended.json());
        if ended.code == Some(0) && ended.what.contains("\"inbox\" \"answer\"") {
            self.acknowledged.extend(ended.json());
        }
    }

    /// Starts planning, with written answers.
    pub(crate) const PLAN: [&str; 6] =
        ["run", "event_planner", PARTY, "--answers", "answers.json", "--json"];
    /// Starts planning, and leaves what it asks in the inbox.
    pub(crate) const PLAN_QUEUED: [&str; 6] =
        ["run", "event_planner", PARTY, "--no-prompt", "queue", "--json"];

    pub(crate) fn records(&self) -> Vec<Record> {
        record::read_all(&self.path(".signoff/signoff.db"))
    }

    /// The id of the run, if there is one.
    pub(crate) fn run_id(&mut self) -> Option<String> {
        let listed = self.run(&["runs", "--json"], &[]).exits(0).json();
        assert!(listed.len() < 2, "one run was started: {listed:?}");
        Some(listed.first()?["id"].as_str().unwrap().to_owned())
    }

    /// What waits: its id, and the answer to it.
    pub(crate) fn pending(&mut self) -> Option<(String, &'static str)> {
        let listed = self.run(&["inbox", "list", "--json"], &[]).exits(0).json();
        assert!(listed.len() < 2, "{listed:?}");
        let request = listed.first()?;
        let agent = request["agent_path"][0].as_str().unwrap();
        let (_, answer) = TYPED.into_iter().find(|(asks, _)| *asks == agent).unwrap();
        Some((request["id"].as_str().unwrap().to_owned(), answer))
    }
}

fn copy_files(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let to = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy_files(&file.path(), &to);
        } else {
            std::fs::copy(file.path(), &to).unwrap();
        }
    }
}

/// A run that nobody interrupted, to hold others against.
pub(crate) struct Reference {
    /// How many commits it took.
    pub(crate) commits: u64,
    journal: Vec<Value>,
    output: Value,
    day: String,
}

impl Reference {
    pub(crate) fn new() -> Self {
        let mut place = Place::new();
        let commits = count(&mut place, &Place::PLAN).1;
        let record = place.records().remove(0);
        record.assert_whole();
        assert_eq!(record.decisions().len(), TYPED.len());
        Self {
            commits,
            journal: record.comparable(),
            output: record.output(),
            day: record.entries[0].at.date(),
        }
    }

    /// Checks that the run in `place` came to the same, that every effect and answer is in it once,
    /// and that nothing is missing that anybody has seen.
    #[track_caller]
    pub(crate) fn assert_same(&self, place: &Place) {
        let records = place.records();
        assert_eq!(records.len(), 1, "one run was started");
        let record = &records[0];
        record.assert_whole();
        record.assert_holds(&place.shown);
        for request in &place.acknowledged {
            let decided = record.requests.iter().find(|it| request["id"] == it.id.as_str());
            let decided = decided.unwrap_or_else(|| panic!("lost: {request}")).to_json();
            assert_eq!(decided["decision"], request["decision"], "an answer was changed");
        }
        // A plan is for a day; midnight may have come between.
        if record.entries[0].at.date() == self.day {
            assert_eq!(record.output(), self.output);
            let journal = record.comparable();
            for (entry, reference) in journal.iter().zip(&self.journal) {
                assert_eq!(without_name(entry), without_name(reference));
            }
            assert_eq!(journal.len(), self.journal.len());
        }
        let calendar = std::fs::read_to_string(place.path(".signoff/calendars/event_planning.ics"));
        assert_eq!(calendar.unwrap().matches("BEGIN:VEVENT").count(), 1, "one event");
    }
}

/// Who answered is not the same everywhere.
fn without_name(entry: &Value) -> Value {
    let text = entry.to_string().replace("\"ada\"", "\"local\"");
    serde_json::from_str(&text).unwrap()
}

/// How a command ends that nobody disturbs, and how many commits it makes.
pub(crate) fn count(place: &mut Place, args: &[&str]) -> (Ended, u64) {
    let file = place.path("commits");
    let ended = place.run(args, &[("SIGNOFF_CRASH_COUNT_FILE", file.to_str().unwrap())]);
    let commits = std::fs::read_to_string(&file);
    (ended, commits.expect("the binary is built without failpoints").parse().unwrap())
}

/// Does `work` for each number below `count`, on two threads.
pub(crate) fn on_two_threads(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return;
                    }
                    work(n);
                }
            });
        }
    });
}
