//! What was done to the world, counted in a file outside the process that did it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use signoff_core::RunId;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The idempotency key it was done under.
    pub key: String,
    /// What it was, as a person who has to judge it is told.
    pub action: Value,
    /// What came of it.
    pub result: Value,
}

/// The file.
#[derive(Clone, Debug)]
pub struct Ledger(PathBuf);

impl Ledger {
    /// The ledger at `path`, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a line, in one piece and durably: when this returns, it has happened.
    pub fn write(&self, done: &Done) {
        let mut line = serde_json::to_string(done).unwrap();
        line.push('\n');
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        file.sync_data().unwrap();
    }

    /// Everything that was done, in order.
    pub fn read(&self) -> Vec<Done> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What `run` did as `action`, if it did.
    pub fn find(&self, run: &RunId, action: &Value) -> Option<Done> {
        let of_run = format!("{run}/");
        self.read().into_iter().find(|it| it.key.starts_with(&of_run) && it.action == *action)
    }
}
